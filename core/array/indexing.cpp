#include "weft/core/array/indexing.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/axis.h"
#include "weft/core/base/counted.h"
#include "weft/core/base/sizes.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/dynamic_slice.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace detail {

DType type_of_indices(const Aval& x) {
  for (std::int64_t n : x.shape)
    if (n > 0x7fffffff) return int64;
  return int32;
}

Array saturated(const Array& i, DType dtype, SourceLoc loc) {
  const DType from = i.dtype();
  const std::int64_t highest = dtype == int64 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int32_t>::max();
  Array x = i;
  if (from == uint64 || (dtype == int32 && (from == uint32 || from == int64)))
    x = minimum(Arg(x, loc), Arg(make_literal(Number(highest), from), loc));
  if (dtype == int32 && from == int64) x = maximum(Arg(x, loc), Arg(make_literal(Number(-highest - 1), from), loc));
  return convert(Arg(x, loc), dtype);
}

std::int64_t position_of(const Number& n) {
  return n.kind == Number::Kind::unsigned_integer && n.integer < 0 ? std::numeric_limits<std::int64_t>::max() : n.integer;
}

Array index_type(const Array& i, SourceLoc loc) {
  const DType dtype = i.dtype();
  if (!dtype.is_integer())
    throw DTypeError(fmt::format("index: {} is not an index; use integers (floor_divide divides them, / gives floating-point numbers)",
                                 to_string(i.aval())),
                     loc);
  const bool wide = dtype == int64 || dtype == uint64 || dtype == uint32;
  return saturated(i, wide ? int64 : int32, loc);
}

Array wrap_negative(const Array& i, std::int64_t size, SourceLoc loc) {
  const DType dtype = size > 0x7fffffff ? int64 : i.dtype();
  const Array x = convert(Arg(i, loc), dtype);
  return where(Arg(x < make_literal(Number(0), dtype), loc), x + make_literal(Number(size), dtype), x);
}

Array positions_among(const Array& i, std::int64_t n, SourceLoc loc) {
  const Array x = index_type(i, loc);
  return n > std::numeric_limits<std::int32_t>::max() ? convert(Arg(x, loc), int64) : x;
}

Array positions_around(const Array& i, std::int64_t n, SourceLoc loc) {
  const auto modulo = [&](const Array& x) { return remainder(Arg(x, loc), Arg(make_literal(Number(n), x.dtype()), loc)); };
  return i.dtype() == uint64 ? positions_among(modulo(i), n, loc) : modulo(positions_among(i, n, loc));
}

OutOfBounds out_of_bounds(const char* operation, const IndexOptions& options, DType dtype, GatherScatterMode otherwise, SourceLoc loc,
                          const char* more_modes) {
  const auto refuse = [&](const std::string& what) { throw Error(fmt::format("{}: {}", operation, what), loc); };
  GatherScatterMode mode = otherwise;
  if (options.mode == "fill" || options.mode == "drop")
    mode = GatherScatterMode::fill_or_drop;
  else if (options.mode == "clip")
    mode = GatherScatterMode::clip;
  else if (options.mode == "promise_in_bounds")
    mode = GatherScatterMode::promise_in_bounds;
  else if (!options.mode.empty())
    refuse(fmt::format("unknown mode `{}`; available: fill, drop, clip, promise_in_bounds{}", options.mode, more_modes));
  if (!options.fill_value) {
    if (mode != GatherScatterMode::fill_or_drop) return {mode, {}};
    return {mode, default_fill(dtype)};
  }
  if (mode != GatherScatterMode::fill_or_drop) refuse("a fill_value needs the mode \"fill\"");
  const double value = *options.fill_value;
  if (dtype.is_inexact()) return {mode, FillValue::of_real(value)};
  const auto whole = static_cast<std::int64_t>(std::clamp(value, -0x1p62, 0x1p62));
  const int bits = dtype.is_bool() ? 1 : 8 * dtype.itemsize() - (dtype.is_signed() ? 1 : 0);
  const bool fits = whole < 0 ? dtype.is_signed() && (bits > 62 || -whole <= std::int64_t{1} << bits) : bits > 62 || whole >> bits == 0;
  if (static_cast<double>(whole) != value || !fits)
    throw DTypeError(fmt::format("{}: the fill_value {} is not of dtype {}", operation, value, dtype.name()), loc);
  return {mode, FillValue::of(whole)};
}

Array gather_along(const Array& x, const Array& positions, int dim, SourceLoc loc) {
  GatherDimensionNumbers n{.collapsed_slice_dims = {dim}, .start_index_map = {dim}};
  Shape windows;
  for (int d = 0; d < x.ndim(); ++d) {
    windows.push_back(std::min<std::int64_t>(x.shape()[d], 1));
    if (d != dim) n.operand_batching_dims.push_back(d), n.start_indices_batching_dims.push_back(d);
  }
  if (positions.size() == 0) return zeros_of(x.aval().with_shape(positions.shape()), loc);
  return bind_one<Gather>({n, {}, false, GatherScatterMode::promise_in_bounds, windows, true}, {x, insert_axes(positions, {x.ndim()}, loc)},
                          loc);
}

namespace {

// Starts of a dynamic slice, one operand for each dimension: negative numbers are wrapped at once, traced ones when the program runs.
std::vector<Array> start_operands(const char* operation, const Array& x, const Args& start, SourceLoc loc) {
  std::vector<Array> given;
  for (const Arg& a : start.args()) given.push_back(a.array());
  if (given.size() == 1 && given[0].ndim() == 1 && given[0].shape()[0] == x.ndim()) given = unstack_along(given[0], 0, loc);
  if (given.size() != static_cast<std::size_t>(x.ndim()))
    throw ShapeError(
        fmt::format("{}: {} for {}, which has {}; one is needed for each", operation, counted(given.size(), "start index", "start indices"),
                    to_string(x.aval()), counted(x.ndim(), "dimension")),
        loc);
  DType type = type_of_indices(x.aval());
  for (Array& a : given) {
    if (a.ndim() != 0) throw ShapeError(fmt::format("{}: the start index {} is not a scalar", operation, to_string(a.aval())), loc);
    if (!a.dtype().is_integer())
      throw DTypeError(fmt::format("{}: the start index {} is not an integer", operation, to_string(a.aval())), loc);
    if (as_literal(a)) continue;
    a = index_type(a, loc);
    type = promote_types(type, a.dtype());
  }
  for (int d = 0; d < x.ndim(); ++d) {
    Array& a = given[static_cast<std::size_t>(d)];
    const std::int64_t n = x.shape()[d];
    if (const LiteralArray* number = as_literal(a)) {
      const std::int64_t v = position_of(number_of(*number));
      // Starts beyond either end are clamped anyway.
      a = make_literal(Number(std::clamp<std::int64_t>(v < 0 ? v + n : v, -1, n)), type);
    } else {
      a = convert(Arg(wrap_negative(a, n, loc), loc), type);
    }
  }
  return given;
}

std::vector<int> all_but(int ndim, int first, int last) {
  std::vector<int> out;
  for (int d = 0; d < ndim; ++d)
    if (d < first || d >= last) out.push_back(d);
  return out;
}

}  // namespace
}  // namespace detail

using namespace detail;

Array take(Arg x, Arg indices, std::optional<AxisNumber> axis, IndexOptions options) {
  LocScope scope(x.where());
  const SourceLoc loc = x.where();
  const Array a = axis ? x.array() : reshape_to(x.array(), x.array().size(), loc);
  const int dim = axis ? normalize_axis(axis_number(*axis, loc), a.ndim(), "take", a.aval(), loc) : 0;
  if (!indices.array().dtype().is_integer())
    throw DTypeError(fmt::format("take: the indices {} must be integers", to_string(indices.aval())), loc);
  const bool around = options.mode == "wrap";
  const std::int64_t size = a.shape()[dim];
  // A negative number that is clipped is before the first element, as in NumPy.
  const Array i = around && size > 0       ? positions_around(indices.array(), size, loc)
                  : options.mode == "clip" ? index_type(indices.array(), loc)
                                           : wrap_negative(index_type(indices.array(), loc), size, loc);
  const OutOfBounds out = around ? OutOfBounds{GatherScatterMode::promise_in_bounds, {}}
                                 : out_of_bounds("take", options, a.dtype(), GatherScatterMode::fill_or_drop, loc, ", wrap");
  const int result_ndim = a.ndim() - 1 + i.ndim();
  Shape windows = a.shape();
  windows[dim] = 1;
  if (a.shape()[dim] == 0) {
    if (i.size() != 0) throw AxisError(fmt::format("take: axis {} of {} is empty", dim, to_string(a.aval())), loc);
    std::vector<std::int64_t> shape(a.shape().begin(), a.shape().end());
    shape.erase(shape.begin() + dim);
    shape.insert(shape.begin() + dim, i.shape().begin(), i.shape().end());
    return zeros_of(a.aval().with_shape(Shape(shape)), loc);
  }
  const GatherDimensionNumbers n{
      .offset_dims = all_but(result_ndim, dim, dim + i.ndim()), .collapsed_slice_dims = {dim}, .start_index_map = {dim}};
  return bind_one<Gather>({n, out.fill, false, out.mode, windows, false}, {a, insert_axes(i, {i.ndim()}, loc)}, loc);
}

Array take_along_axis(Arg x, Arg indices, None) { return take_along_axis(Arg(x.array().ravel(x.where()), x.where()), indices, 0); }
Array take_along_axis(Arg x, Arg indices, AxisNumber axis, IndexOptions options) {
  LocScope scope(x.where());
  const SourceLoc loc = x.where();
  const Array a = x.array();
  const int dim = normalize_axis(axis, a.ndim(), "take_along_axis", a.aval(), loc);
  if (!indices.array().dtype().is_integer())
    throw DTypeError(fmt::format("take_along_axis: the indices {} must be integers", to_string(indices.aval())), loc);
  if (indices.array().ndim() != a.ndim())
    throw ShapeError(
        fmt::format("take_along_axis: the indices {} have {}, the array {} has {}; give them as many dimensions (expand_dims), each of the "
                    "array's size or 1 but along axis {}",
                    to_string(indices.aval()), counted(indices.array().ndim(), "dimension"), to_string(a.aval()),
                    counted(a.ndim(), "dimension"), dim),
        loc);
  const Array i = wrap_negative(index_type(indices.array(), loc), a.shape()[dim], loc);
  GatherDimensionNumbers n;
  Shape windows, batch, result;
  for (int d = 0; d < a.ndim(); ++d) {
    const std::int64_t size = a.shape()[d], count = i.shape()[d];
    result.push_back(d == dim || size == 1 ? count : size);
    if (d == dim) {
      n.collapsed_slice_dims.push_back(d), n.start_index_map.push_back(d);
      windows.push_back(1), batch.push_back(count);
    } else if (size == count) {
      n.operand_batching_dims.push_back(d), n.start_indices_batching_dims.push_back(batch.size());
      windows.push_back(std::min<std::int64_t>(size, 1)), batch.push_back(count);
    } else if (count == 1) {
      n.offset_dims.push_back(d);
      windows.push_back(size);
    } else if (size == 1) {
      n.collapsed_slice_dims.push_back(d);
      windows.push_back(1), batch.push_back(count);
    } else {
      throw ShapeError(
          fmt::format("take_along_axis: the indices {} don't broadcast with {} along axis {}", to_string(i.aval()), to_string(a.aval()), d),
          loc);
    }
  }
  if (result.num_elements() == 0) return zeros_of(a.aval().with_shape(result), loc);
  const Array vectors = reshape_to(i, batch.inserted(batch.size(), 1), loc);
  const OutOfBounds out = out_of_bounds("take_along_axis", options, a.dtype(), GatherScatterMode::fill_or_drop, loc);
  return bind_one<Gather>({n, out.fill, false, out.mode, windows, false}, {a, vectors}, loc);
}

Array gather(Arg x, Arg start_indices, GatherDimensionNumbers dimension_numbers, Shape slice_sizes, IndexOptions options) {
  const OutOfBounds out = out_of_bounds("gather", options, x.array().dtype(), GatherScatterMode::fill_or_drop, x.where());
  return bind_one<Gather>({std::move(dimension_numbers), out.fill, false, out.mode, std::move(slice_sizes), false},
                          {x.array(), start_indices.array()}, x.where());
}

namespace {
// A number takes the operand's dtype.
Array update_operand(const Arg& x, const Arg& updates) {
  return updates.aval().weak && x.array().dtype() != updates.array().dtype() ? convert(updates, x.array().dtype()) : updates.array();
}
GatherScatterMode mode_of_scatter(const char* operation, const Arg& x, const IndexOptions& options) {
  if (options.fill_value) throw Error(fmt::format("{}: a fill_value is read, and a scatter writes", operation), x.where());
  return out_of_bounds(operation, options, x.array().dtype(), GatherScatterMode::fill_or_drop, x.where()).mode;
}
}  // namespace

Array scatter(Arg x, Arg indices, Arg updates, ScatterDimensionNumbers dimension_numbers, IndexOptions options) {
  LocScope scope(x.where());
  return bind_one<Scatter>({std::move(dimension_numbers), false, mode_of_scatter("scatter", x, options), false, {}},
                           {x.array(), indices.array(), update_operand(x, updates)}, x.where());
}

Array scatter_add(Arg x, Arg indices, Arg updates, ScatterDimensionNumbers dimension_numbers, IndexOptions options) {
  LocScope scope(x.where());
  return bind_one<ScatterAdd>({std::move(dimension_numbers), false, mode_of_scatter("scatter_add", x, options), false},
                              {x.array(), indices.array(), update_operand(x, updates)}, x.where());
}

Array dynamic_slice(Arg x, Args start, Shape sizes) {
  LocScope scope(x.where());
  std::vector<Array> operands = start_operands("dynamic_slice", x.array(), start, x.where());
  operands.insert(operands.begin(), x.array());
  return bind_all<DynamicSlice>({std::move(sizes)}, operands, x.where())[0];
}

Array dynamic_update_slice(Arg x, Arg update, Args start) {
  LocScope scope(x.where());
  std::vector<Array> operands = start_operands("dynamic_update_slice", x.array(), start, x.where());
  operands.insert(operands.begin(), {x.array(), update_operand(x, update)});
  return bind_all<DynamicUpdateSlice>({}, operands, x.where())[0];
}

Array one_hot(Arg x, Int classes_asked, DType dtype) {
  LocScope scope(x.where());
  const std::int64_t num_classes = classes_asked;
  const SourceLoc loc = x.where();
  if (num_classes < 0) throw ShapeError(fmt::format("one_hot: the number of classes is {}; it must not be negative", num_classes), loc);
  if (!x.array().dtype().is_integer())
    throw DTypeError(fmt::format("one_hot: the positions {} must be integers", to_string(x.aval())), loc);
  const Array given = index_type(x.array(), loc);
  const Array i = fits_int(num_classes) ? given : saturated(given, int64, loc);
  const int ndim = i.ndim();
  Shape classes;
  for (int d = 0; d < ndim; ++d) classes.push_back(1);
  classes.push_back(num_classes);
  return convert(Arg(insert_axes(i, {ndim}, loc) == iota_array(i.dtype(), classes, ndim, loc), loc), dtype);
}

}  // namespace weft
