// When baseline code has cost so much that optimised code is made.
#pragma once
#include <atomic>
#include <cstdint>

namespace weft::detail {

/// Cycles that baseline code may still take in excess of optimised code before that is made. Thread-safe.
class TierBudget {
 public:
  explicit TierBudget(std::int64_t cycles = 0) : left_(cycles) {}
  void renew(std::int64_t cycles) { left_.store(cycles, std::memory_order_relaxed); }
  /// Takes off the excess of one run. Whether that is what exhausts the budget: true for one of several threads that run it at a time.
  bool exhausted_by(std::int64_t excess) {
    if (excess <= 0 || left_.load(std::memory_order_relaxed) <= 0) return false;
    const std::int64_t left = left_.fetch_sub(excess, std::memory_order_relaxed);
    return left > 0 && left <= excess;
  }

 private:
  std::atomic<std::int64_t> left_;
};

}  // namespace weft::detail
