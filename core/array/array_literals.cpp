// array(...): concrete arrays from literals and from elements in memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <span>

#include "weft/core/array/constructors.h"
#include "weft/core/array/convert_elements.h"
#include "weft/core/array/host.h"
#include "weft/core/base/counted.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/promote.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace {

using detail::Number;
using Nested = weft::Literal;

bool holds_arrays(const Nested& v) {
  if (v.kind() == Nested::Kind::array) return true;
  for (const Nested& row : v.rows())
    if (holds_arrays(row)) return true;
  return false;
}

/// The leaves in row-major order; every row must fit the shape that the first ones have.
void collect(const Nested& v, const Shape& shape, int depth, std::vector<const Number*>& out, SourceLoc loc) {
  const bool leaf = v.kind() == Nested::Kind::number;
  if (leaf != (depth == shape.size()))
    throw ShapeError(fmt::format("array: depth {} has both numbers and rows (of {}); all must be nested alike", depth,
                                 detail::counted(leaf ? shape[depth] : static_cast<std::int64_t>(v.rows().size()), "element")),
                     loc);
  if (leaf) {
    out.push_back(&v.number());
    return;
  }
  const auto n = static_cast<std::int64_t>(v.rows().size());
  if (n != shape[depth])
    throw ShapeError(fmt::format("array: ragged rows: in dimension {} one has {}, another {}; all must have as many", depth,
                                 detail::counted(shape[depth], "element"), n),
                     loc);
  for (const Nested& row : v.rows()) collect(row, shape, depth + 1, out, loc);
}

DType dtype_of(const std::vector<const Number*>& numbers) {
  if (numbers.empty()) return float32;
  if (std::all_of(numbers.begin(), numbers.end(), [](const Number* n) { return n->kind == Number::Kind::unsigned_integer; })) {
    const auto wide = [](const Number* n) { return static_cast<unsigned long long>(n->integer) >> 32 != 0; };
    return std::any_of(numbers.begin(), numbers.end(), wide) ? uint64 : uint32;
  }
  DType dtype = bool_;
  for (const Number* n : numbers) {
    const DType d = n->default_dtype();
    dtype = dtype.is_inexact() && d.is_integer() ? dtype : d.is_inexact() && dtype.is_integer() ? d : promote_types(dtype, d);
  }
  return dtype;
}

/// Throws where an integer dtype can't hold the number, as jnp.array does. (Arrays and elements in memory wrap around when converted.)
void check_range(const Number& n, DType dtype, SourceLoc loc) {
  if (!dtype.is_integer() || n.kind == Number::Kind::boolean || n.kind == Number::Kind::complex) return;
  const int bits = 8 * dtype.itemsize();
  const bool is_signed = dtype.is_signed();
  bool fits = true;
  std::string value;
  if (n.kind == Number::Kind::floating) {
    const double t = std::trunc(n.real), end = std::ldexp(1., is_signed ? bits - 1 : bits);
    fits = t >= (is_signed ? -end : 0.) && t < end;
    value = fmt::format("{}", n.real);
  } else if (n.kind == Number::Kind::unsigned_integer) {
    const auto v = static_cast<unsigned long long>(n.integer);
    fits = (is_signed ? v >> (bits - 1) : v >> (bits - 1) >> 1) == 0;
    value = fmt::format("{}", v);
  } else {
    const long long v = n.integer, half = bits == 64 ? 0 : 1LL << (bits - 1);
    fits = is_signed ? bits == 64 || (v >= -half && v < half) : v >= 0 && (bits == 64 || v < 2 * half);
    value = fmt::format("{}", v);
  }
  if (fits) return;
  const std::string range = is_signed ? fmt::format("-2^{} to 2^{} - 1", bits - 1, bits - 1) : fmt::format("0 to 2^{} - 1", bits);
  throw DTypeError(
      fmt::format("array: {} does not fit {}, which holds {}; give a wider dtype, or convert() the array, which wraps integers around",
                  value, dtype.name(), range),
      loc);
}

/// Leaves may be arrays: rows are stacked.
Array stack_nested(const Nested& v, SourceLoc loc) {
  if (v.kind() == Nested::Kind::array) return v.as_array();
  if (v.kind() == Nested::Kind::number) return detail::make_literal(v.number(), v.number().default_dtype(), true);
  std::vector<Array> rows;
  for (const Nested& row : v.rows()) rows.push_back(stack_nested(row, loc));
  if (rows.empty()) throw ShapeError("array: an empty row among arrays", loc);
  for (const Array& row : rows)
    if (row.shape() != rows[0].shape())
      throw ShapeError(
          fmt::format("array: rows {} and {} have different shapes; all must have one", to_string(rows[0].aval()), to_string(row.aval())),
          loc);
  return detail::stack_along(detail::promoted(std::move(rows), loc), 0, loc);
}

}  // namespace

Array array(const std::same_as<std::vector<bool>> auto& values, SourceLoc loc) {
  const auto bytes = std::make_unique<bool[]>(values.size());
  std::copy(values.begin(), values.end(), bytes.get());
  return array(std::span<const bool>(bytes.get(), values.size()), loc);
}
template Array array(const std::vector<bool>&, SourceLoc);
Array array(Literal values, std::optional<DType> dtype, SourceLoc loc) {
  const detail::LocScope scope(loc);
  loc = detail::effective_loc(loc);
  if (holds_arrays(values)) {
    const Array x = stack_nested(values, loc);
    return dtype ? detail::convert_element_type(x, *dtype, false, loc) : x;
  }
  if (values.kind() == Nested::Kind::number) {
    const Number& n = values.number();
    if (dtype) check_range(n, *dtype, loc);
    return detail::make_literal(n, dtype.value_or(n.default_dtype()), !dtype);
  }
  Shape shape;
  for (const Nested* v = &values; v->kind() == Nested::Kind::rows; v = &v->rows()[0]) {
    shape.push_back(static_cast<std::int64_t>(v->rows().size()));
    if (v->rows().empty()) break;
  }
  std::vector<const Number*> numbers;
  collect(values, shape, 0, numbers, loc);
  const DType type = dtype.value_or(dtype_of(numbers));
  const auto size = static_cast<std::size_t>(type.itemsize());
  std::vector<std::byte> bytes(numbers.size() * size);
  for (const Number* n : numbers) check_range(*n, type, loc);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    std::memcpy(bytes.data() + i * size, detail::as_literal(detail::make_literal(*numbers[i], type))->bits.data(), size);
  return detail::make_concrete({shape, type}, bytes.data());
}

namespace detail {

Array array_of_elements(const void* elements, DType dtype, std::int64_t count, const Shape& shape, std::optional<DType> as, SourceLoc loc) {
  bool negative = false;
  for (std::int64_t n : shape) negative |= n < 0;
  if (negative || shape.num_elements() != count)
    throw ShapeError(fmt::format("array: {} values don't fit shape {}{}", count, to_string(shape),
                                 negative ? ", which has a negative size" : fmt::format(" of {}", shape.num_elements())),
                     effective_loc(loc));
  if (!as || *as == dtype) return make_concrete({shape, dtype}, elements);
  std::vector<std::byte> converted(static_cast<std::size_t>(count) * static_cast<std::size_t>(as->itemsize()));
  convert_elements(elements, dtype, converted.data(), *as, count);
  return make_concrete({shape, *as}, converted.data());
}

namespace {

/// The elements along the axes from `d` on, the last one running fastest.
template <std::size_t Size>
void copy_axes(const StridedElements& e, int d, const std::byte* from, std::byte*& to) {
  const std::int64_t n = e.shape[d], step = e.strides[static_cast<std::size_t>(d)] * static_cast<std::int64_t>(Size);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::byte* at = from + i * step;
    if (d + 1 < e.shape.size()) {
      copy_axes<Size>(e, d + 1, at, to);
    } else {
      std::memcpy(to, at, Size);
      to += Size;
    }
  }
}

}  // namespace

void copy_strided(const StridedElements& e, void* out, SourceLoc loc) {
  if (!e.regular)
    throw ShapeError("array: the view's elements are not at equal distances in memory; copy them into an array of their own first",
                     effective_loc(loc));
  if (e.shape.num_elements() == 0) return;
  const auto size = static_cast<std::size_t>(e.dtype.itemsize());
  const auto* first = static_cast<const std::byte*>(e.first);
  auto* to = static_cast<std::byte*>(out);
  if (e.strides == row_major_strides(e.shape)) {
    std::memcpy(to, first, static_cast<std::size_t>(e.shape.num_elements()) * size);
    return;
  }
  switch (size) {
    case 1: return copy_axes<1>(e, 0, first, to);
    case 2: return copy_axes<2>(e, 0, first, to);
    case 4: return copy_axes<4>(e, 0, first, to);
    case 8: return copy_axes<8>(e, 0, first, to);
    default: return copy_axes<16>(e, 0, first, to);
  }
}

Array array_of_strided(const StridedElements& e, const Shape* shape, std::optional<DType> as, SourceLoc loc) {
  const std::int64_t n = e.shape.num_elements();
  std::vector<std::byte> elements(static_cast<std::size_t>(n) * static_cast<std::size_t>(e.dtype.itemsize()));
  copy_strided(e, elements.data(), loc);
  return array_of_elements(elements.data(), e.dtype, n, shape ? *shape : e.shape, as, loc);
}

}  // namespace detail
}  // namespace weft
