// Integers as parameters: which types may be a count, and options whose fields must be named.
#pragma once
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "weft/core/errors/source_loc.h"

namespace weft {

namespace detail {
/// Types that may be a count: integers and unscoped enumerations. bool, character types and floating-point types may not.
template <class T>
concept WholeNumber = ((std::integral<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char> && !std::is_same_v<T, wchar_t> &&
                        !std::is_same_v<T, char8_t> && !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>) ||
                       (std::is_enum_v<T> && std::is_convertible_v<T, long long>)) &&
                      sizeof(T) <= sizeof(std::int64_t);
[[noreturn]] void throw_too_large(std::uint64_t value, SourceLoc loc);
[[noreturn]] void throw_out_of_range(std::int64_t value, std::size_t bits, bool is_signed);
/// The first field of options whose fields must be named: in `vmap(f, {0, 1})` the numbers are meant as the axes of two arguments, and must
/// not be taken for in_axes and out_axes.
struct NamedFields {
  explicit NamedFields() = default;
};
}  // namespace detail

class Int;
namespace detail {
/// Two operands of which one is an Int and the other one an Int or a number.
template <class A, class B>
concept WithInt = (std::is_same_v<A, Int> && (std::is_same_v<B, Int> || WholeNumber<B> || std::is_floating_point_v<B>)) ||
                  (std::is_same_v<B, Int> && (WholeNumber<A> || std::is_floating_point_v<A>));
/// An operand of an operator whose other one is an Other: a floating number stays what it is, an integer beside one becomes one too, and
/// other integers have 64 bits.
template <class Other, class T>
constexpr auto beside(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else if constexpr (std::is_floating_point_v<Other>)
    return static_cast<Other>(static_cast<std::int64_t>(x));
  else
    return static_cast<std::int64_t>(x);
}
}  // namespace detail

/// A size, a count, a step or a position: any integer, kept in 64 bits. Other types do not convert to it; an unsigned number above
/// 2^63 - 1 throws ShapeError. It converts to any integer type, and throws ShapeError where that can't hold the value; in arithmetic it is
/// a std::int64_t.
class Int {
 public:
  template <detail::WholeNumber T>
  constexpr Int(T value, SourceLoc loc = SourceLoc::here()) : value_(static_cast<std::int64_t>(value)) {
    if constexpr (!std::is_enum_v<T>)
      if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(std::int64_t))
        if (value > static_cast<T>(INT64_MAX)) detail::throw_too_large(value, loc);
  }
  constexpr operator std::int64_t() const { return value_; }
  template <detail::WholeNumber T>
    requires(!std::is_same_v<T, std::int64_t> && !std::is_enum_v<T>)
  constexpr operator T() const {
    if (!std::in_range<T>(value_)) detail::throw_out_of_range(value_, sizeof(T) * 8, std::is_signed_v<T>);
    return static_cast<T>(value_);
  }

  constexpr Int& operator++() { return ++value_, *this; }
  constexpr Int& operator--() { return --value_, *this; }
  // The conversions to several types would make the built-in operators ambiguous.
  constexpr std::int64_t operator-() const { return -value_; }
  constexpr std::int64_t operator+() const { return value_; }
#define WEFT_INT_OPERATOR(Result, op)                    \
  template <class A, class B>                            \
    requires detail::WithInt<A, B>                       \
  friend constexpr Result operator op(A a, B b) {        \
    return detail::beside<B>(a) op detail::beside<A>(b); \
  }
  WEFT_INT_OPERATOR(auto, +)
  WEFT_INT_OPERATOR(auto, -)
  WEFT_INT_OPERATOR(auto, *)
  WEFT_INT_OPERATOR(auto, /)
  WEFT_INT_OPERATOR(auto, %)
  WEFT_INT_OPERATOR(bool, ==)
  WEFT_INT_OPERATOR(auto, <=>)
#undef WEFT_INT_OPERATOR

 private:
  std::int64_t value_;
};

}  // namespace weft
