// Windows that slide over arrays: what convolutions and window reductions share.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Positions added before and after each dimension; negative: cut off.
using PadPairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// No window, stride or padding reaches beyond this many elements, so that sums of some of them are right.
inline constexpr std::int64_t kMostCounted = std::int64_t{1} << 61;
/// A size with `dilation` - 1 holes between neighbours; of more than kMostCounted, that. One below zero, which is refused where sizes are
/// checked, stays what it is.
inline std::int64_t dilated(std::int64_t n, std::int64_t dilation) {
  std::int64_t out;
  if (n <= 0) return n;
  return __builtin_mul_overflow(n - 1, dilation, &out) || out >= kMostCounted ? kMostCounted : out + 1;
}

/// One dimension of a window operation: `size` elements, dilated by `base_dilation` and padded, under windows of `window` elements, dilated
/// by `window_dilation`, that are `stride` apart.
struct WindowDim {
  std::int64_t size = 1, window = 1, stride = 1, base_dilation = 1, window_dilation = 1;
  std::int64_t low = 0, high = 0;
  std::int64_t positions() const {
    const std::int64_t room = dilated(size, base_dilation) + low + high - dilated(window, window_dilation);
    return room < 0 ? 0 : room / stride + 1;
  }
  /// Whether each window is all that comes before an element and the element: a running reduction.
  bool is_prefix() const { return covers() && low == window - 1 && high == 0; }
  /// Whether each is all from the element on.
  bool is_suffix() const { return covers() && high == window - 1 && low == 0; }
  /// Whether the numbers leave room to count with them: no extent is beyond 2^61.
  bool is_countable() const;
  /// The element under position k of window `at`, or -1 where there is padding or a hole.
  std::int64_t element(std::int64_t at, std::int64_t k) const {
    const std::int64_t p = at * stride + k * window_dilation - low;
    if (p < 0 || p % base_dilation != 0) return -1;
    return p / base_dilation < size ? p / base_dilation : -1;
  }

 private:
  bool covers() const { return stride == 1 && base_dilation == 1 && window_dilation == 1 && window >= size; }
};

/// The padding of the operation that carries a result's cotangent back to the operand (jax's _conv_general_vjp_lhs_padding).
std::pair<std::int64_t, std::int64_t> padding_back(const WindowDim& d);

/// Padding by name, for one dimension: "VALID" none; "SAME" so that there are ceil(size / stride) windows, the odd one behind, or before
/// with "SAME_LOWER". `window` is dilated. Throws Error for another name.
std::pair<std::int64_t, std::int64_t> named_padding(const std::string& name, std::int64_t size, std::int64_t window, std::int64_t stride,
                                                    const char* operation, SourceLoc loc);

}  // namespace weft::detail
