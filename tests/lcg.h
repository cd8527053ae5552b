// Numbers without a pattern, the same on each machine: Knuth's linear congruential generator (The Art of Computer Programming 2, 3.3.4).
#pragma once
#include <complex>
#include <cstdint>
#include <type_traits>

namespace weft::test {

struct Lcg {
  std::uint64_t state;
  std::uint64_t next() { return state = state * 6364136223846793005u + 1442695040888963407u; }
  /// In [-1, 1).
  double real() { return static_cast<double>(next() >> 11) / static_cast<double>(1ull << 52) - 1; }
  /// The same as a T; of a complex one, both parts.
  template <class T>
  T entry(double scale = 1) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(scale * real());
    } else {
      using Part = typename T::value_type;
      const auto re = static_cast<Part>(scale * real());
      return T(re, static_cast<Part>(scale * real()));
    }
  }
};

}  // namespace weft::test
