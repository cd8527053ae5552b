// Quotients and remainders of integers by numbers that are known when code is made.
#include <doctest/doctest.h>

#include <limits>

#include "tests/backends/agree.h"

using namespace weft;
using namespace weft::test;

namespace {

template <class T>
void check_divisors(DType dtype) {
  using Wide = std::int64_t;
  constexpr Wide lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
  std::vector<Wide> divisors{1,           2, 3, 5, 6, 7, 9, 10, 11, 12, 25, 28, 64, 100, 125, 127, highest, highest - 1, highest / 2 + 1,
                             highest / 2, 0};
  if (sizeof(T) > 1) divisors.insert(divisors.end(), {1000, 10007, 625, 641, 32767});
  if (lowest < 0) divisors.insert(divisors.end(), {-1, -2, -3, -7, -10, -64, -100, lowest, lowest + 1});
  std::vector<T> dividends;
  for (const Wide d : divisors)
    for (const Wide times : {Wide{0}, Wide{1}, Wide{2}, Wide{3}, d == 0 ? 0 : highest / d, d == 0 ? 0 : lowest / d})
      for (const Wide off : {-1, 0, 1})
        dividends.push_back(
            static_cast<T>(static_cast<std::uint64_t>(d) * static_cast<std::uint64_t>(times) + static_cast<std::uint64_t>(off)));
  std::uint64_t state = 3;
  for (int i = 0; i < 300; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    dividends.push_back(static_cast<T>(state >> 30));
  }
  const Array x = array(dividends);
  REQUIRE(x.dtype() == dtype);
  for (const Wide d : divisors) {
    CAPTURE(dtype.name());
    CAPTURE(d);
    const Array by = array(std::vector<T>{static_cast<T>(d)});
    same(
        [&](Xs a) {
          const Array divisor = convert(full({}, static_cast<double>(d), float64), dtype);
          return Arrays{div(a[0], divisor), rem(a[0], divisor), remainder(a[0], divisor), floor_divide(a[0], divisor)};
        },
        {x}, 0);
    same([&](Xs a) { return Arrays{div(a[0], a[1]), rem(a[0], a[1])}; }, {x, by}, 0);
  }
}

}  // namespace

TEST_CASE("division: integers by known numbers") {
  check_divisors<std::int8_t>(int8);
  check_divisors<std::uint8_t>(uint8);
  check_divisors<std::int16_t>(int16);
  check_divisors<std::uint16_t>(uint16);
  check_divisors<std::int32_t>(int32);
  check_divisors<std::uint32_t>(uint32);
}
