#pragma once
#include <concepts>
#include <cstdint>
#include <type_traits>

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
/// The first field of options whose fields must be named: in `vmap(f, {0, 1})` the numbers are meant as the axes of two arguments, and must
/// not be taken for in_axes and out_axes.
struct NamedFields {
  explicit NamedFields() = default;
};
}  // namespace detail

/// A size, a count, a step or a position: any integer, kept in 64 bits. Other types do not convert to it; an unsigned number above
/// 2^63 - 1 throws ShapeError.
class Int {
 public:
  template <detail::WholeNumber T>
  constexpr Int(T value, SourceLoc loc = SourceLoc::here()) : value_(static_cast<std::int64_t>(value)) {
    if constexpr (!std::is_enum_v<T>)
      if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(std::int64_t))
        if (value > static_cast<T>(INT64_MAX)) detail::throw_too_large(value, loc);
  }
  constexpr operator std::int64_t() const { return value_; }

 private:
  std::int64_t value_;
};

}  // namespace weft
