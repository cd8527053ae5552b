// The fuzzer's random numbers.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace weft::fuzz {

/// A small generator of choices (splitmix64): the same seed gives the same choices everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
  }
  /// In [0, n); 0 where n is not positive.
  int below(std::int64_t n) { return n < 1 ? 0 : static_cast<int>(bits() % static_cast<std::uint64_t>(n)); }
  /// In [lo, hi].
  int between(int lo, int hi) { return lo + below(hi - lo + 1); }
  bool coin() { return bits() & 1; }
  bool chance(double p) { return uniform() < p; }
  /// In [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
  }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<std::int64_t>(list.size()))];
  }
  /// 0, ..., n - 1 in any order.
  std::vector<int> permutation(int n) {
    std::vector<int> p(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) p[static_cast<std::size_t>(i)] = i;
    for (std::size_t i = p.size(); i > 1; --i) std::swap(p[i - 1], p[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
    return p;
  }

 private:
  std::uint64_t state_;
};

}  // namespace weft::fuzz
