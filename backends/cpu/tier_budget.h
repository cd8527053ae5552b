// How long quick code is put up with.
#pragma once
#include <atomic>
#include <cstdint>

namespace weft::detail {

/// Cycles that may still be wasted before something is done about it. Thread-safe.
class TierBudget {
 public:
  explicit TierBudget(std::int64_t cycles = 0) : left_(cycles) {}
  void renew(std::int64_t cycles) { left_.store(cycles, std::memory_order_relaxed); }
  /// Whether this waste is what ends it: true for one of all who waste, also where several do at a time.
  bool ends_with(std::int64_t waste) {
    if (waste <= 0 || left_.load(std::memory_order_relaxed) <= 0) return false;
    const std::int64_t left = left_.fetch_sub(waste, std::memory_order_relaxed);
    return left > 0 && left <= waste;
  }

 private:
  std::atomic<std::int64_t> left_;
};

}  // namespace weft::detail
