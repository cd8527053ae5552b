// Integer arithmetic that wraps around in every type, without undefined behaviour: the reference values of primitives.
#pragma once
#include <cstdint>
#include <type_traits>

namespace weft::detail {

template <class T>
constexpr bool is_integer_type = std::is_integral_v<T> && !std::is_same_v<T, bool>;

template <class T>
constexpr T wrapping_add(T a, T b) {
  if constexpr (is_integer_type<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else
    return a + b;
}
template <class T>
constexpr T wrapping_sub(T a, T b) {
  if constexpr (is_integer_type<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  else
    return a - b;
}
template <class T>
constexpr T wrapping_mul(T a, T b) {
  if constexpr (is_integer_type<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else
    return a * b;
}
template <class T>
constexpr T wrapping_neg(T a) {
  if constexpr (is_integer_type<T>)
    return static_cast<T>(0 - static_cast<std::uint64_t>(a));
  else
    return -a;
}

}  // namespace weft::detail
