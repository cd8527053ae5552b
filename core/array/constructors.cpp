#include "weft/core/array/constructors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "weft/core/array/host.h"
#include "weft/core/base/counted.h"
#include "weft/core/base/sizes.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/promote.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"

namespace weft {
using namespace detail;
namespace {

void check_shape(const char* operation, const Shape& shape, SourceLoc loc) {
  for (std::int64_t n : shape)
    if (n < 0) throw ShapeError(fmt::format("{}: shape {} has a negative size", operation, to_string(shape)), effective_loc(loc));
}

Array constant(const char* operation, const Shape& shape, const Number& value, DType dtype, SourceLoc loc) {
  check_shape(operation, shape, loc);
  return fill_shape(make_literal(value, dtype), shape, loc);
}

bool is_floating(const Number& n) { return n.kind == Number::Kind::floating; }
double as_double(const Number& n) { return n.real; }

/// The number of elements of arange.
std::int64_t count_steps(const Number& start, const Number& stop, const Number& step, SourceLoc loc) {
  for (const Number* n : {&start, &stop, &step})
    if (n->kind == Number::Kind::complex) throw DTypeError("arange: complex numbers have no order; give real ones", effective_loc(loc));
  const double by = as_double(step);
  if (by == 0 || std::isnan(by)) throw ShapeError(fmt::format("arange: the step is {}; it must not be zero", by), effective_loc(loc));
  if (!is_floating(start) && !is_floating(stop) && !is_floating(step)) {
    using Wide = __int128;
    const auto wide = [](const Number& n) {
      return n.kind == Number::Kind::unsigned_integer ? Wide{static_cast<std::uint64_t>(n.integer)} : Wide{n.integer};
    };
    const Wide distance = wide(stop) - wide(start), width = wide(step);
    const Wide n = std::max<Wide>(width > 0 ? (distance + width - 1) / width : (-distance - width - 1) / -width, 0);
    if (n > std::numeric_limits<std::int64_t>::max())
      throw ShapeError(
          fmt::format("arange: from {} to {} by {} has more elements than an array can have", as_double(start), as_double(stop), by),
          effective_loc(loc));
    return static_cast<std::int64_t>(n);
  }
  const double n = std::ceil((as_double(stop) - as_double(start)) / by);
  if (std::isnan(n))
    throw ShapeError(fmt::format("arange: from {} to {} by {} is no range; give finite numbers", as_double(start), as_double(stop), by),
                     effective_loc(loc));
  if (n > 9e18)
    throw ShapeError(
        fmt::format("arange: from {} to {} by {} has more elements than an array can have", as_double(start), as_double(stop), by),
        effective_loc(loc));
  return n > 0 ? static_cast<std::int64_t>(n) : 0;
}

DType arange_dtype(std::initializer_list<const Number*> numbers) {
  DType dtype = int32;
  for (const Number* n : numbers) {
    if (is_floating(*n)) return float32;
    if (n->default_dtype() == int64 || n->default_dtype() == uint64) dtype = int64;
  }
  return dtype;
}

/// Where row + k >= column (or == column), as JAX's tri and eye stage it.
Array diagonal_mask(const char* operation, std::int64_t n, std::int64_t m, std::int64_t k, bool only_diagonal, SourceLoc loc) {
  check_shape(operation, {n, m}, loc);
  k = std::clamp(k, -n, m);  // diagonals beyond the matrix are all alike
  const DType type = fits_int(n) && fits_int(m) && fits_int(n + m) ? int32 : int64;
  const Array row = iota_array(type, {n, m}, 0, loc) + k, column = iota_array(type, {n, m}, 1, loc);
  return only_diagonal ? row == column : row >= column;
}

/// The mask of tril and triu for x.
Array triangle_mask(const char* operation, const Arg& x, std::int64_t k) {
  const Shape& shape = x.aval().shape;
  if (shape.size() < 2)
    throw ShapeError(
        fmt::format("{}: {} has {}; a matrix has at least 2", operation, to_string(x.aval()), counted(shape.size(), "axis", "axes")),
        effective_loc(x.where()));
  const Array mask = diagonal_mask(operation, shape[shape.size() - 2], shape.back(), k, false, x.where());
  return broadcast_trailing(mask, shape, x.where());
}

}  // namespace

Array zeros(Shape shape, DType dtype, SourceLoc loc) { return constant("zeros", shape, 0, dtype, loc); }
Array ones(Shape shape, DType dtype, SourceLoc loc) { return constant("ones", shape, 1, dtype, loc); }

Array full(Shape shape, Arg value, std::optional<DType> dtype) {
  const LocScope scope(value.where());
  check_shape("full", shape, value.where());
  const Array element = dtype ? convert_element_type(value.array(), *dtype, false, value.where()) : value.array();
  const Shape& from = element.shape();
  const int lead = shape.size() - from.size();
  bool fits = lead >= 0;
  for (int d = 0; fits && d < from.size(); ++d) fits = from[d] == 1 || from[d] == shape[lead + d];
  if (!fits)
    throw ShapeError(fmt::format("full: the value {} does not broadcast to shape {}", to_string(element.aval()), to_string(shape)),
                     effective_loc(value.where()));
  return broadcast_trailing(element, shape, value.where());
}

Array zeros_like(Arg x, std::optional<DType> dtype) { return full_like(x, Arg(0, x.where()), dtype); }
Array ones_like(Arg x, std::optional<DType> dtype) { return full_like(x, Arg(1, x.where()), dtype); }
Array full_like(Arg x, Arg value, std::optional<DType> dtype) {
  const LocScope scope(x.where());
  const WeakDType type = dtype ? WeakDType{*dtype} : x.aval().weak_dtype();
  return full(x.aval().shape, Arg(convert_element_type(value.array(), type.dtype, type.weak, x.where()), x.where()));
}

Array arange(detail::Number stop, std::optional<DType> dtype, SourceLoc loc) {
  if (!dtype) dtype = arange_dtype({&stop});
  return iota_array(*dtype, Shape(count_steps(0, stop, 1, loc)), 0, loc);
}
Array arange(detail::Number start, detail::Number stop, detail::Number step, std::optional<DType> dtype, SourceLoc loc) {
  const LocScope scope(loc);
  const std::int64_t n = count_steps(start, stop, step, loc);
  const DType type = dtype.value_or(arange_dtype({&start, &stop, &step}));
  Array x = iota_array(type, Shape(n), 0, loc);
  if (as_double(step) != 1) x = make_literal(step, type) * x;
  return as_double(start) == 0 && as_double(step) == 1 ? x : make_literal(start, type) + x;
}

Array linspace(Arg start, Arg stop, Int count, std::optional<DType> dtype) {
  const std::int64_t num = count;
  const LocScope scope(start.where());
  const SourceLoc loc = start.where();
  if (num < 0) throw ShapeError(fmt::format("linspace: the number of values is {}; it must not be negative", num), effective_loc(loc));
  // As JAX's _linspace: computed in floating point, interpolating from both ends; the last value is `stop` itself.
  DType computed = common_dtype({start.array(), stop.array()}).dtype;
  if (dtype) computed = promote_types(computed, *dtype);
  if (!computed.is_inexact()) computed = promote_types(WeakDType{computed}, WeakDType{float32, true}).dtype;
  const DType result = dtype.value_or(computed);
  const Shape& from = start.aval().shape;
  const Shape& to = stop.aval().shape;
  if (!from.empty() && !to.empty() && from != to)
    throw ShapeError(fmt::format("linspace: start {} and stop {} have different shapes; they must be equal, or one a scalar",
                                 to_string(start.aval()), to_string(stop.aval())),
                     effective_loc(loc));
  const Shape& shape = from.empty() ? to : from;
  const auto aligned = [&](const Arg& x) {  // as one row of the result
    const Array converted = convert_element_type(x.array(), computed, false, loc);
    return reshape_to(converted,
                      x.aval().ndim() == 0 ? Shape(std::vector<int>(static_cast<std::size_t>(shape.size() + 1), 1)) : shape.inserted(0, 1),
                      loc);
  };
  const Array first = aligned(start);
  Array out;
  if (num < 2) {
    out = broadcast_trailing(first, shape.inserted(0, num), loc);
  } else {
    const Array last = aligned(stop);
    Shape along(num - 1);
    for (int d = 0; d < shape.size(); ++d) along.push_back(1);
    const DType real = computed.real_part();
    const Array step = reshape_to(iota_array(real, Shape(num - 1), 0, loc), along, loc) / make_literal(num - 1, real);
    const Array inner = first * (make_literal(1, real) - step) + last * step;
    const Array parts[] = {inner, broadcast_trailing(last, shape.inserted(0, 1), loc)};
    out = concatenate_along(parts, 0, loc);
  }
  if (result.is_integer()) out = floor(out);
  return convert_element_type(out, result, false, loc);
}

Array eye(Int n, std::optional<Int> m, Int k, DType dtype, SourceLoc loc) {
  const LocScope scope(loc);
  return convert(Arg(diagonal_mask("eye", n, m.value_or(n), k, true, loc), loc), dtype);
}
Array eye(Int n, DType dtype, SourceLoc loc) { return eye(n, n, 0, dtype, loc); }
Array tri(Int n, std::optional<Int> m, Int k, DType dtype, SourceLoc loc) {
  const LocScope scope(loc);
  return convert(Arg(diagonal_mask("tri", n, m.value_or(n), k, false, loc), loc), dtype);
}
Array tril(Arg x, Int k) {
  const LocScope scope(x.where());
  return where(triangle_mask("tril", x, k), x, zeros_like(x));
}
Array triu(Arg x, Int k) {
  const LocScope scope(x.where());
  return where(triangle_mask("triu", x, std::max<std::int64_t>(k, std::numeric_limits<std::int64_t>::min() + 1) - 1), zeros_like(x), x);
}

Array iota(DType dtype, Shape shape, AxisNumber dimension, SourceLoc loc) {
  check_shape("iota", shape, loc);
  return iota_array(dtype, shape, normalize_axis(dimension, shape.size(), "iota", Aval{shape, dtype}, loc), loc);
}

}  // namespace weft
