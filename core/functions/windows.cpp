// Pooling, and reductions by a function: those that are sums, products and extrema become primitives of their own.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/counted.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/convolution.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/reduce/combine.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/ops/reduce/reduce_window.h"
#include "weft/core/ops/reduce/window_params.h"
#include "weft/core/trace/trace.h"

namespace weft {

using detail::LocScope;

namespace detail {
namespace {

struct Traced {
  std::vector<Array> xs, init;
  Jaxpr program;
  std::optional<Combiner> combiner;  ///< set if the program is this reduction and `init` its identity
};

/// Whether the scalar is known to be the combiner's identity.
template <Combiner C>
bool is_neutral(const Array& x) {
  if (!as_literal(x) && !as_concrete(x)) return false;
  return with_storage(x.dtype(), [&]<class T>() {
    if constexpr (combines<C, T>) {
      T value;
      read_elements(x, x.dtype(), &value, "reduce", {});
      return load_element(value) == reduction_identity<C, T>();
    }
    return false;
  });
}

/// The combiner, if the program is a single equation that is a known reduction.
std::optional<Combiner> known_combiner(const Jaxpr& j, const Array& init) {
  const JaxprData& d = j.data();
  if (d.num_consts != 0 || d.eqns.size() != 1 || d.num_inputs != 2 || d.outputs.size() != 1) return {};
  const Eqn& e = d.eqns[0];
  auto is_var = [](Atom a, Var v) { return !a.is_literal() && a.var() == v; };
  if (e.inputs.size() != 2 || e.outputs.size() != 1 || !is_var(d.outputs[0], e.outputs[0])) return {};
  if (!(is_var(e.inputs[0], 0) && is_var(e.inputs[1], 1)) && !(is_var(e.inputs[0], 1) && is_var(e.inputs[1], 0))) return {};
  const std::optional<Combiner> c = e.op->kind == Kind::elementwise ? e.op->combiner : std::nullopt;
  if (!c) return {};
  const auto neutral = *c == Combiner::sum    ? is_neutral<Combiner::sum>
                       : *c == Combiner::prod ? is_neutral<Combiner::prod>
                       : *c == Combiner::max  ? is_neutral<Combiner::max>
                       : *c == Combiner::min  ? is_neutral<Combiner::min>
                                              : nullptr;
  return neutral && neutral(init) ? c : std::nullopt;
}

Traced trace_combination(const char* operation, const std::vector<Arg>& xs, const std::vector<Arg>& init, Combine combine) {
  if (xs.empty() || xs.size() != init.size())
    throw ShapeError(fmt::format("{}: {} arrays and {} values to start from are given; the numbers must be equal, at least 1", operation,
                                 xs.size(), init.size()),
                     xs.empty() ? SourceLoc{} : effective_loc(xs[0].where()));
  Traced t;
  TraceRequest request{operation, {}, {}};
  for (std::size_t i = 0; i < xs.size(); ++i) {
    t.xs.push_back(xs[i].array());
    t.init.push_back(as_dtype(init[i].array(), t.xs[i].dtype()));
    if (t.init[i].ndim() != 0)
      throw ShapeError(fmt::format("{}: the value to start from is {}; it must be a scalar", operation, to_string(init[i].aval())),
                       effective_loc(init[i].where()));
  }
  for (int side = 0; side < 2; ++side)
    for (const Array& x : t.xs) request.inputs.push_back({{}, x.dtype()});
  t.program = trace_jaxpr(request, [&](std::span<const Array> in) {
    const auto n = static_cast<std::ptrdiff_t>(t.xs.size());
    std::vector<Array> out = combine({in.begin(), in.begin() + n}, {in.begin() + n, in.end()});
    if (out.size() != t.xs.size())
      throw PytreeError(
          fmt::format("{}: the function gives {} for {}", operation, counted(out.size(), "value"), counted(t.xs.size(), "array")),
          effective_loc(xs[0].where()));
    for (std::size_t i = 0; i < out.size(); ++i)
      if (out[i].aval().weak) out[i] = as_dtype(out[i], t.xs[i].dtype());
    return out;
  });
  if (t.program.data().num_consts != 0)
    throw TracerError(fmt::format("{}: the function captures an array; it may use its two arguments and numbers only", operation),
                      effective_loc(xs[0].where()));
  if (t.xs.size() == 1) t.combiner = known_combiner(t.program, t.init[0]);
  return t;
}

std::vector<std::int64_t> entries(const Shape& given, int n) {
  if (given.empty()) return std::vector<std::int64_t>(static_cast<std::size_t>(n), 1);
  return {given.begin(), given.end()};
}

/// The parameters for an array; padding by name becomes numbers.
ReduceWindowParams window_params(const char* operation, const Arg& x, const Shape& window, const Shape& strides, const Padding& padding,
                                 const ReduceWindowOptions& options) {
  const int n = x.array().ndim();
  const auto rank = static_cast<std::size_t>(n);
  ReduceWindowParams p{entries(options.base_dilation, n),
                       padding.widths(),
                       entries(options.window_dilation, n),
                       {window.begin(), window.end()},
                       {strides.begin(), strides.end()}};
  if (window.size() != n || strides.size() != n || p.base_dilation.size() != rank || p.window_dilation.size() != rank ||
      (padding.name().empty() && p.padding.size() != rank))
    throw ShapeError(fmt::format("{}: window, strides, padding and dilations of {} must have {} each", operation, to_string(x.aval()),
                                 counted(n, "entry", "entries")),
                     effective_loc(x.where()));
  if (!padding.name().empty())
    for (int d = 0; d < n; ++d) {
      const auto i = static_cast<std::size_t>(d);
      p.padding.push_back(named_padding(padding.name(), dilated(x.array().shape()[d], p.base_dilation[i]),
                                        dilated(window[d], p.window_dilation[i]), std::max<std::int64_t>(1, strides[d]), operation,
                                        x.where()));
    }
  return p;
}

}  // namespace

namespace {
/// The reduction of windows that are all that comes before an element, or all from it on, in each dimension that has windows.
std::optional<Array> reduced_as_running(Combiner c, const Array& x, const ReduceWindowParams& p, SourceLoc loc) {
  const RunningReduction reduction = running_reduction(c);
  const std::vector<WindowDim> windows = windows_of(p, x.shape());
  Array reduced = x;
  if (!reduction) return {};
  for (int d = 0; d < x.ndim(); ++d) {
    const WindowDim& w = windows[static_cast<std::size_t>(d)];
    if (w.window == 1 && w.stride == 1 && w.low == 0 && w.high == 0 && w.base_dilation == 1) continue;
    if (!w.is_prefix() && !w.is_suffix()) return {};
    reduced = reduction(reduced, d, !w.is_prefix(), loc);
  }
  return reduced;
}
}  // namespace

std::vector<Array> reduce_window_with(const std::vector<Arg>& xs, const std::vector<Arg>& init, Combine combine, const Shape& window,
                                      const Shape& strides, const Padding& padding, const ReduceWindowOptions& options) {
  constexpr const char* kName = "reduce_window";
  const SourceLoc loc = xs[0].where();
  LocScope scope(loc);
  Traced t = trace_combination(kName, xs, init, combine);
  const ReduceWindowParams p = window_params(kName, xs[0], window, strides, padding, options);
  if (t.combiner == Combiner::sum) return {reduce_window_sum(t.xs[0], p, loc)};
  if (t.combiner == Combiner::max) return {reduce_window_max(t.xs[0], p, loc)};
  if (t.combiner == Combiner::min) return {reduce_window_min(t.xs[0], p, loc)};
  if (t.combiner)
    if (const std::optional<Array> running = reduced_as_running(*t.combiner, t.xs[0], p, loc)) return {*running};
  return reduce_window_by(t.xs, t.init, p, t.program, loc);
}

std::vector<Array> reduce_with(const std::vector<Arg>& xs, const std::vector<Arg>& init, Combine combine, const Axis& dimensions) {
  const SourceLoc loc = xs.empty() ? SourceLoc{} : xs[0].where();
  LocScope scope(loc);
  Traced t = trace_combination("reduce", xs, init, combine);
  const std::vector<int> axes = resolve_axes(dimensions, xs[0], "reduce");
  if (t.combiner == Combiner::sum) return {reduce_sum(t.xs[0], axes, loc)};
  if (t.combiner == Combiner::prod) return {reduce_prod(t.xs[0], axes, loc)};
  if (t.combiner == Combiner::max) return {reduce_max(t.xs[0], axes, loc)};
  if (t.combiner == Combiner::min) return {reduce_min(t.xs[0], axes, loc)};
  return reduce_by(t.xs, t.init, axes, t.program, loc);
}

namespace {

/// The parameters of pooling: the window over the spatial dimensions, one element of the batch and the features.
ReduceWindowParams pool_params(const char* operation, const Arg& x, const Shape& window, const PoolOptions& options) {
  const int spatial = window.size(), n = x.array().ndim();
  if (n != spatial + 1 && n != spatial + 2)
    throw ShapeError(
        fmt::format(
            "{}: a window of {} dimension{} needs an operand of {} dimensions ({} spatial and the features), or of {} (the batch before "
            "them), not {}",
            operation, spatial, spatial == 1 ? "" : "s", spatial + 1, spatial, spatial + 2, to_string(x.aval())),
        effective_loc(x.where()));
  const int given = options.strides.size(), widths = static_cast<int>(options.padding.widths().size());
  if ((given != 0 && given != spatial) || (options.padding.name().empty() && widths != spatial))
    throw ShapeError(fmt::format("{}: strides and padding must have an entry for each of the {} spatial dimensions", operation, spatial),
                     effective_loc(x.where()));
  Shape sizes, strides;
  PadPairs padding;
  if (n == spatial + 2) sizes.push_back(1), strides.push_back(1), padding.emplace_back(0, 0);
  for (int d = 0; d < spatial; ++d) {
    sizes.push_back(window[d]);
    strides.push_back(given ? options.strides[d] : 1);
    if (widths) padding.push_back(options.padding.widths()[static_cast<std::size_t>(d)]);
  }
  sizes.push_back(1), strides.push_back(1), padding.emplace_back(0, 0);
  return window_params(operation, x, sizes, strides, options.padding.name().empty() ? Padding(padding) : options.padding, {});
}

}  // namespace
}  // namespace detail

Array max_pool(Arg x, Shape window, PoolOptions options) {
  LocScope scope(x.where());
  return detail::reduce_window_max(x.array(), detail::pool_params("max_pool", x, window, options), x.where());
}
Array min_pool(Arg x, Shape window, PoolOptions options) {
  LocScope scope(x.where());
  return detail::reduce_window_min(x.array(), detail::pool_params("min_pool", x, window, options), x.where());
}
Array avg_pool(Arg x, Shape window, PoolOptions options) {
  LocScope scope(x.where());
  const Array v = detail::as_dtype(x.array(), detail::inexact_dtype(x.array().dtype()));
  return detail::reduce_window_sum(v, detail::pool_params("avg_pool", x, window, options), x.where()) /
         static_cast<double>(window.num_elements());
}
Array max_pool(Arg x, Shape window, Shape strides, Padding padding) {
  return max_pool(std::move(x), std::move(window), {.strides = std::move(strides), .padding = std::move(padding)});
}
Array min_pool(Arg x, Shape window, Shape strides, Padding padding) {
  return min_pool(std::move(x), std::move(window), {.strides = std::move(strides), .padding = std::move(padding)});
}
Array avg_pool(Arg x, Shape window, Shape strides, Padding padding) {
  return avg_pool(std::move(x), std::move(window), {.strides = std::move(strides), .padding = std::move(padding)});
}

}  // namespace weft
