// jax.lax's own names of functions, and a few that only it has.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/array/indexing.h"
#include "weft/core/functions/convolution.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/sorting.h"
#include "weft/library/jnp/editing.h"

namespace weft {

/// where(condition, x, y).
inline Array select(const std::same_as<Array> auto& condition, Arg x, Arg y) { return where(condition, std::move(x), std::move(y)); }
/// -x.
Array neg(Arg x);
/// x - y.
Array sub(Arg x, Arg y);
/// x * y.
Array mul(Arg x, Arg y);
/// x == y.
Array eq(Arg x, Arg y);
/// x != y.
Array ne(Arg x, Arg y);
/// x < y.
Array lt(Arg x, Arg y);
/// x <= y.
Array le(Arg x, Arg y);
/// x > y.
Array gt(Arg x, Arg y);
/// x >= y.
Array ge(Arg x, Arg y);
/// isfinite(x).
Array is_finite(Arg x);
/// x << amount.
Array shift_left(Arg x, Arg amount);
/// x >> amount of signed integers, whose sign is kept.
Array shift_right_arithmetic(Arg x, Arg amount);
/// convert(x, dtype).
Array convert_element_type(Arg x, DType dtype);
/// bitcast_convert(x, dtype).
Array bitcast_convert_type(Arg x, DType dtype);
/// flip(x, dimensions).
Array rev(Arg x, Axis dimensions);
/// x, repeated along new leading dimensions of these sizes.
Array broadcast(Arg x, Shape sizes);
/// iota(dtype, shape, dimension).
Array broadcasted_iota(DType dtype, Shape shape, AxisNumber dimension, SourceLoc loc = SourceLoc::here());
/// The dimensions from start up to stop (absent: to the end) as one.
Array collapse(Arg x, AxisNumber start, std::optional<AxisNumber> stop = {});
/// The rows of x, divided into groups that follow each other, times their group's matrix of w, of shape (groups, k, n); group_sizes are
/// integers. Rows behind the last group give 0 (jax.lax.ragged_dot).
Array ragged_dot(Arg x, Arg w, Arg group_sizes);
/// The products of the matrices in the last two dimensions; the others are equal.
Array batch_matmul(Arg a, Arg b);
/// sum(x, axes) in x's dtype.
Array reduce_sum(Arg x, Axis axes);
/// prod(x, axes) in x's dtype.
Array reduce_prod(Arg x, Axis axes);
/// max(x, axes).
Array reduce_max(Arg x, Axis axes);
/// min(x, axes).
Array reduce_min(Arg x, Axis axes);
/// all(x, axes).
Array reduce_and(Arg x, Axis axes);
/// any(x, axes).
Array reduce_or(Arg x, Axis axes);
/// x with updates subtracted, multiplied, or the lesser or greater kept, at windows as scatter_add's (jax.lax.scatter_sub, ...).
Array scatter_sub(Arg x, Arg indices, Arg updates, ScatterDimensionNumbers dimension_numbers);
Array scatter_mul(Arg x, Arg indices, Arg updates, ScatterDimensionNumbers dimension_numbers);
Array scatter_min(Arg x, Arg indices, Arg updates, ScatterDimensionNumbers dimension_numbers);
Array scatter_max(Arg x, Arg indices, Arg updates, ScatterDimensionNumbers dimension_numbers);
/// The k largest elements along the last axis and where they are: exactly, as top_k.
TopK approx_max_k(Arg x, Int k);
/// The k smallest elements along the last axis, the smallest first, and where they are: exactly.
TopK approx_min_k(Arg x, Int k);
/// conv_general_dilated with the operand's and the kernel's dilations in order.
Array conv_with_general_padding(Arg x, Arg kernel, Shape window_strides, Padding padding, Shape lhs_dilation, Shape rhs_dilation);
/// The windows that a convolution reads, as features: those of the first feature first (jax.lax.conv_general_dilated_patches). The
/// dimensions are those of conv_general_dilated.
Array conv_general_dilated_patches(Arg x, Shape filter_shape, Shape window_strides, Padding padding, ConvOptions options = {});

/// jax.lax's functions that differ from those of one name in jax.numpy. All others are weft's: `lax::scan` is `scan`.
namespace lax {
/// Each element rounded to an integer, halves away from 0 (jnp.round goes to the even one).
Array round(Arg x);
/// Pieces of these sizes along an axis (jnp.split takes where to cut). Throws ShapeError if they don't add up to the axis.
std::vector<Array> split(Arg x, const Shape& sizes, AxisNumber axis = 0);
/// The sum of the elements up to each along an axis (jnp.cumsum flattens x where none is given).
Array cumsum(Arg x, AxisNumber axis = 0, CumulativeOptions options = {});
Array cumsum(Arg x, CumulativeOptions options);
/// The product, as cumsum.
Array cumprod(Arg x, AxisNumber axis = 0, CumulativeOptions options = {});
Array cumprod(Arg x, CumulativeOptions options);
/// maximum(x, y), and minimum; jnp.max and jnp.min reduce.
Array max(Arg x, Arg y);
Array min(Arg x, Arg y);
/// The position of the largest element along an axis, and of the smallest.
Array argmax(Arg x, AxisNumber axis, DType index_dtype = int32);
Array argmin(Arg x, AxisNumber axis, DType index_dtype = int32);
/// The window of x from start up to limit in steps, one for each dimension (strides {}: 1). Throws ShapeError where it isn't inside x.
Array slice(Arg x, const Shape& start_indices, const Shape& limit_indices, const Shape& strides = {});
using ::weft::slice, ::weft::sort;
/// sort_operands.
std::vector<Array> sort(Args operands, AxisNumber dimension, bool is_stable = true, Int num_keys = 1);
inline std::vector<Array> sort(Args operands, SortOperandsOptions o = {}) { return sort_operands(std::move(operands), o); }
}  // namespace lax

}  // namespace weft
