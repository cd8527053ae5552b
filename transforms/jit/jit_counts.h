// Internal: the counters behind jit_counters().
#pragma once
#include <atomic>
#include <cstdint>

namespace weft::detail {

struct JitCounts {
  std::atomic<std::uint64_t> traces = 0, compiles = 0, hits = 0;
};
inline JitCounts& jit_counts() {
  static JitCounts counts;
  return counts;
}

}  // namespace weft::detail
