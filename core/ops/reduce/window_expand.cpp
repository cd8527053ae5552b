#include "weft/core/ops/reduce/window_expand.h"

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/ops/reduce/reduction_identity.h"
#include "weft/core/ops/reduce/window_params.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kMostTaps = 16;     // windows of up to this many taps are reduced at once
constexpr std::int64_t kMostRivals = 64;   // the largest window in which an extremum is selected
constexpr std::int64_t kMostShared = 32;   // windows that share an element
constexpr std::int64_t kTapsOfAPiece = 8;  // of large windows

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
  /// `fill` is in the padding.
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

Array reduced_by_taps(const Array& x, const std::vector<WindowDim>& windows, Combiner c) {
  Taps taps(x, windows, identity_of(c, x.dtype()));
  Array sum = taps.here();
  while (taps.next()) sum = combine_arrays(c, sum, taps.here());
  return sum;
}

/// Reductions of windows along one dimension, of an array without padding; those of large windows are made of reductions of smaller ones.
Array reduced_along(const Array& x, int dim, WindowDim w, Combiner c) {
  const auto along = [&](const Array& a, WindowDim of) {
    std::vector<WindowDim> windows;
    for (int d = 0; d < x.ndim(); ++d) windows.push_back({.size = a.shape()[d], .window = 1, .stride = 1});
    windows[static_cast<std::size_t>(dim)] = of;
    return reduced_by_taps(a, windows, c);
  };
  if (w.window <= kMostTaps) return along(x, w);
  if (w.stride == w.window && w.window_dilation == 1) {  // beside one another
    std::vector<std::int64_t> low(static_cast<std::size_t>(x.ndim())), high(x.shape().begin(), x.shape().end()), one(low.size(), 1);
    high[static_cast<std::size_t>(dim)] = w.positions() * w.window;
    const Array beside = reshape_to(slice_range(x, low, high, one, {}), x.shape().with(dim, w.window).inserted(dim, w.positions()), {});
    return c == Combiner::sum   ? reduce_sum(beside, {dim + 1})
           : c == Combiner::max ? reduce_max(beside, {dim + 1})
                                : reduce_min(beside, {dim + 1});
  }
  // Pieces beside one another, then single elements.
  const std::int64_t whole = w.window / kTapsOfAPiece, reach = whole * kTapsOfAPiece;
  WindowDim piece = w, pieces = w, rest = w;
  piece.window = kTapsOfAPiece, piece.stride = 1;
  const Array parts = along(x, piece);
  // From a start on, as far as the windows' last positions need.
  const auto from = [&](const Array& a, std::int64_t start, const WindowDim& of) {
    const std::int64_t size = (w.positions() - 1) * w.stride + (of.window - 1) * of.window_dilation + 1;
    std::vector<std::int64_t> low(static_cast<std::size_t>(a.ndim())), high(a.shape().begin(), a.shape().end()),
        one(static_cast<std::size_t>(a.ndim()), 1);
    low[static_cast<std::size_t>(dim)] = start, high[static_cast<std::size_t>(dim)] = start + size;
    return slice_range(a, low, high, one, {});
  };
  pieces.window = whole, pieces.window_dilation = w.window_dilation * kTapsOfAPiece;
  const Array covered = from(parts, 0, pieces);
  pieces.size = covered.shape()[dim];
  Array sum = reduced_along(covered, dim, pieces, c);
  if (rest.window -= reach; rest.window == 0) return sum;
  const Array left = from(x, reach * w.window_dilation, rest);
  rest.size = left.shape()[dim];
  return combine_arrays(c, sum, along(left, rest));
}

/// One dimension after the other where windows are not small: a window's reduction is that of its rows' reductions.
Array reduced(const Array& x, const std::vector<WindowDim>& windows, Combiner c) {
  // Sums are rounded once.
  const bool half = c == Combiner::sum && (x.dtype() == float16 || x.dtype() == bfloat16);
  Array a = half ? convert(x, float32) : x;
  if (num_taps(windows) <= kMostTaps) {
    a = reduced_by_taps(a, windows, c);
  } else {
    PaddingConfig config;
    for (const WindowDim& w : windows) {
      const bool running = w.is_prefix() || w.is_suffix();
      config.push_back(running ? PadDim{} : PadDim{w.low, w.high, w.base_dilation - 1});
    }
    if (is_padded(windows)) a = pad_with(a, identity_of(c, a.dtype()), config, {});
    for (int d = 0; d < x.ndim(); ++d) {
      WindowDim w = windows[static_cast<std::size_t>(d)];
      if (w.window == 1 && w.stride == 1) continue;
      if (w.is_prefix() || w.is_suffix()) {
        a = running_reduction(c)(a, d, !w.is_prefix(), {});
        continue;
      }
      w.size = a.shape()[d], w.low = w.high = 0, w.base_dilation = 1;
      a = reduced_along(a, d, w, c);
    }
  }
  return half ? convert(a, x.dtype()) : a;
}

/// Goes through the taps, the first one included, and calls `take(wins)` for each: where that holds, the tap is its window's choice among
/// those so far. Padding is never selected.
template <class Take>
void choose(const Array& x, const std::vector<WindowDim>& windows, SelectPrim select, const Take& take) {
  const Array no = make_literal(Number(0), bool_), yes = fill_shape(make_literal(Number(1), bool_), x.shape(), {});
  const bool padded = is_padded(windows);
  Taps keys(x, windows, make_literal(Number(0), x.dtype())), exists(yes, windows, no);
  Array champion = keys.here(), found = exists.here();
  take(found);
  while (keys.next() && exists.next()) {
    const Array rival = keys.here();
    const Array loses = select == SelectPrim::ge ? champion >= rival : champion <= rival;
    Array wins = logical_not(loses);
    if (padded) {
      const Array there = exists.here();
      wins = logical_and(there, logical_or(wins, logical_not(found))), found = logical_or(found, there);
    }
    champion = where(wins, rival, champion);
    take(wins);
  }
}

Array chosen_element(const Array& values, const Array& x, const std::vector<WindowDim>& windows, SelectPrim select) {
  const Array zero = make_literal(Number(0), values.dtype());
  Taps taps(values, windows, zero);
  Array value = fill_shape(zero, window_shape(windows), {});
  choose(x, windows, select, [&](const Array& wins) {
    value = where(wins, taps.here(), value);
    taps.next();
  });
  return value;
}

/// How many windows cover an element along a dimension, at most.
std::int64_t sharing(const WindowDim& w) { return (w.window + w.stride - 1) / w.stride; }

/// Each element looks at the windows around it: which of them chose it? Where dimensions are cut into pieces as long as the stride, windows
/// begin with pieces, and element k of a piece is element k + m * stride of the window that began m pieces before.
Array added_to_chosen(const Array& source, const Array& x, const std::vector<WindowDim>& windows, SelectPrim select) {
  // The elements of a window are counted as if it were of whole pieces.
  const auto number_of = [&](const std::vector<std::int64_t>& at) {
    std::int64_t n = 0;
    for (std::size_t d = 0; d < windows.size(); ++d) n = n * (sharing(windows[d]) * windows[d].stride) + at[d];
    return n;
  };
  Array chosen = fill_shape(make_literal(Number(-1), int32), source.shape(), {});
  std::vector<std::int64_t> at(windows.size(), 0);
  choose(x, windows, select, [&](const Array& wins) {
    chosen = where(wins, make_literal(Number(number_of(at)), int32), chosen);
    for (std::size_t d = windows.size(); d-- > 0; at[d] = 0)
      if (++at[d] < windows[d].window) return;
  });
  // Pieces: enough for all elements, counted from the beginning of the padding.
  std::vector<std::int64_t> pieces;
  Shape split, merged, one_piece;
  std::vector<int> between;
  PaddingConfig rest;
  for (const WindowDim& w : windows) {
    const std::int64_t n = (std::max<std::int64_t>(w.low, 0) + w.size + w.stride - 1) / w.stride;
    pieces.push_back(n);
    split.push_back(n);
    one_piece.push_back(1);
    merged.push_back(n * w.stride);
    rest.push_back({-w.low, w.size + w.low - n * w.stride, 0});
    if (w.stride == 1) continue;
    between.push_back(split.size());
    split.push_back(w.stride);
    one_piece.push_back(w.stride);
  }
  // Sums are rounded once.
  const bool half = source.dtype() == float16 || source.dtype() == bfloat16;
  const Array from = half ? convert(source, float32) : source;
  const Array zero = make_literal(Number(0), from.dtype()), none = make_literal(Number(-1), int32);
  // The number in its window of each element of a piece, if the window began with that piece.
  Array number = fill_shape(make_literal(Number(0), int32), one_piece, {});
  {
    std::int64_t scale = 1;
    std::size_t axis = between.size();
    for (std::size_t d = windows.size(); d-- > 0;) {
      if (windows[d].stride > 1) number = number + make_literal(Number(scale), int32) * iota_array(int32, one_piece, between[--axis], {});
      scale *= sharing(windows[d]) * windows[d].stride;
    }
  }
  const auto spread = [&](const Array& v) { return broadcast_trailing(between.empty() ? v : insert_axes(v, between, {}), split, {}); };
  // Windows in their order: those that began first come first.
  std::vector<std::int64_t> before(windows.size());
  for (std::size_t d = 0; d < windows.size(); ++d) before[d] = sharing(windows[d]) - 1;
  std::optional<Array> sum;
  for (bool more = true; more;) {
    PaddingConfig moved;
    std::vector<std::int64_t> first(windows.size());
    for (std::size_t d = 0; d < windows.size(); ++d) {
      moved.push_back({before[d], pieces[d] - before[d] - source.shape()[static_cast<int>(d)], 0});
      first[d] = before[d] * windows[d].stride;
    }
    const Array which = spread(pad_with(chosen, none, moved, {})), value = spread(pad_with(from, zero, moved, {}));
    const Array wanted = broadcast_trailing(number, split, {}) + make_literal(Number(number_of(first)), int32);
    const Array part = where(which == wanted, value, zero);
    sum = sum ? *sum + part : part;
    more = false;
    for (std::size_t d = windows.size(); d-- > 0 && !more;) {
      more = before[d] > 0;
      before[d] = more ? before[d] - 1 : sharing(windows[d]) - 1;
    }
  }
  const Array out = pad_with(reshape_to(*sum, merged, {}), zero, rest, {});
  return half ? convert(out, source.dtype()) : out;
}

template <class P>
std::vector<WindowDim> some_windows(const P& p, const Shape& shape) {
  std::vector<WindowDim> windows = windows_of(p, shape);
  if (window_shape(windows).num_elements() == 0) windows.clear();
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
    const std::vector<WindowDim> windows = some_windows(params_as<ReduceWindowParams>(*eqn.params), in[0].shape);
    if (windows.empty()) return {};
    return program([&](std::span<const Array> x) { return reduced(x[0], windows, c); });
  }
  WindowExpansionTransform::Function* const rule = find_rule<WindowExpansionTransform>(*eqn.op);
  const WindowExpansion expand = rule ? rule(*eqn.params, in) : nullptr;
  if (!expand) return {};
  return program([&](std::span<const Array> x) { return expand(x, *eqn.params); });
}

WindowExpansion expand_choice(const SelectAndGatherParams& p, std::span<const Aval> in) {
  const std::vector<WindowDim> windows = some_windows(p, in[1].shape);
  if (windows.empty() || num_taps(windows) > kMostRivals) return nullptr;
  return [](std::span<const Array> x, const ParamsBase& params) {
    const auto& q = params_as<SelectAndGatherParams>(params);
    return chosen_element(x[0], x[1], some_windows(q, x[1].shape()), q.select_prim);
  };
}

WindowExpansion expand_scatter_to_choice(const SelectAndScatterParams& p, std::span<const Aval> in) {
  const std::vector<WindowDim> windows = some_windows(p, in[1].shape);
  if (windows.empty() || num_taps(windows) > kMostRivals || in[0].dtype.is_bool()) return nullptr;
  std::int64_t shared = 1;
  for (const WindowDim& w : windows) shared *= sharing(w);
  if (shared > kMostShared) return nullptr;
  return [](std::span<const Array> x, const ParamsBase& params) {
    const auto& q = params_as<SelectAndScatterParams>(params);
    return added_to_chosen(x[0], x[1], some_windows(q, x[1].shape()), q.select_prim);
  };
}

}  // namespace weft::detail
