#include "weft/core/ops/reduce/windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/trace/trace.h"

namespace weft::detail {

std::pair<int, int> padding_back(const WindowDim& d) {
  const std::int64_t window = dilated(d.window, d.window_dilation), before = window - d.low - 1;
  const std::int64_t after = dilated(d.size, d.base_dilation) + window - 1 - dilated(d.positions(), d.stride) - before;
  return {static_cast<int>(before), static_cast<int>(after)};
}

std::pair<int, int> named_padding(const std::string& name, std::int64_t size, std::int64_t window, std::int64_t stride,
                                  const char* operation, SourceLoc loc) {
  if (name == "VALID") return {0, 0};
  if (name != "SAME" && name != "SAME_LOWER")
    throw Error(fmt::format("{}: there is no padding `{}`; it is VALID, SAME, SAME_LOWER, or a pair of numbers for each dimension",
                            operation, name),
                effective_loc(loc));
  const std::int64_t windows = (size + stride - 1) / stride, total = std::max<std::int64_t>(0, (windows - 1) * stride + window - size);
  const int less = static_cast<int>(total / 2), more = static_cast<int>(total - total / 2);
  return name == "SAME" ? std::pair{less, more} : std::pair{more, less};
}

}  // namespace weft::detail
