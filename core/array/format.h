#pragma once
#include <string>
#include <string_view>

#include "weft/core/array/array.h"
#include "weft/core/base/fmt_formatter.h"
#include "weft/core/ir/jaxpr.h"

namespace weft::detail {
/// The array as NumPy prints it, each element by a format where one is given.
std::string formatted(const Array& x, std::string_view format);
}  // namespace weft::detail

/// `fmt::format("{}", x)`: as NumPy prints the array. With a format (`{:.3f}`) each element is printed by it; a format that it
/// can't be printed by throws fmt's format_error.
template <>
struct fmt::formatter<weft::Array, char, void> {
  template <class Context>
  constexpr auto parse(Context& ctx) {
    auto end = ctx.begin();
    while (end != ctx.end() && *end != '}') ++end;
    spec_ = std::string_view(ctx.begin(), static_cast<std::size_t>(end - ctx.begin()));
    return end;
  }
  template <class Context>
  auto format(const weft::Array& x, Context& ctx) const {
    return weft::detail::write_text(weft::detail::formatted(x, spec_), ctx.out());
  }

 private:
  std::string_view spec_;
};
/// `fmt::format("{}", j)`: the program in JAX's notation.
template <>
struct fmt::formatter<weft::Jaxpr, char, void> {
  template <class Context>
  constexpr auto parse(Context& ctx) {
    return ctx.begin();
  }
  template <class Context>
  auto format(const weft::Jaxpr& j, Context& ctx) const {
    return weft::detail::write_text(j.to_string(), ctx.out());
  }
};
