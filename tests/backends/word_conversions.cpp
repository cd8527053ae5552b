// Conversions between 64-bit integers and floats, and quotients of 32-bit integers, which some processors have for single numbers only.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/backends/agree.h"
#include "tests/lcg.h"

using namespace weft;
using namespace weft::test;

TEST_CASE("hard cases: 64-bit integers as float64, and float32 and float64 as 64-bit integers") {
  std::vector<std::int64_t> words{0, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  std::vector<double> numbers{0., -0., 0.5, -0.5, 0.999, -0.999, HUGE_VAL, -HUGE_VAL, std::nan(""), 1e300, -1e300, 5e-324};
  Lcg random{17};
  for (int bit = 0; bit < 66; ++bit)
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t state = random.next();
      const double near = std::ldexp(1 + static_cast<double>(i % 7 - 3) * 0x1p-52 * static_cast<double>(i < 20 ? 1 : 1 << 20), bit);
      numbers.insert(numbers.end(), {near, -near, near - 0.5, near + 0.5, std::nextafter(near, 0), static_cast<double>(state) * 0x1p-3});
      if (bit > 63) continue;
      // Halfway between two float64 numbers, and next to it; of all bits.
      const std::uint64_t power = std::uint64_t{1} << bit, half = bit > 53 ? power >> 53 : 0;
      for (const std::uint64_t word : {power + static_cast<std::uint64_t>(i - 20), power + half + static_cast<std::uint64_t>(i % 3 - 1),
                                       power + 3 * half, state >> (63 - bit), ~(state >> (63 - bit))})
        words.push_back(static_cast<std::int64_t>(word));
    }
  same([](Xs a) { return Arrays{convert(a[0], float64), convert(bitcast_convert(a[0], uint64), float64)}; }, {array(words)}, 0);
  same(
      [](Xs a) {
        const Array singles = convert(a[0], float32);
        return Arrays{convert(a[0], int64), convert(a[0], uint64), convert(singles, int64), convert(singles, uint64)};
      },
      {array(numbers)}, 0);
}

TEST_CASE("hard cases: quotients of 32-bit integers") {
  std::vector<std::int32_t> some{0, 1, -1, 2, 3, -3, 7, 10, 1 << 30, std::numeric_limits<std::int32_t>::min()};
  for (int bit = 2; bit < 31; bit += 4)
    for (const int off : {-1, 0, 1}) some.push_back((1 << bit) + off), some.push_back(-(1 << bit) + off);
  some.push_back(std::numeric_limits<std::int32_t>::max());
  std::vector<std::int32_t> x, y;
  for (const std::int32_t a : some)
    for (const std::int32_t b : some) x.push_back(a), y.push_back(b);
  same(
      [](Xs a) {
        const Array p = bitcast_convert(a[0], uint32), q = bitcast_convert(a[1], uint32);
        return Arrays{div(a[0], a[1]), rem(a[0], a[1]), div(p, q), rem(p, q)};
      },
      {array(x), array(y)}, 0);
}
