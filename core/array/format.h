// Shapes, dtypes and arrays as text.
#pragma once
#include <concepts>
#include <iosfwd>
#include <string>
#include <string_view>

#include "weft/core/array/array.h"
#include "weft/core/base/fmt_formatter.h"
#include "weft/core/ir/jaxpr.h"

namespace weft {
/// As NumPy writes a shape: `(2, 3)`.
std::ostream& operator<<(std::ostream& os, const Shape& shape);
/// NumPy's name: `float32`.
std::ostream& operator<<(std::ostream& os, DType dtype);
/// As a Jaxpr writes a type: `f32[2,3]`.
std::ostream& operator<<(std::ostream& os, const ShapeDtypeStruct& type);
}  // namespace weft

namespace weft::detail {
std::string to_string(const Shape& shape);
/// The array as NumPy prints it, each element by a format where one is given.
std::string formatted(const Array& x, std::string_view format);
}  // namespace weft::detail

/// `fmt::format("{}", x)`: as NumPy prints the array. With a format (`{:.3f}`) each element is printed by it; a format that it
/// can't be printed by throws fmt's format_error.
template <std::derived_from<weft::Array> T>
struct fmt::formatter<T, char, void> {
  constexpr auto parse(auto& ctx) {
    auto end = ctx.begin();
    while (end != ctx.end() && *end != '}') ++end;
    spec_ = std::string_view(ctx.begin(), static_cast<std::size_t>(end - ctx.begin()));
    return end;
  }
  auto format(const weft::Array& x, auto& ctx) const { return weft::detail::write_text(weft::detail::formatted(x, spec_), ctx.out()); }

 private:
  std::string_view spec_;
};
/// `fmt::format("{}", j)`: the program in JAX's notation.
template <>
struct fmt::formatter<weft::Jaxpr, char, void> {
  constexpr auto parse(auto& ctx) { return ctx.begin(); }
  auto format(const weft::Jaxpr& j, auto& ctx) const { return weft::detail::write_text(j.to_string(), ctx.out()); }
};
/// `fmt::format("{}", x.shape())`: `(2, 3)`. A width, fill and alignment may be given, as for a string.
template <>
struct fmt::formatter<weft::Shape, char, void> : weft::detail::TextFormatter {
  auto format(const weft::Shape& shape, auto& ctx) const { return write(weft::detail::to_string(shape), ctx.out()); }
};
/// `fmt::format("{}", x.dtype())`: `float32`.
template <>
struct fmt::formatter<weft::DType, char, void> : weft::detail::TextFormatter {
  auto format(weft::DType dtype, auto& ctx) const { return write(dtype.name(), ctx.out()); }
};
/// `fmt::format("{}", ShapeDtypeStruct{{2, 3}, float32})`: `f32[2,3]`.
template <>
struct fmt::formatter<weft::ShapeDtypeStruct, char, void> : weft::detail::TextFormatter {
  auto format(const weft::ShapeDtypeStruct& type, auto& ctx) const { return write(weft::detail::to_string(type), ctx.out()); }
};
