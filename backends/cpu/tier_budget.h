// Decides when baseline code has cost so much that optimised code is generated.
#pragma once
#include <atomic>
#include <cstdint>

namespace weft::detail {

/// Cycles that baseline code may still take in excess of optimised code before that is made. Thread-safe.
class TierBudget {
 public:
  explicit TierBudget(std::int64_t cycles = 0) : left_(cycles) {}
  void renew(std::int64_t cycles) { left_.store(cycles, std::memory_order_relaxed); }
  /// Subtracts the excess of one run. Returns whether this exhausts the budget: true for only one of several concurrent threads.
  bool exhausted_by(std::int64_t excess) {
    if (excess <= 0 || left_.load(std::memory_order_relaxed) <= 0) return false;
    const std::int64_t left = left_.fetch_sub(excess, std::memory_order_relaxed);
    return left > 0 && left <= excess;
  }

 private:
  std::atomic<std::int64_t> left_;
};

}  // namespace weft::detail
