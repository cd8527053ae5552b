// Arithmetic of the reference values of primitives: of integers it wraps around in every type, without undefined behaviour.
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
/// Of complex numbers by its formula: C++'s own product of infinities is another one than a kernel's and JAX's.
template <class T>
constexpr T wrapping_mul(T a, T b) {
  if constexpr (is_integer_type<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  else if constexpr (requires { typename T::value_type; })
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
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
