#pragma once
#include <fmt/core.h>

#include <string_view>

#include "weft/core/array/array.h"
#include "weft/core/ir/jaxpr.h"

/// `fmt::format("{}", x)`: as NumPy prints the array. With a format (`{:.3f}`) each element is printed by it; a format that it
/// can't be printed by throws fmt's format_error.
template <>
struct fmt::formatter<weft::Array> {
  constexpr auto parse(fmt::format_parse_context& ctx) {
    auto end = ctx.begin();
    while (end != ctx.end() && *end != '}') ++end;
    spec_ = std::string_view(ctx.begin(), static_cast<std::size_t>(end - ctx.begin()));
    return end;
  }
  fmt::format_context::iterator format(const weft::Array& x, fmt::format_context& ctx) const;

 private:
  std::string_view spec_;
};
/// `fmt::format("{}", j)`: the program in JAX's notation.
template <>
struct fmt::formatter<weft::Jaxpr> {
  constexpr auto parse(fmt::format_parse_context& ctx) { return ctx.begin(); }
  fmt::format_context::iterator format(const weft::Jaxpr& j, fmt::format_context& ctx) const;
};
