// Arithmetic on sizes that come from outside, from files, from other programs or from the user: nothing instead of a number that doesn't
// fit.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "weft/core/errors/source_loc.h"

namespace weft::detail {

/// The product and the sum of numbers that must not be negative.
inline std::optional<std::int64_t> checked_product(std::int64_t a, std::int64_t b) {
  std::int64_t out;
  return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}
inline std::optional<std::int64_t> checked_sum(std::int64_t a, std::int64_t b) {
  std::int64_t out;
  return a < 0 || b < 0 || __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
}
/// Whether an int holds the number.
constexpr bool fits_int(std::int64_t n) { return n >= std::numeric_limits<int>::min() && n <= std::numeric_limits<int>::max(); }
/// The number as an int. Throws ShapeError, which names the operation and what the number is, where none holds it.
int checked_int(std::int64_t n, const char* operation, const char* what, SourceLoc loc);
/// The bytes of an array. Sizes beside one of 0 must fit as well, as strides are made of them.
inline std::optional<std::int64_t> checked_bytes(std::span<const std::int64_t> sizes, std::int64_t itemsize) {
  std::optional<std::int64_t> bytes = itemsize;
  bool empty = false;
  for (const std::int64_t n : sizes) {
    if (n < 0) return {};
    bytes = checked_product(*bytes, std::max<std::int64_t>(n, 1));
    if (!bytes) return {};
    empty |= n == 0;
  }
  return empty ? 0 : bytes;
}
/// Whether a box that begins at `start` is in an array of this many elements in each dimension. All three have the same number of those.
inline bool box_is_inside(std::span<const std::int64_t> start, std::span<const std::int64_t> box, std::span<const std::int64_t> whole) {
  for (std::size_t i = 0; i < whole.size(); ++i)
    if (start[i] < 0 || box[i] < 0 || start[i] > whole[i] || box[i] > whole[i] - start[i]) return false;
  return true;
}

}  // namespace weft::detail
