// jax.lax's own names of functions, and a few that only it has.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/array/indexing.h"
#include "weft/core/functions/convolution.h"
#include "weft/core/functions/sorting.h"

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

/// jax.scipy: all of weft's functions, also by the modules that they are in there, `jax::scipy::special::erf(x)`.
namespace scipy {
using namespace ::weft;
namespace special = ::weft;
namespace signal = ::weft;
namespace ndimage = ::weft;
namespace integrate = ::weft;
}  // namespace scipy

}  // namespace weft
