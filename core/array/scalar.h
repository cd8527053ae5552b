// C++ numbers beside arrays, and the objects none and ellipsis.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "weft/core/array/dtype.h"
#include "weft/core/array/integer.h"

namespace weft {

/// Python's None: no axis, all axes, a new axis in an index, no xs of a scan, no value. Where a parameter takes it, it takes std::nullopt
/// and nullptr too.
struct None {
  explicit constexpr None() = default;  // explicit: `{}` never means none by accident
  friend constexpr bool operator==(None, None) { return true; }
  /// Any optional parameter without a value: `eye(3, none, 1)`.
  template <class T>
  constexpr operator std::optional<T>() const {
    return std::nullopt;
  }
};
inline constexpr None none{}, newaxis{};
struct Ellipsis {
  explicit constexpr Ellipsis() = default;
};
inline constexpr Ellipsis ellipsis{};
struct HasAux {
  explicit constexpr HasAux() = default;
};
inline constexpr HasAux has_aux{};

template <class T>
concept ComplexLike = requires(const T& z) {
  typename T::value_type;
  requires std::is_same_v<std::remove_cvref_t<decltype(z.real())>, typename T::value_type>;
  requires std::is_same_v<std::remove_cvref_t<decltype(z.imag())>, typename T::value_type>;
} && std::is_floating_point_v<typename T::value_type>;
/// A C++ number that is a weakly typed array scalar. Characters are not numbers.
template <class T>
concept ScalarType = (std::is_arithmetic_v<T> && !std::is_same_v<T, char> && !std::is_same_v<T, wchar_t>) || ComplexLike<T>;

namespace detail {
/// `none`, or `std::nullopt` or `nullptr` for it.
template <class T>
concept NoneValue = std::same_as<T, None> || std::same_as<T, std::nullopt_t> || std::same_as<T, std::nullptr_t>;

/// The dtype whose elements are stored as T.
template <ScalarType T>
constexpr DType storage_dtype() {
  if constexpr (std::is_same_v<T, bool>)
    return bool_;
  else if constexpr (ComplexLike<T>)
    return sizeof(T) == 8 ? complex64 : complex128;
  else if constexpr (std::is_floating_point_v<T>)
    return sizeof(T) == 4 ? float32 : float64;
  else
    return DType((std::is_signed_v<T> ? 1 : 5) + (sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3));
}

/// A float as a double. Subnormal numbers are converted by integer arithmetic, since a processor that flushes denormals reads them as 0.
constexpr double widened(float v) {
  const auto bits = __builtin_bit_cast(std::uint32_t, v);
  if ((bits & 0x7f800000u) != 0) return static_cast<double>(v);
  return static_cast<double>(static_cast<std::int32_t>(bits & 0x007fffffu)) * (bits >> 31 ? -0x1p-149 : 0x1p-149);
}
template <class T>
constexpr double widened(T v) {
  return static_cast<double>(v);
}

/// Any C++ number, held without loss; the parameter type of numbers in functions that are not templates.
struct Number {
  enum class Kind { boolean, integer, unsigned_integer, floating, complex } kind = Kind::integer;
  long long integer = 0;  ///< the value of a boolean or an integer; the bits of an unsigned one
  double real = 0, imag = 0;
  Number() = default;
  template <ScalarType T>
  constexpr Number(T v) {
    if constexpr (ComplexLike<T>) {
      kind = Kind::complex, real = widened(v.real()), imag = widened(v.imag());
    } else if constexpr (std::is_floating_point_v<T>) {
      kind = Kind::floating, real = widened(v);
    } else {
      kind = std::is_same_v<T, bool> ? Kind::boolean : std::is_signed_v<T> ? Kind::integer : Kind::unsigned_integer;
      integer = static_cast<long long>(v), real = static_cast<double>(v);
    }
  }
  constexpr Number(Int n) : Number(std::int64_t{n}) {}
  /// The weak dtype of a C++ number in an expression: bool, int32, float32, complex64. An integer that int32 cannot hold is an int64.
  constexpr DType default_dtype() const {
    switch (kind) {
      case Kind::boolean: return bool_;
      case Kind::integer: return integer == static_cast<int>(integer) ? int32 : int64;
      case Kind::unsigned_integer: return static_cast<unsigned long long>(integer) <= 0x7fffffffULL ? int32 : integer < 0 ? uint64 : int64;
      case Kind::floating: return float32;
      case Kind::complex: return complex64;
    }
    return float32;
  }
};

}  // namespace detail
}  // namespace weft
