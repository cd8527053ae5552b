#include "weft/core/ops/reduce/windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/trace/trace.h"

namespace weft::detail {

bool WindowDim::is_countable() const {
  const auto counted = [](std::int64_t n) { return n > -kMostCounted && n < kMostCounted; };
  return counted(dilated(size, base_dilation)) && counted(dilated(window, window_dilation)) && counted(low) && counted(high);
}

std::pair<std::int64_t, std::int64_t> padding_back(const WindowDim& d) {
  const std::int64_t window = dilated(d.window, d.window_dilation), before = window - d.low - 1;
  const std::int64_t after = dilated(d.size, d.base_dilation) + window - 1 - dilated(d.positions(), d.stride) - before;
  return {before, after};
}

std::pair<std::int64_t, std::int64_t> named_padding(const std::string& name, std::int64_t size, std::int64_t window, std::int64_t stride,
                                                    const char* operation, SourceLoc loc) {
  if (name == "VALID") return {0, 0};
  if (name != "SAME" && name != "SAME_LOWER")
    throw Error(fmt::format("{}: unknown padding `{}`; available: VALID, SAME, SAME_LOWER, or a pair of numbers for each dimension",
                            operation, name),
                effective_loc(loc));
  if (stride < 1 || std::min(window, size) < 0 || std::max(window, size) >= kMostCounted) return {0, 0};  // the operation refuses them
  const std::int64_t windows = size == 0 ? 0 : (size - 1) / stride + 1,
                     total = std::max<std::int64_t>(0, (windows - 1) * stride + window - size);
  const std::int64_t less = total / 2, more = total - less;
  return name == "SAME" ? std::pair{less, more} : std::pair{more, less};
}

}  // namespace weft::detail
