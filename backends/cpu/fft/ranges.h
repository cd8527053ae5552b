// Loops over the lines of a Fourier transform, by several threads.
#pragma once
#include <algorithm>

#include "weft/runtime/host/thread_pool.h"

namespace weft::detail {

/// Calls f(first, last) for ranges of [0, n), by several threads where that is worth while; each number costs `cycles`.
template <class F>
void in_ranges_of(std::int64_t n, double cycles, F&& f) {
  constexpr double kWorthATask = 40'000;
  const auto step = static_cast<std::int64_t>(std::max(1., kWorthATask / cycles));
  const std::int64_t tasks = (n + step - 1) / step;
  if (tasks <= 1) return f(std::int64_t{0}, n);
  parallel_for(tasks, [&](std::int64_t i) { f(i * step, std::min(n, (i + 1) * step)); });
}

}  // namespace weft::detail
