#include "weft/core/functions/sorting.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/counted.h"
#include "weft/core/base/sizes.h"
#include "weft/core/functions/chosen_axis.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/ops/movement/sort.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace detail {
namespace {

// The order of sort: NaN behind all else.
Array is_less(const Array& a, const Array& b) {
  const Array less = a < b;
  return a.dtype().is_floating() ? less | (isnan(b) & ~isnan(a)) : less;
}

// One element of an array whose value is needed for a shape.
std::int64_t known_value(const Array& x, const char* operation, const char* remedy, SourceLoc loc) {
  const Array value = concrete_or_empty(x);
  if (value.is_empty_handle())
    throw ConcretizationError(
        fmt::format("{}: the result's size depends on a value {} that is traced; {}", operation, to_string(x.aval()), remedy), loc);
  return value.item<std::int64_t>(loc);
}

}  // namespace
}  // namespace detail

using namespace detail;

namespace {
/// The options' axis, absent where they give none.
std::optional<AxisNumber> given_axis(const Axis& axis, const char* operation, SourceLoc loc) {
  if (axis.axes().empty()) return {};
  if (axis.axes().size() > 1)
    throw AxisError(fmt::format("{}: sorts along one axis; give one, or none for the flattened array", operation), loc);
  return AxisNumber(axis.axes()[0]);
}
/// The function of an axis, for options alone.
template <class F>
Array along_options_axis(F function, const Arg& x, SortOptions options, const char* operation) {
  if (options.axis.is_none()) {
    options.axis = std::vector<int>();
    return function(Arg(ravel(x), x.where()), 0, options);
  }
  return function(x, given_axis(options.axis, operation, x.where()).value_or(-1), options);
}
}  // namespace

Array sort(Arg x, SortOptions options) {
  return along_options_axis([](Arg v, AxisNumber axis, SortOptions o) { return sort(v, axis, o); }, x, std::move(options), "sort");
}
Array argsort(Arg x, SortOptions options) {
  return along_options_axis([](Arg v, AxisNumber axis, SortOptions o) { return argsort(v, axis, o); }, x, std::move(options), "argsort");
}

Array sort(Arg x, AxisNumber axis, SortOptions options) {
  LocScope scope(x.where());
  const int dim = one_axis("sort", x, axis, given_axis(options.axis, "sort", x.where()));
  const Array sorted = bind_one<Sort>({dim, true, 1}, {x.array()}, x.where());
  return options.descending ? reverse(sorted, {dim}, x.where()) : sorted;
}

Array argsort(Arg x, AxisNumber axis, SortOptions options) {
  LocScope scope(x.where());
  const Array& a = x.array();
  const int dim = one_axis("argsort", x, axis, given_axis(options.axis, "argsort", x.where()));
  const Array operands[] = {a, iota_array(type_of_indices(a.aval()), a.shape(), dim, x.where())};
  if (!options.descending) return bind_all<Sort>({dim, true, 1}, operands, x.where())[1];
  // What comes first of equal elements comes last of the reversed ones, and so first again.
  const Array reversed[] = {reverse(operands[0], {dim}, x.where()), reverse(operands[1], {dim}, x.where())};
  return reverse(bind_all<Sort>({dim, true, 1}, reversed, x.where())[1], {dim}, x.where());
}

TopK top_k(Arg x, Int k, TopKOptions options) {
  LocScope scope(x.where());
  const Array operands[] = {x.array()};
  if (x.array().ndim() == 0) throw ShapeError(fmt::format("top_k: {} is a scalar; it needs an axis", to_string(x.aval())), x.where());
  const int axis = normalize_axis(options.axis, x.array().ndim(), "top_k", x.aval(), x.where());
  const std::vector<Array> out = bind_all<TopKLargest>({axis, k}, operands, x.where());
  return {out[0], out[1]};
}

Array searchsorted(Arg sorted, Arg v, SearchOptions options) {
  LocScope scope(sorted.where());
  const SourceLoc loc = sorted.where();
  if (options.side != "left" && options.side != "right")
    throw Error(fmt::format("searchsorted: side is '{}'; use 'left' or 'right'", options.side), loc);
  if (sorted.array().ndim() != 1)
    throw ShapeError(fmt::format("searchsorted: the sorted array {} must have one dimension", to_string(sorted.aval())), loc);
  const DType dtype = promote_types(sorted.aval().weak_dtype(), v.aval().weak_dtype()).dtype;
  if (dtype.is_complex()) throw DTypeError(fmt::format("searchsorted: complex numbers have no order: {}", to_string(v.aval())), loc);
  const Array a = convert(sorted, dtype), x = convert(v, dtype);
  const std::int64_t n = a.shape()[0];
  const DType type = type_of_indices(a.aval());
  // Binary search for the number of elements in front, from its highest bit down.
  Array count = fill_shape(make_literal(Number(0), type), x.shape(), loc);
  for (std::int64_t step = n == 0 ? 0 : static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(n))); step > 0; step /= 2) {
    const Array candidate = count + make_literal(Number(step), type);
    const Array at = insert_axes(candidate - make_literal(Number(1), type), {x.ndim()}, loc);
    const GatherDimensionNumbers numbers{.collapsed_slice_dims = {0}, .start_index_map = {0}};
    const Array element = bind_one<Gather>({numbers, {}, false, GatherScatterMode::clip, 1, false}, {a, at}, loc);
    const Array in_front = options.side == "left" ? is_less(element, x) : ~is_less(x, element);
    count = where(in_front & (candidate <= make_literal(Number(n), type)), candidate, count);
  }
  return count;
}

Array unique(Arg x, UniqueOptions options) {
  LocScope scope(x.where());
  const SourceLoc loc = x.where();
  const Array a = reshape_to(x.array(), x.array().size(), loc);
  const std::int64_t n = a.shape()[0];
  const std::int64_t asked = options.size;
  if (asked < 0) throw ShapeError(fmt::format("unique: size is {}; it must not be negative", asked), loc);
  if (n == 0) {
    if (asked == 0) return a;
    if (!options.fill_value)
      throw ShapeError(fmt::format("unique: {} is empty, and size asks for {}; give a fill_value for them", to_string(x.aval()),
                                   detail::counted(asked, "element")),
                       loc);
    return fill_shape(convert(Arg(*options.fill_value, loc), a.dtype()), asked, loc);
  }
  const Array sorted = sort(Arg(a, loc));
  const Array before = slice_axis(sorted, 0, 0, n - 1, loc), behind = slice_axis(sorted, 0, 1, n, loc);
  Array differs = before != behind;
  if (a.dtype().is_inexact()) differs = differs & ~((before != before) & (behind != behind));
  const Array parts[] = {fill_shape(make_literal(Number(true), bool_), 1, loc), differs};
  const DType type = type_of_indices(a.aval());
  const Array is_first = concatenate_along(parts, 0, loc);
  const Array rank = cumulative_sum(convert(Arg(is_first, loc), type), 0, false, loc);
  const std::int64_t size =
      asked > 0 ? asked : known_value(reduce_max(rank, {0}, loc), "unique", "give the size: unique(x, {.size = n})", loc);
  const Array fill =
      options.fill_value ? convert(Arg(*options.fill_value, loc), a.dtype()) : squeeze_axes(slice_axis(sorted, 0, 0, 1, loc), {0}, loc);
  // The first of each run goes to its place; the others out of bounds, where they are dropped.
  const Array place = where(is_first, rank - make_literal(Number(1), type), make_literal(Number(size), type));
  const ScatterDimensionNumbers numbers{.inserted_window_dims = {0}, .scatter_dims_to_operand_dims = {0}};
  return bind_one<Scatter>({numbers, false, GatherScatterMode::fill_or_drop, false, {}},
                           {fill_shape(fill, size, loc), insert_axes(place, {1}, loc), sorted}, loc);
}

Array bincount(Arg x, BincountOptions options) {
  LocScope scope(x.where());
  const SourceLoc loc = x.where();
  if (!x.array().dtype().is_integer()) throw DTypeError(fmt::format("bincount: {} must be integers", to_string(x.aval())), loc);
  if (x.array().ndim() != 1) throw ShapeError(fmt::format("bincount: {} must have one dimension", to_string(x.aval())), loc);
  if (options.weights && options.weights->shape() != x.array().shape())
    throw ShapeError(
        fmt::format("bincount: the weights {} must have the shape of {}", to_string(options.weights->aval()), to_string(x.aval())), loc);
  const Array wide = index_type(x.array(), loc);
  const Array i = maximum(wide, make_literal(Number(0), wide.dtype()));
  std::int64_t length = options.minlength;
  if (options.length)
    length = *options.length;
  else if (i.size() > 0)
    length = std::max(length, known_value(reduce_max(i, {0}, loc), "bincount", "give the length: bincount(x, {.length = n})", loc) + 1);
  if (length < 0) throw ShapeError(fmt::format("bincount: length is {}; it must not be negative", length), loc);
  const DType dtype = options.weights ? wide_dtype(options.weights->dtype()) : fits_int(i.size()) ? int32 : int64;
  const Array updates = options.weights ? as_wide(*options.weights) : fill_shape(make_literal(Number(1), dtype), i.shape(), loc);
  const ScatterDimensionNumbers numbers{.inserted_window_dims = {0}, .scatter_dims_to_operand_dims = {0}};
  const Array counts = bind_one<ScatterAdd>({numbers, false, GatherScatterMode::fill_or_drop, false},
                                            {zeros_of({Shape(length), dtype}, loc), insert_axes(i, {1}, loc), updates}, loc);
  return options.weights ? as_dtype(counts, options.weights->dtype()) : counts;
}

}  // namespace weft
