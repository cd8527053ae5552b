// Groups of operands, one after the other, whose sizes are among an equation's parameters, which may come from a text.
#pragma once
#include <fmt/format.h>

#include <initializer_list>

#include "weft/core/ops/common.h"

namespace weft::detail {

/// Fails unless groups of these sizes can be in front of `total` operands (or results, as `what` says): none is negative, and together
/// they are no more.
inline void check_parts(const OpContext& c, std::initializer_list<int> sizes, std::size_t total, const char* what = "operands") {
  std::int64_t sum = 0;
  for (const int n : sizes) {
    if (n < 0) c.fail<Error>(fmt::format("{} {} are not possible", n, what));
    sum += n;
  }
  if (sum > static_cast<std::int64_t>(total)) c.fail<Error>(fmt::format("its parameters name {} {}, but there are {}", sum, what, total));
}

}  // namespace weft::detail
