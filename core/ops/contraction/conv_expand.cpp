#include "weft/core/ops/contraction/conv_expand.h"

#include <algorithm>
#include <cmath>

#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/permutation.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/contraction/conv.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/movement/gather.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

constexpr double kMostPieces = 64;

/// Splits an axis into (window position, tap): element (at, k) is the one at * stride + k * dilation.
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

/// The operand with padding and dilation applied, and the convolution without them.
std::pair<ConvParams, Array> with_padding(ConvParams p, const Array& lhs, const Array& rhs) {
  PaddingConfig padding(static_cast<std::size_t>(lhs.ndim()));
  const std::vector<WindowDim> windows = conv_windows(p, lhs.shape(), rhs.shape());
  for (std::size_t d = 0; d < windows.size(); ++d)
    padding[static_cast<std::size_t>(p.dimension_numbers.lhs_spec[d + 2])] = {windows[d].low, windows[d].high,
                                                                              windows[d].base_dilation - 1};
  p.padding.assign(windows.size(), {0, 0}), p.lhs_dilation.assign(windows.size(), 1);
  if (std::all_of(padding.begin(), padding.end(), [](const PadDim& d) { return d == PadDim{}; })) return {p, lhs};
  return {p, pad_with(lhs, scalar_like(lhs, 0), padding, {})};
}

/// The convolution, without padding, as a matmul of the kernel and the matrix of windows (im2col).
Array by_product(const ConvParams& p, const Array& lhs, const Array& rhs) {
  const auto& [l, r, o] = p.dimension_numbers;
  const std::vector<WindowDim> windows = conv_windows(p, lhs.shape(), rhs.shape());
  const int spatial = static_cast<int>(windows.size());
  Array x = permute(lhs, l, {});        // (batch, features, spatial ...)
  const Array w = permute(rhs, r, {});  // (outputs, features, window ...)
  // (batch, features, position, window, position, window, ...)
  std::int64_t positions = 1, taps = 1;
  for (int d = 0; d < spatial; ++d) {
    const WindowDim& dim = windows[static_cast<std::size_t>(d)];
    const int axis = 2 + 2 * d;
    const std::int64_t n = dim.positions();
    positions *= n, taps *= dim.window;
    x = dim.window == 1 && n == x.shape()[axis] ? insert_axes(x, {axis + 1}, {}) : windowed(x, axis, n, dim);
  }
  // In the matrix of windows the positions are side by side, as they are in the operand; features, where these are.
  const bool features_last = l[1] == lhs.ndim() - 1;
  const bool by_batch = p.batch_group_count > 1;
  const std::int64_t groups = by_batch ? p.batch_group_count : p.feature_group_count;
  const int grouped = by_batch ? 0 : 1;
  const std::int64_t batch = x.shape()[0] / (by_batch ? groups : 1), features = x.shape()[1] / (by_batch ? 1 : groups),
                     outputs = w.shape()[0] / groups;
  // (batch, features, ...) with the groups before the one that is divided into them.
  x = reshape_to(x, x.shape().with(grouped, by_batch ? batch : features).inserted(grouped, groups), {});
  std::vector<int> rows{by_batch ? 1 : 0}, columns, taps_of_kernel;
  for (int d = 0; d < spatial; ++d) rows.push_back(3 + 2 * d), columns.push_back(4 + 2 * d), taps_of_kernel.push_back(2 + d);
  columns.insert(features_last ? columns.end() : columns.begin(), 2);
  taps_of_kernel.insert(features_last ? taps_of_kernel.end() : taps_of_kernel.begin(), 1);
  std::vector<int> order{grouped}, order_of_kernel{0};
  for (const std::vector<int>& part : {features_last ? rows : columns, features_last ? columns : rows})
    order.insert(order.end(), part.begin(), part.end());
  order_of_kernel.insert(order_of_kernel.end(), taps_of_kernel.begin(), taps_of_kernel.end());
  const std::int64_t height = features_last ? batch * positions : features * taps,
                     width = features_last ? features * taps : batch * positions;
  x = reshape_to(permute(x, order, {}), {groups, height, width}, {});
  const Array matrix = reshape_to(permute(w, order_of_kernel, {}), {groups, outputs, features * taps}, {});
  Array y = features_last ? dot_product(x, matrix, {.contracting = {{{2}, {2}}}, .batch = {{{0}, {0}}}}, p.preferred_element_type)
                          : dot_product(matrix, x, {.contracting = {{{2}, {1}}}, .batch = {{{0}, {0}}}}, p.preferred_element_type);
  // (groups, batch, position ..., outputs) or (groups, outputs, batch, position ...) to (batch, groups * outputs, position ...), then as
  // the result has them.
  Shape apart{groups, batch}, together{batch, groups * outputs};
  for (const WindowDim& d : windows)
    apart = apart.inserted(apart.size(), d.positions()), together = together.inserted(together.size(), d.positions());
  y = reshape_to(y, apart.inserted(features_last ? apart.size() : 1, outputs), {});
  order = features_last ? std::vector<int>{1, 0, 2 + spatial} : std::vector<int>{2, 0, 1};
  for (int d = 0; d < spatial; ++d) order.push_back((features_last ? 2 : 3) + d);
  y = reshape_to(permute(y, order, {}), together, {});
  return permute(y, inverse_permutation(o), {});
}

/// Bytes of the matrix of all windows.
double window_bytes(const ConvParams& p, const Aval& lhs, const std::vector<WindowDim>& windows) {
  double n = static_cast<double>(lhs.dtype.itemsize()) * static_cast<double>(lhs.shape[p.dimension_numbers.lhs_spec[0]]) *
             static_cast<double>(lhs.shape[p.dimension_numbers.lhs_spec[1]]);
  for (const WindowDim& w : windows) n *= static_cast<double>(w.positions() * w.window);
  return n;
}

/// The part of a convolution without padding at some positions of a window's dimension; by a whole number of pieces.
Array in_pieces_along(const ConvParams& p, const Array& lhs, const Array& rhs, int dim, std::int64_t pieces) {
  if (pieces <= 1) return by_product(p, lhs, rhs);
  const WindowDim w = conv_windows(p, lhs.shape(), rhs.shape())[static_cast<std::size_t>(dim)];
  const int axis = p.dimension_numbers.lhs_spec[static_cast<std::size_t>(dim) + 2];
  std::vector<Array> results;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t first = w.positions() * i / pieces, last = w.positions() * (i + 1) / pieces - 1;
    results.push_back(
        by_product(p, slice_axis(lhs, axis, first * w.stride, last * w.stride + (w.window - 1) * w.window_dilation + 1, {}), rhs));
  }
  return concatenate_along(results, p.dimension_numbers.out_spec[static_cast<std::size_t>(dim) + 2], {});
}

/// The batch in pieces, and if these are too large the positions along the first dimension too.
Array in_pieces(const ConvParams& given, const Array& operand, const Array& rhs, std::int64_t pieces) {
  const auto [p, lhs] = with_padding(given, operand, rhs);
  const int in_axis = p.dimension_numbers.lhs_spec[0], out_axis = p.dimension_numbers.out_spec[0];
  const std::int64_t batch = p.batch_group_count > 1 ? 1 : lhs.shape()[in_axis], of_batch = std::min(batch, pieces);
  const std::vector<WindowDim> windows = conv_windows(p, lhs.shape(), rhs.shape());
  const std::int64_t of_positions =
      windows.empty() || of_batch < batch ? 1 : std::min(windows[0].positions(), (pieces + of_batch - 1) / of_batch);
  if (of_batch <= 1) return in_pieces_along(p, lhs, rhs, 0, of_positions);
  std::vector<Array> results;
  for (std::int64_t i = 0; i < of_batch; ++i)
    results.push_back(
        in_pieces_along(p, slice_axis(lhs, in_axis, batch * i / of_batch, batch * (i + 1) / of_batch, {}), rhs, 0, of_positions));
  return concatenate_along(results, out_axis, {});
}

}  // namespace

std::optional<Jaxpr> expand_convolution(const Eqn& e, std::span<const Aval> in, double most_bytes) {
  const auto& p = params_as<ConvParams>(*e.params);
  const std::vector<WindowDim> windows = conv_windows(p, in[0].shape, in[1].shape);
  if (in[0].size() == 0 || in[1].size() == 0 ||
      std::any_of(windows.begin(), windows.end(), [](const WindowDim& w) { return w.positions() == 0; }))
    return {};
  const double pieces = std::ceil(window_bytes(p, in[0], windows) / most_bytes);
  if (pieces > kMostPieces) return {};
  return trace_jaxpr({std::string(e.op->name), {in.begin(), in.end()}, {}}, [&](std::span<const Array> xs) -> std::vector<Array> {
    return {in_pieces(p, xs[0], xs[1], static_cast<std::int64_t>(pieces))};
  });
}

}  // namespace weft::detail
