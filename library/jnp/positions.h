// Positions of elements: nonzero and its relatives, index grids, slices along one dimension as in jax.lax, sums by segments.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/indexing.h"
#include "weft/core/functions/shaping.h"

namespace weft {

namespace detail {
void check_count(std::size_t given, std::size_t wanted, SourceLoc loc);
}

/// Options of nonzero and its relatives.
struct NonzeroOptions {
  std::optional<Int> size = {};  ///< the size of each result, at which positions are cut off; absent: their number, which needs x's value
  Int fill_value = 0;            ///< pads the results if there are fewer positions
};
/// The positions of the elements that aren't 0, in row-major order: one array for each dimension, int32.
std::vector<Array> nonzero(Arg x, NonzeroOptions options = {});
/// `nonzero(condition)`.
std::vector<Array> where(Arg condition, NonzeroOptions options = {});
/// The same as rows of one array, of shape (size, x.ndim()).
Array argwhere(Arg x, NonzeroOptions options = {});
/// The positions in the flattened array.
Array flatnonzero(Arg x, NonzeroOptions options = {});
/// The elements of the flattened x for which the condition holds; the condition must be concrete.
Array extract(Arg condition, Arg x);
/// The slices along an axis, or the elements of the flattened array, for which the condition, of one dimension, holds.
Array compress(Arg condition, Arg x, std::optional<AxisNumber> axis = {});

/// The positions of a triangle of an n x m matrix: row and column of each of its elements.
std::array<Array, 2> tril_indices(Int n, Int k = 0, std::optional<Int> m = {}, SourceLoc loc = SourceLoc::here());
std::array<Array, 2> triu_indices(Int n, Int k = 0, std::optional<Int> m = {}, SourceLoc loc = SourceLoc::here());
/// The same for the size of a matrix.
std::array<Array, 2> tril_indices_from(Arg x, Int k = 0);
std::array<Array, 2> triu_indices_from(Arg x, Int k = 0);
/// The positions of the diagonal of an array whose dimensions are of one size.
std::vector<Array> diag_indices_from(Arg x);
/// 0, ..., n - 1 for each of ndim dimensions.
std::vector<Array> diag_indices(Int n, Int ndim = 2, SourceLoc loc = SourceLoc::here());
/// The positions along each dimension, of shape (shape.size(), shape...).
Array indices(Shape shape, DType dtype = int32, SourceLoc loc = SourceLoc::here());
/// Vectors of positions that index their outer product: `x(ix_({rows, columns})...)` as arrays that broadcast together.
std::vector<Array> ix_(Args positions);
/// The same of two vectors, to be taken apart: `auto [i, j] = ix_(rows, columns)`, and then `x[{i, j}]`.
std::pair<Array, Array> ix_(Arg rows, Arg columns);
/// Positions in a flattened array as one array for each dimension of the shape. What is out of bounds is moved inside.
std::vector<Array> unravel_index(Arg positions, Shape shape);
/// A list of N arrays as what can be taken apart: `auto [i, j] = elements<2>(diag_indices(n))`. Another number is a ShapeError.
template <std::size_t N>
std::array<Array, N> elements(const std::vector<Array>& list, SourceLoc loc = SourceLoc::here()) {
  detail::check_count(list.size(), N, loc);
  return [&]<std::size_t... I>(std::index_sequence<I...>) { return std::array<Array, N>{list[I]...}; }(std::make_index_sequence<N>());
}
/// unravel_index, nonzero and split of N results: `auto [i, j] = unravel_index<2>(argmax(x), x.shape())`.
template <std::size_t N>
std::array<Array, N> unravel_index(Arg positions, Shape shape) {
  return elements<N>(unravel_index(positions, std::move(shape)), positions.where());
}
template <std::size_t N>
std::array<Array, N> nonzero(Arg x, NonzeroOptions options = {}) {
  return elements<N>(nonzero(x, std::move(options)), x.where());
}
template <std::size_t N>
std::array<Array, N> split(Arg x, AxisNumber axis = 0) {
  return elements<N>(split(x, N, axis), x.where());
}
/// The reverse; what is out of bounds along a dimension is moved inside.
Array ravel_multi_index(Args positions, Shape shape);

/// x with values written at indices along an axis; the other dimensions are those of x.
Array put_along_axis(Arg x, Arg indices, Arg values, AxisNumber axis);
/// x with the value, or the vector's elements in turn, on its diagonal.
Array fill_diagonal(Arg x, Arg value);
/// Elementwise, the choice with the number that `which` gives; numbers out of range are clamped.
Array choose(Arg which, Args choices);

/// dynamic_slice along one axis.
Array dynamic_slice_in_dim(Arg x, Arg start, Int size, AxisNumber axis = 0);
/// The slice at a position along an axis, which stays, with size 1, unless `keepdims` is false.
Array dynamic_index_in_dim(Arg x, Arg index, AxisNumber axis = 0, bool keepdims = true);
/// dynamic_update_slice along one axis.
Array dynamic_update_slice_in_dim(Arg x, Arg update, Arg start, AxisNumber axis);
/// x with the slice at a position along an axis replaced by the update, which may lack the axis.
Array dynamic_update_index_in_dim(Arg x, Arg update, Arg index, AxisNumber axis);
/// x[start:limit:stride] along one axis.
Array slice_in_dim(Arg x, std::optional<Int> start, std::optional<Int> limit, Int stride = 1, AxisNumber axis = 0);
/// The slice at a position that is known, along an axis, which stays, with size 1, unless `keepdims` is false.
Array index_in_dim(Arg x, Int index, AxisNumber axis = 0, bool keepdims = true);

/// Options of segment_sum and its relatives (jax.ops).
struct SegmentOptions {
  std::optional<Int> num_segments = {};  ///< absent: the largest id + 1, which needs the ids' values
};
/// The sum of the slices of x, along its first axis, that have the same segment id: shape (num_segments, ...). Ids out of range are left
/// out.
Array segment_sum(Arg x, Arg segment_ids, SegmentOptions options = {});
/// The product; 1 of no slices.
Array segment_prod(Arg x, Arg segment_ids, SegmentOptions options = {});
/// The maximum; -infinity or the lowest integer of no slices.
Array segment_max(Arg x, Arg segment_ids, SegmentOptions options = {});
/// The minimum; infinity or the highest integer of no slices.
Array segment_min(Arg x, Arg segment_ids, SegmentOptions options = {});
inline Array segment_sum(Arg x, Arg ids, Int num_segments) { return segment_sum(x, ids, {.num_segments = num_segments}); }
inline Array segment_prod(Arg x, Arg ids, Int num_segments) { return segment_prod(x, ids, {.num_segments = num_segments}); }
inline Array segment_max(Arg x, Arg ids, Int num_segments) { return segment_max(x, ids, {.num_segments = num_segments}); }
inline Array segment_min(Arg x, Arg ids, Int num_segments) { return segment_min(x, ids, {.num_segments = num_segments}); }

}  // namespace weft
