#include "core/ops/window_expand.h"

#include "core/array_impl.h"
#include "core/elementwise.h"
#include "core/ops/common.h"
#include "core/ops/fold_identity.h"
#include "core/ops/movement.h"
#include "core/ops/window_params.h"
#include "core/trace.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kMostTaps = 32;

std::int64_t num_taps(const std::vector<WindowDim>& windows) {
  std::int64_t n = 1;
  for (const WindowDim& w : windows) n *= w.window;
  return n;
}
bool is_padded(const std::vector<WindowDim>& windows) {
  for (const WindowDim& w : windows)
    if (w.low != 0 || w.high != 0 || w.base_dilation > 1) return true;
  return false;
}

/// An array's elements under each position of the windows: for position k those at stride * i + k * dilation.
class Taps {
 public:
  /// `fill` stands in the padding.
  Taps(const Array& x, const std::vector<WindowDim>& windows, const Array& fill) : windows_(windows), x_(x), at_(windows.size(), 0) {
    PaddingConfig config;
    for (const WindowDim& w : windows) config.push_back({w.low, w.high, w.base_dilation - 1});
    if (is_padded(windows)) x_ = pad_with(x, fill, config, {});
  }
  Array here() const {
    std::vector<std::int64_t> start, limit, strides;
    for (std::size_t d = 0; d < windows_.size(); ++d) {
      const WindowDim& w = windows_[d];
      start.push_back(at_[d] * w.window_dilation);
      limit.push_back(start.back() + (w.positions() - 1) * w.stride + 1);
      strides.push_back(w.stride);
    }
    return slice_range(x_, start, limit, strides, {});
  }
  /// The position's number, counted with the strides as sizes.
  std::int64_t number() const {
    std::int64_t n = 0;
    for (std::size_t d = 0; d < windows_.size(); ++d) n = n * windows_[d].stride + at_[d];
    return n;
  }
  bool next() {
    for (std::size_t d = windows_.size(); d-- > 0; at_[d] = 0)
      if (++at_[d] < windows_[d].window) return true;
    return false;
  }

 private:
  const std::vector<WindowDim>& windows_;
  Array x_;
  std::vector<std::int64_t> at_;
};

Array reduced(const Array& x, const std::vector<WindowDim>& windows, Combiner c) {
  // Sums are rounded once.
  const bool half = c == Combiner::sum && (x.dtype() == float16 || x.dtype() == bfloat16);
  const Array from = half ? convert(x, float32) : x;
  Taps taps(from, windows, identity_of(c, from.dtype()));
  Array sum = taps.here();
  while (taps.next())
    sum = c == Combiner::sum ? sum + taps.here() : c == Combiner::max ? maximum(sum, taps.here()) : minimum(sum, taps.here());
  return half ? convert(sum, x.dtype()) : sum;
}

/// Whether the champion stays where a rival comes.
Array stays(const Array& champion, const Array& rival, SelectPrim select) {
  return select == SelectPrim::ge ? champion >= rival : champion <= rival;
}

Array chosen_element(const Array& values, const Array& x, const std::vector<WindowDim>& windows, SelectPrim select) {
  Taps keys(x, windows, {}), taps(values, windows, {});
  Array champion = keys.here(), value = taps.here();
  while (keys.next() && taps.next()) {
    const Array rival = keys.here(), same = stays(champion, rival, select);
    champion = where(same, champion, rival);
    value = where(same, value, taps.here());
  }
  return value;
}

/// For windows that don't overlap: each element looks whether its window chose it.
Array added_to_chosen(const Array& source, const Array& x, const std::vector<WindowDim>& windows, SelectPrim select) {
  Taps taps(x, windows, {});
  Array champion = taps.here(), chosen = fill_shape(make_literal(Number(0), int32), champion.shape(), {});
  while (taps.next()) {
    const Array rival = taps.here(), same = stays(champion, rival, select);
    champion = where(same, champion, rival);
    chosen = where(same, chosen, make_literal(Number(taps.number()), int32));
  }
  // Each window's dimension becomes two: windows, and positions in one.
  Shape split, merged, one_window;
  std::vector<int> between;
  PaddingConfig config;
  for (std::size_t d = 0; d < windows.size(); ++d) {
    const WindowDim& w = windows[d];
    const std::int64_t n = source.shape()[static_cast<int>(d)];
    split.push_back(n);
    one_window.push_back(1);
    merged.push_back(n * w.stride);
    config.push_back({0, w.size - n * w.stride, 0});
    if (w.stride == 1) continue;
    between.push_back(split.size());
    split.push_back(w.stride);
    one_window.push_back(w.stride);
  }
  Array number = fill_shape(make_literal(Number(0), int32), one_window, {});
  for (int axis : between) number = number * make_literal(Number(one_window[axis]), int32) + iota_array(int32, one_window, axis, {});
  const auto spread = [&](const Array& v) { return broadcast_trailing(between.empty() ? v : insert_axes(v, between, {}), split, {}); };
  const Array zero = make_literal(Number(0), source.dtype());
  const Array out = reshape_to(where(spread(chosen) == broadcast_trailing(number, split, {}), spread(source), zero), merged, {});
  return pad_with(out, zero, config, {});
}

template <class P>
std::optional<std::vector<WindowDim>> few_taps(const Eqn& e, const Shape& shape) {
  std::vector<WindowDim> windows = windows_of(params_as<P>(*e.params), shape);
  if (num_taps(windows) > kMostTaps || window_shape(windows).num_elements() == 0) return {};
  return windows;
}

}  // namespace

std::optional<Jaxpr> expand_window(const Eqn& eqn, std::span<const Aval> in) {
  const LocScope scope(eqn.loc);
  const auto program = [&](auto f) {
    return trace_jaxpr({std::string(eqn.op->name), {in.begin(), in.end()}, {}},
                       [&](std::span<const Array> x) { return std::vector<Array>{f(x)}; });
  };
  const DType dtype = in[0].dtype;
  if (eqn.op->kind == Kind::reduce_window) {
    if (!eqn.op->combiner || in.size() != 1 || dtype.is_bool()) return {};
    const Combiner c = *eqn.op->combiner;
    if (c != Combiner::sum && c != Combiner::max && c != Combiner::min) return {};
    const auto windows = few_taps<ReduceWindowParams>(eqn, in[0].shape);
    if (!windows) return {};
    return program([&](std::span<const Array> x) { return reduced(x[0], *windows, c); });
  }
  if (eqn.op->name == "select_and_gather_add") {
    const auto windows = few_taps<SelectAndGatherParams>(eqn, in[1].shape);
    if (!windows || is_padded(*windows)) return {};
    const SelectPrim select = params_as<SelectAndGatherParams>(*eqn.params).select_prim;
    return program([&](std::span<const Array> x) { return chosen_element(x[0], x[1], *windows, select); });
  }
  if (eqn.op->name == "select_and_scatter_add") {
    const auto windows = few_taps<SelectAndScatterParams>(eqn, in[1].shape);
    if (!windows || is_padded(*windows) || dtype.is_bool()) return {};
    for (const WindowDim& w : *windows)
      if (w.stride < w.window) return {};
    const SelectPrim select = params_as<SelectAndScatterParams>(*eqn.params).select_prim;
    return program([&](std::span<const Array> x) { return added_to_chosen(x[0], x[1], *windows, select); });
  }
  return {};
}

}  // namespace weft::detail
