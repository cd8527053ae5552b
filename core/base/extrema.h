// The larger and the smaller of two host elements, wherever one is chosen: reference values, reductions, scatters, collectives.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

namespace weft::detail {

/// The larger of two real numbers; NaN if one is. +0 is larger than -0, so that the order of the operands never shows.
template <bool kLarger, class T>
constexpr T extremum_of(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    const Bits x = std::bit_cast<Bits>(a), y = std::bit_cast<Bits>(b);
    if (a == b) return std::bit_cast<T>(kLarger ? x & y : x | y);
    return a != a || (kLarger ? a > b : a < b) ? a : b;
  } else {
    return (kLarger ? a > b : a < b) ? a : b;
  }
}
template <class T>
constexpr T larger(T a, T b) {
  return extremum_of<true>(a, b);
}
template <class T>
constexpr T smaller(T a, T b) {
  return extremum_of<false>(a, b);
}

}  // namespace weft::detail
