#pragma once
#include <fmt/core.h>

#include "core/array.h"
#include "core/jaxpr.h"

/// `fmt::format("{}", x)`: as NumPy prints the array.
template <>
struct fmt::formatter<weft::Array> {
  constexpr auto parse(fmt::format_parse_context& ctx) { return ctx.begin(); }
  fmt::format_context::iterator format(const weft::Array& x, fmt::format_context& ctx) const;
};
/// `fmt::format("{}", j)`: the program in JAX's notation.
template <>
struct fmt::formatter<weft::Jaxpr> {
  constexpr auto parse(fmt::format_parse_context& ctx) { return ctx.begin(); }
  fmt::format_context::iterator format(const weft::Jaxpr& j, fmt::format_context& ctx) const;
};
