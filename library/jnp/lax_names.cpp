#include "weft/library/jnp/lax_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/names.h"
#include "weft/library/jnp/positions.h"
#include "weft/library/numpy/argument_axis.h"

namespace weft {

using detail::LocScope;
using detail::to_string;

Array neg(Arg x) { return negative(std::move(x)); }
Array sub(Arg x, Arg y) { return subtract(std::move(x), std::move(y)); }
Array mul(Arg x, Arg y) { return multiply(std::move(x), std::move(y)); }
Array eq(Arg x, Arg y) { return equal(std::move(x), std::move(y)); }
Array ne(Arg x, Arg y) { return not_equal(std::move(x), std::move(y)); }
Array lt(Arg x, Arg y) { return less(std::move(x), std::move(y)); }
Array le(Arg x, Arg y) { return less_equal(std::move(x), std::move(y)); }
Array gt(Arg x, Arg y) { return greater(std::move(x), std::move(y)); }
Array ge(Arg x, Arg y) { return greater_equal(std::move(x), std::move(y)); }
Array is_finite(Arg x) { return isfinite(std::move(x)); }
Array shift_left(Arg x, Arg amount) { return left_shift(std::move(x), std::move(amount)); }
Array shift_right_arithmetic(Arg x, Arg amount) {
  LocScope scope(x.where());
  const DType d = x.array().dtype();
  if (!d.is_integer())
    throw DTypeError(fmt::format("shift_right_arithmetic: {} must be integers", to_string(x.aval())), detail::effective_loc(x.where()));
  if (!d.is_unsigned()) return x.array() >> amount;
  // The highest bit is a sign, whatever the dtype says.
  const DType s = d.itemsize() == 1 ? int8 : d.itemsize() == 2 ? int16 : d.itemsize() == 4 ? int32 : int64;
  return bitcast_convert(bitcast_convert(x, s) >> convert(amount, s), d);
}
Array convert_element_type(Arg x, DType dtype) { return convert(std::move(x), dtype); }
Array bitcast_convert_type(Arg x, DType dtype) { return bitcast_convert(std::move(x), dtype); }
Array rev(Arg x, Axis dimensions) { return dimensions.axes().empty() ? x.array() : flip(std::move(x), std::move(dimensions)); }
Array broadcast(Arg x, Shape sizes) {
  LocScope scope(x.where());
  for (std::int64_t d : x.array().shape()) sizes.push_back(d);
  return broadcast_to(x, sizes);
}
Array broadcasted_iota(DType dtype, Shape shape, AxisNumber dimension, SourceLoc loc) {
  return iota(dtype, std::move(shape), dimension, loc);
}
Array collapse(Arg x, AxisNumber start, std::optional<AxisNumber> stop) {
  LocScope scope(x.where());
  const Shape& given = x.array().shape();
  const int n = given.size();
  const auto place = [n](int d) { return std::clamp(d < 0 ? d + n : d, 0, n); };
  const int first = place(start), last = stop ? place(*stop) : n;
  if (last < first)
    throw AxisError(fmt::format("collapse: dimensions {} to {} of {} are no range; the first must not come after the last", first, last,
                                to_string(x.aval())),
                    detail::effective_loc(x.where()));
  Shape shape(given.begin(), given.begin() + first);
  std::int64_t size = 1;
  for (int d = first; d < last; ++d) size *= given[d];
  shape.push_back(size);
  for (int d = last; d < n; ++d) shape.push_back(given[d]);
  return reshape(x, shape);
}
Array batch_matmul(Arg a, Arg b) {
  LocScope scope(a.where());
  const Shape &p = a.array().shape(), &q = b.array().shape();
  if (p.size() < 2 || p.size() != q.size() || Shape(p.begin(), p.end() - 2) != Shape(q.begin(), q.end() - 2))
    throw ShapeError(
        fmt::format("batch_matmul: {} and {} must be matrices with the same leading dimensions", to_string(a.aval()), to_string(b.aval())),
        detail::effective_loc(a.where()));
  return matmul(a, b);
}
Array reduce_sum(Arg x, Axis axes) {
  const DType d = x.array().dtype();
  return sum(std::move(x), std::move(axes), {.dtype = d});
}
Array reduce_prod(Arg x, Axis axes) {
  const DType d = x.array().dtype();
  return prod(std::move(x), std::move(axes), {.dtype = d});
}
Array reduce_max(Arg x, Axis axes) { return max(std::move(x), std::move(axes)); }
Array reduce_min(Arg x, Axis axes) { return min(std::move(x), std::move(axes)); }
Array reduce_and(Arg x, Axis axes) { return all(std::move(x), std::move(axes)); }
Array reduce_or(Arg x, Axis axes) { return any(std::move(x), std::move(axes)); }
namespace {
template <class Op>
Array scatter_of(const Arg& x, const Arg& indices, const Arg& updates, ScatterDimensionNumbers numbers) {
  const LocScope scope(x.where());
  const DType dtype = x.array().dtype();
  // A number takes the operand's dtype.
  const Array values = updates.aval().weak && updates.array().dtype() != dtype ? convert(updates, dtype) : updates.array();
  return detail::bind_one<Op>({std::move(numbers), false, detail::GatherScatterMode::fill_or_drop, false},
                              {x.array(), indices.array(), values}, x.where());
}
}  // namespace

Array scatter_sub(Arg x, Arg indices, Arg updates, ScatterDimensionNumbers dimension_numbers) {
  return scatter_of<detail::ScatterSub>(x, indices, updates, std::move(dimension_numbers));
}
Array scatter_mul(Arg x, Arg indices, Arg updates, ScatterDimensionNumbers dimension_numbers) {
  return scatter_of<detail::ScatterMul>(x, indices, updates, std::move(dimension_numbers));
}
Array scatter_min(Arg x, Arg indices, Arg updates, ScatterDimensionNumbers dimension_numbers) {
  return scatter_of<detail::ScatterMin>(x, indices, updates, std::move(dimension_numbers));
}
Array scatter_max(Arg x, Arg indices, Arg updates, ScatterDimensionNumbers dimension_numbers) {
  return scatter_of<detail::ScatterMax>(x, indices, updates, std::move(dimension_numbers));
}

Array ragged_dot(Arg x, Arg w, Arg group_sizes) {
  const LocScope scope(x.where());
  const Array &a = x.array(), &b = w.array(), &sizes = group_sizes.array();
  if (a.ndim() != 2 || b.ndim() != 3 || sizes.ndim() != 1 || b.shape()[0] != sizes.shape()[0] || a.shape()[1] != b.shape()[1])
    throw ShapeError(fmt::format("ragged_dot: {}, {} and {}; wanted are rows (m, k), matrices (groups, k, n) and sizes (groups)",
                                 to_string(x.aval()), to_string(w.aval()), to_string(group_sizes.aval())),
                     detail::effective_loc(x.where()));
  if (!sizes.dtype().is_integer())
    throw DTypeError(fmt::format("ragged_dot: the sizes {} must be integers", to_string(group_sizes.aval())),
                     detail::effective_loc(x.where()));
  const Array counts = detail::index_type(sizes, x.where()), end = cumsum(counts), row = expand_dims(arange(a.shape()[0]), 1);
  const Array of_group = (row >= end - counts) & (row < end);  // (m, groups)
  const Array rows = where(expand_dims(of_group, 2), expand_dims(a, 1), detail::make_literal(0, a.dtype()));
  return tensordot(rows, b, 2);
}

TopK approx_max_k(Arg x, Int k) { return top_k(std::move(x), k); }
TopK approx_min_k(Arg x, Int k) {
  LocScope scope(x.where());
  if (!x.array().dtype().is_floating())
    throw DTypeError(fmt::format("approx_min_k: {} must be floating numbers", to_string(x.aval())), detail::effective_loc(x.where()));
  // Of negated numbers the largest would be NaN.
  const Array clean = where(isnan(x), std::numeric_limits<double>::infinity(), x);
  const TopK t = top_k(-clean, k);
  return {take_along_axis(x, t.indices, -1), t.indices};
}
Array conv_with_general_padding(Arg x, Arg kernel, Shape window_strides, Padding padding, Shape lhs_dilation, Shape rhs_dilation) {
  return conv_general_dilated(std::move(x), std::move(kernel), std::move(window_strides), std::move(padding),
                              {.lhs_dilation = std::move(lhs_dilation), .rhs_dilation = std::move(rhs_dilation)});
}
Array conv_general_dilated_patches(Arg x, Shape filter_shape, Shape window_strides, Padding padding, ConvOptions options) {
  LocScope scope(x.where());
  const std::string &lhs = options.dimension_numbers.lhs, &rhs = options.dimension_numbers.rhs;
  const bool usual = options.dimension_numbers == ConvDimensionNumbers{};
  const int n = x.array().ndim(), spatial = filter_shape.size();
  if (spatial + 2 != n || (!usual && static_cast<int>(rhs.size()) != n))
    throw ShapeError(fmt::format("conv_general_dilated_patches: {} must have two dimensions more than the filter, which has {}",
                                 to_string(x.aval()), spatial),
                     detail::effective_loc(x.where()));
  const std::int64_t size = filter_shape.num_elements();
  const std::size_t feature = usual ? 1 : lhs.find('C');
  if (feature == std::string::npos)
    throw Error(fmt::format("conv_general_dilated_patches: the dimensions {} have no C", lhs), detail::effective_loc(x.where()));
  const std::int64_t features = x.array().shape()[static_cast<int>(feature)];
  // One filter for each place of the window, for each feature: (outputs, 1, window ...).
  Shape shape{features * size, 1};
  for (std::int64_t d : filter_shape) shape.push_back(d);
  Array kernel = reshape(broadcast_to(eye(size, size, 0, x.array().dtype()), {features, size, size}), shape);
  if (!usual) {
    const std::size_t outputs = rhs.find('O'), inputs = rhs.find('I');
    kernel = moveaxis(kernel, {0, 1}, {static_cast<int>(outputs), static_cast<int>(inputs)});
  }
  options.feature_group_count = features;
  return conv_general_dilated(x, kernel, std::move(window_strides), std::move(padding), std::move(options));
}

namespace lax {

Array round(Arg x) {
  LocScope scope(x.where());
  const Array whole = trunc(x), rest = x.array() - whole;
  return where(abs(rest) >= 0.5, whole + sign(x), whole);
}
std::vector<Array> split(Arg x, const Shape& sizes, AxisNumber axis) {
  LocScope scope(x.where());
  std::vector<std::int64_t> cuts;
  std::int64_t end = 0;
  for (std::int64_t size : sizes) cuts.push_back(end += size);
  const Shape& shape = x.aval().shape;
  const std::int64_t n = shape[detail::axis_of(x, axis, "split")];
  if (end != n || sizes.empty())
    throw ShapeError(fmt::format("split: the sizes add up to {}, but the axis has size {}; operand: {}", end, n, to_string(x.aval())),
                     detail::effective_loc(x.where()));
  cuts.pop_back();
  return weft::split(std::move(x), cuts, axis);
}
Array cumsum(Arg x, AxisNumber axis, CumulativeOptions options) { return weft::cumsum(std::move(x), axis, std::move(options)); }
Array cumsum(Arg x, CumulativeOptions options) { return weft::cumsum(std::move(x), options.axis.value_or(0), options); }
Array cumprod(Arg x, AxisNumber axis, CumulativeOptions options) { return weft::cumprod(std::move(x), axis, std::move(options)); }
Array cumprod(Arg x, CumulativeOptions options) { return weft::cumprod(std::move(x), options.axis.value_or(0), options); }
Array max(Arg x, Arg y) { return maximum(std::move(x), std::move(y)); }
Array min(Arg x, Arg y) { return minimum(std::move(x), std::move(y)); }
Array argmax(Arg x, AxisNumber axis, DType index_dtype) { return weft::argmax(std::move(x), axis, {.dtype = index_dtype}); }
Array argmin(Arg x, AxisNumber axis, DType index_dtype) { return weft::argmin(std::move(x), axis, {.dtype = index_dtype}); }
Array slice(Arg x, const Shape& start_indices, const Shape& limit_indices, const Shape& strides) {
  LocScope scope(x.where());
  const Shape& shape = x.aval().shape;
  const int n = x.aval().ndim();
  const SourceLoc loc = detail::effective_loc(x.where());
  if (start_indices.size() != n || limit_indices.size() != n || (!strides.empty() && strides.size() != n))
    throw ShapeError(fmt::format("slice: {} is sliced by {} starts, {} limits and {} strides; give one for each dimension",
                                 to_string(x.aval()), start_indices.size(), limit_indices.size(), strides.size()),
                     loc);
  Array out = x.array();
  for (int i = 0; i < n; ++i) {
    const std::int64_t start = start_indices[i], limit = limit_indices[i], step = strides.empty() ? 1 : strides[i];
    if (start < 0 || limit < start || limit > shape[i] || step < 1)
      throw ShapeError(
          fmt::format("slice: from {} to {} in steps of {} is not inside dimension {} of {}", start, limit, step, i, to_string(x.aval())),
          loc);
    if (start > 0 || limit < shape[i] || step > 1) out = slice_in_dim(out, start, limit, step, i);
  }
  return out;
}
std::vector<Array> sort(Args operands, AxisNumber dimension, bool, Int num_keys) {
  return sort_operands(std::move(operands), {.dimension = dimension, .num_keys = num_keys});
}

}  // namespace lax
}  // namespace weft
