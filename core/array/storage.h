// The C++ type in which each dtype's elements are stored, for host code that works on elements.
#pragma once
#include <complex>
#include <cstdint>

#include "weft/core/array/dtype.h"
#include "weft/core/array/half.h"

namespace weft::detail {

/// Calls `f.template operator()<T>()` with the type in which elements of the dtype are stored.
template <class F>
decltype(auto) with_storage(DType dtype, F&& f) {
  switch (dtype.id()) {
    case 0: return f.template operator()<bool>();
    case 1: return f.template operator()<std::int8_t>();
    case 2: return f.template operator()<std::int16_t>();
    case 3: return f.template operator()<std::int32_t>();
    case 4: return f.template operator()<std::int64_t>();
    case 5: return f.template operator()<std::uint8_t>();
    case 6: return f.template operator()<std::uint16_t>();
    case 7: return f.template operator()<std::uint32_t>();
    case 8: return f.template operator()<std::uint64_t>();
    case 9: return f.template operator()<Float16>();
    case 10: return f.template operator()<BFloat16>();
    case 11: return f.template operator()<float>();
    case 12: return f.template operator()<double>();
    case 13: return f.template operator()<std::complex<float>>();
    case 14: return f.template operator()<std::complex<double>>();
    default:  // keys are moved and compared as they are in memory
      return f.template operator()<std::uint64_t>();
  }
}

template <class T>
inline constexpr bool is_complex_storage = false;
template <class T>
inline constexpr bool is_complex_storage<std::complex<T>> = true;
template <class T>
inline constexpr bool is_floating_storage = std::is_floating_point_v<T> || std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

/// The type in which reference values of elements stored as T are computed: double for all floating types, std::complex<double> for
/// complex, the type itself for integers and bool.
template <class T>
using compute_t = std::conditional_t<is_complex_storage<T>, std::complex<double>, std::conditional_t<is_floating_storage<T>, double, T>>;

template <class T>
constexpr compute_t<T> load_element(T v) {
  if constexpr (is_complex_storage<T>)
    return compute_t<T>(v.real(), v.imag());
  else if constexpr (is_floating_storage<T>)
    return static_cast<double>(v);
  else
    return v;
}
/// Rounded once, from the type of computation to the stored type.
template <class T>
constexpr T store_element(compute_t<T> v) {
  if constexpr (is_complex_storage<T>)
    return T(static_cast<typename T::value_type>(v.real()), static_cast<typename T::value_type>(v.imag()));
  else
    return static_cast<T>(v);
}

}  // namespace weft::detail
