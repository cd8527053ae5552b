// Decides when the next part of a program's code is optimised.
#pragma once
#include <atomic>
#include <cstdint>
#include <limits>

namespace weft::detail {

/// Counts a program's runs up to the one at which the next part of its code is due. Thread-safe.
class TierRuns {
 public:
  explicit TierRuns(std::int64_t due = 0) : due_(due) {}
  /// The next part is due at this run, the first one being 1, or at the next one if that is over; 0: none is left.
  void wait_for(std::int64_t due) { due_.store(due, std::memory_order_relaxed); }
  /// Counts a run. Returns whether a part is due now: true for only one of several concurrent threads, until the next wait_for.
  bool is_due() {
    std::int64_t due = due_.load(std::memory_order_relaxed);
    if (due <= 0 || runs_.fetch_add(1, std::memory_order_relaxed) + 1 < due) return false;
    return due_.compare_exchange_strong(due, kUnderWay, std::memory_order_relaxed);
  }
  /// The runs so far.
  std::int64_t count() const { return runs_.load(std::memory_order_relaxed); }

 private:
  static constexpr std::int64_t kUnderWay = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> due_, runs_{0};
};

}  // namespace weft::detail
