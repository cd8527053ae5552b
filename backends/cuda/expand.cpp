#include "backends/cuda/expand.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "core/elementwise.h"
#include "core/ops/common.h"
#include "core/ops/dot.h"
#include "core/ops/gather.h"
#include "core/ops/movement.h"
#include "core/trace.h"

namespace weft::detail {
namespace {

/// Axis `axis` becomes two: under window `at` the element at * stride + k * dilation.
Array windowed(const Array& x, int axis, std::int64_t positions, const WindowDim& w) {
  const Shape indices{positions, w.window, 1};
  Array at = iota_array(int32, indices, 0, {}), k = iota_array(int32, indices, 1, {});
  if (w.stride != 1) at = at * scalar_like(at, static_cast<double>(w.stride));
  if (w.window_dilation != 1) k = k * scalar_like(k, static_cast<double>(w.window_dilation));
  Gather::Params p;
  p.mode = GatherScatterMode::promise_in_bounds;
  p.slice_sizes = x.shape().with(axis, 1);
  p.dimension_numbers.collapsed_slice_dims = p.dimension_numbers.start_index_map = {axis};
  for (int d = 0; d < x.ndim() + 1; ++d)
    if (d != axis && d != axis + 1) p.dimension_numbers.offset_dims.push_back(d);
  return bind_one<Gather>(p, {x, at + k}, {});
}

bool is_empty(const Aval& a) { return a.size() == 0; }

/// How large a matrix of windows may be.
double most_window_bytes() {
  const char* given = std::getenv("WEFT_CUDA_WINDOW_BYTES");
  return given && std::atof(given) > 0 ? std::atof(given) : 256e6;
}

/// Bytes of the matrix of all windows.
double window_bytes(const ConvParams& p, const Array& lhs, const Array& rhs) {
  double n = static_cast<double>(lhs.dtype().itemsize()) * static_cast<double>(lhs.shape()[p.dimension_numbers.lhs_spec[0]]) *
             static_cast<double>(lhs.shape()[p.dimension_numbers.lhs_spec[1]]);
  for (const WindowDim& w : conv_windows(p, lhs.shape(), rhs.shape())) n *= static_cast<double>(w.positions() * w.window);
  return n;
}

/// The batch in pieces, so that no matrix of windows is very large.
Array convolution_in_pieces(const ConvParams& p, const Array& lhs, const Array& rhs) {
  const int in_axis = p.dimension_numbers.lhs_spec[0], out_axis = p.dimension_numbers.out_spec[0];
  const std::int64_t batch = lhs.shape()[in_axis];
  const auto pieces = std::min(batch, static_cast<std::int64_t>(std::ceil(window_bytes(p, lhs, rhs) / most_window_bytes())));
  if (pieces <= 1 || p.batch_group_count > 1) return convolution_by_product(p, lhs, rhs);
  std::vector<Array> results;
  for (std::int64_t i = 0; i < pieces; ++i)
    results.push_back(convolution_by_product(p, slice_axis(lhs, in_axis, batch * i / pieces, batch * (i + 1) / pieces, {}), rhs));
  return concatenate_along(results, out_axis, {});
}

}  // namespace

Array convolution_by_product(const ConvParams& p, const Array& lhs, const Array& rhs) {
  const auto& [l, r, o] = p.dimension_numbers;
  const std::vector<WindowDim> windows = conv_windows(p, lhs.shape(), rhs.shape());
  const int spatial = static_cast<int>(windows.size());
  Array x = permute(lhs, l, {});        // (batch, features, spatial ...)
  const Array w = permute(rhs, r, {});  // (outputs, features, window ...)
  PaddingConfig padding(2);
  for (const WindowDim& d : windows) padding.push_back({d.low, d.high, d.base_dilation - 1});
  if (std::any_of(padding.begin(), padding.end(), [](const PadDim& d) { return !(d == PadDim{}); }))
    x = pad_with(x, scalar_like(x, 0), padding, {});
  // (batch, features, position, window, position, window, ...)
  std::int64_t positions = 1, taps = 1;
  for (int d = 0; d < spatial; ++d) {
    const WindowDim& dim = windows[static_cast<std::size_t>(d)];
    const int axis = 2 + 2 * d;
    const std::int64_t n = dim.positions();
    positions *= n, taps *= dim.window;
    x = dim.window == 1 && n == x.shape()[axis] ? insert_axes(x, {axis + 1}, {}) : windowed(x, axis, n, dim);
  }
  // Groups in front: (groups, batch, position ..., features, window ...), as matrices.
  const bool by_batch = p.batch_group_count > 1;
  const std::int64_t groups = by_batch ? p.batch_group_count : p.feature_group_count;
  const int grouped = by_batch ? 0 : 1;
  const std::int64_t batch = x.shape()[0] / (by_batch ? groups : 1), features = x.shape()[1] / (by_batch ? 1 : groups),
                     outputs = w.shape()[0] / groups;
  x = reshape_to(x, x.shape().with(grouped, by_batch ? batch : features).inserted(grouped, groups), {});
  std::vector<int> order{grouped, by_batch ? 1 : 0};
  for (int d = 0; d < spatial; ++d) order.push_back(3 + 2 * d);
  order.push_back(2);
  for (int d = 0; d < spatial; ++d) order.push_back(4 + 2 * d);
  x = reshape_to(permute(x, order, {}), {groups, batch * positions, features * taps}, {});
  const Array matrix = reshape_to(w, {groups, outputs, features * taps}, {});
  Array y = dot_product(x, matrix, {.contracting = {{{2}, {2}}}, .batch = {{{0}, {0}}}}, p.preferred_element_type);
  // (groups, batch, position ..., outputs) to (batch, groups * outputs, position ...), then as the result has them.
  Shape apart{groups, batch}, together{batch, groups * outputs};
  for (const WindowDim& d : windows)
    apart = apart.inserted(apart.size(), d.positions()), together = together.inserted(together.size(), d.positions());
  y = reshape_to(y, apart.inserted(apart.size(), outputs), {});
  order = {1, 0, 2 + spatial};
  for (int d = 0; d < spatial; ++d) order.push_back(2 + d);
  y = reshape_to(permute(y, order, {}), together, {});
  std::vector<int> back(o.size());
  for (std::size_t i = 0; i < o.size(); ++i) back[static_cast<std::size_t>(o[i])] = static_cast<int>(i);
  return permute(y, back, {});
}

std::optional<Jaxpr> expand_for_gpu(const Eqn& e, std::span<const Aval> in) {
  if (std::any_of(in.begin(), in.end(), is_empty)) return {};
  const auto traced = [&](const std::function<std::vector<Array>(std::span<const Array>)>& body) {
    return trace_jaxpr({std::string(e.op->name), {in.begin(), in.end()}, {}}, body);
  };
  if (e.op->kind == Kind::convolution) {
    const auto& p = params_as<ConvParams>(*e.params);
    const std::vector<WindowDim> windows = conv_windows(p, in[0].shape, in[1].shape);
    if (std::any_of(windows.begin(), windows.end(), [](const WindowDim& w) { return w.positions() == 0; })) return {};
    return traced([&](std::span<const Array> xs) -> std::vector<Array> { return {convolution_in_pieces(p, xs[0], xs[1])}; });
  }
  if (e.op == &primitive_of<Sort>)
    return traced([&](std::span<const Array> xs) { return sort_on_gpu(params_as<Sort::Params>(*e.params), xs); });
  if (e.op == &primitive_of<TopKLargest>) {
    const auto& p = params_as<TopKLargest::Params>(*e.params);
    return p.k == 0 ? std::optional<Jaxpr>() : traced([&](std::span<const Array> xs) { return top_k_on_gpu(p, xs[0]); });
  }
  if (e.op == &primitive_of<Scatter>) {
    const auto& p = params_as<Scatter::Params>(*e.params);
    if (!has_scatter_of_last_updates(p, in)) return {};
    return traced([&](std::span<const Array> xs) -> std::vector<Array> { return {scatter_of_last_updates(p, xs[0], xs[1], xs[2])}; });
  }
  if (e.op == &primitive_of<ScatterSub> && !in[0].dtype.is_bool())
    return traced([&](std::span<const Array> xs) -> std::vector<Array> {
      return {bind_one<ScatterAdd>(params_as<ScatterParams>(*e.params), {xs[0], xs[1], -xs[2]}, {})};
    });
  if (e.op->name == "fft") {
    const auto& p = params_as<FftParams>(*e.params);
    if (!has_fft_by_products(p)) return {};
    return traced([&](std::span<const Array> xs) -> std::vector<Array> { return {fft_by_products(p, xs[0])}; });
  }
  return {};
}

}  // namespace weft::detail
