// Quotients and remainders of integers by numbers that are known when code is made.
#include <doctest/doctest.h>

#include <limits>

#include "tests/backends/agree.h"
#include "tests/lcg.h"

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
    for (const Wide times : {Wide{0}, Wide{1}, Wide{2}, Wide{3}, d == 0 ? 0 : highest / d, d == 0 ? 0 : d == -1 ? lowest : lowest / d})
      for (const Wide off : {-1, 0, 1})
        dividends.push_back(
            static_cast<T>(static_cast<std::uint64_t>(d) * static_cast<std::uint64_t>(times) + static_cast<std::uint64_t>(off)));
  Lcg random{3};
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t state = random.next();
    dividends.push_back(static_cast<T>(sizeof(T) == 8 && i % 2 ? state : state >> 30));
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
  check_divisors<std::int64_t>(int64);
}

TEST_CASE("division: 64-bit integers by known numbers of up to 64 bits") {
  std::vector<std::int64_t> x{0, 1, -1, 2, -2, 9223372036854775807, -9223372036854775807 - 1, 4294967295, 4294967296, -4294967296};
  Lcg random{11};
  for (int i = 0; i < 500; ++i) {
    const std::uint64_t state = random.next();
    x.push_back(static_cast<std::int64_t>(state >> i % 40));
  }
  const Array a = array(x);
  for (const std::int64_t d : {std::int64_t{3}, std::int64_t{7}, std::int64_t{10}, std::int64_t{1000003}, std::int64_t{998244353},
                               std::int64_t{1000000007}, std::int64_t{4294967295}, std::int64_t{4294967296}, std::int64_t{4294967297},
                               std::int64_t{600851475143}, std::int64_t{4611686018427387905}, std::int64_t{9223372036854775807},
                               std::int64_t{-6}, std::int64_t{-4294967297}, std::int64_t{-9223372036854775807}}) {
    CAPTURE(d);
    same([&](Xs v) { return Arrays{div(v[0], d), rem(v[0], d), remainder(v[0], d), floor_divide(v[0], d)}; }, {a}, 0);
    same(
        [&](Xs v) {
          const Array u = bitcast_convert(v[0], uint64), by = bitcast_convert(full({}, d, int64), uint64);
          return Arrays{div(u, by), rem(u, by)};
        },
        {a}, 0);
  }
}

TEST_CASE("division: 64-bit integers by others of all sizes") {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min(), highest = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> some{0, 1, -1, 2, -2, lowest, lowest + 1, highest, highest - 1};
  for (int bit = 2; bit < 63; bit += 3)
    for (const std::int64_t off : {-1, 0, 1})
      some.push_back((std::int64_t{1} << bit) + off), some.push_back(-(std::int64_t{1} << bit) + off);
  std::vector<std::int64_t> x, y;
  for (const std::int64_t a : some)
    for (const std::int64_t b : some) x.push_back(a), y.push_back(b);
  Lcg random{5};
  for (int i = 0; i < 4000; ++i) {
    const std::uint64_t state = random.next();
    const std::uint64_t divisor = state >> i % 62, times = (state * 2654435761u) >> (i % 62 ? 65 - i % 62 : 63);
    // Multiples and their neighbours.
    x.push_back(static_cast<std::int64_t>(divisor * times + static_cast<std::uint64_t>(i % 3) - 1));
    y.push_back(static_cast<std::int64_t>(divisor));
  }
  const Array a = array(x), b = array(y);
  same([&](Xs v) { return Arrays{div(v[0], v[1]), rem(v[0], v[1]), remainder(v[0], v[1]), floor_divide(v[0], v[1])}; }, {a, b}, 0);
  same(
      [&](Xs v) {
        const Array p = bitcast_convert(v[0], uint64), q = bitcast_convert(v[1], uint64);
        return Arrays{div(p, q), rem(p, q)};
      },
      {a, b}, 0);
}

TEST_CASE("division: all bytes by all bytes") {
  for (const DType t : {uint8, int8}) {
    // Each number once in the halves of a register's 16-bit integers, with different neighbours.
    const Array x = convert(concatenate({arange(256), flip(arange(256)), arange(64)}), t);
    for (int first = 0; first < 256; first += 16) {
      CAPTURE(t.name());
      CAPTURE(first);
      same(
          [&](Xs a) {
            Arrays out;
            for (int by = first; by < first + 16; ++by) {
              const Array divisor = convert(full({}, by, int32), t);
              out.push_back(div(a[0], divisor) + rem(a[0], divisor) * 3);
            }
            return out;
          },
          {x}, 0);
    }
  }
}

TEST_CASE("division: quotients and remainders that are rounded down are not corrected afterwards") {
  for (const DType t : {int8, int16, int32, int64}) {
    const Array x = convert(round(values({300}, 1) * 60.f), t);
    for (const int by : {1, 2, 16, 64, 7, 40}) {
      CAPTURE(t.name());
      CAPTURE(by);
      const std::string quotient = same([&](Xs a) { return floor_divide(a[0], by); }, {x}, 0);
      if (t != int64 || (by & (by - 1)) == 0) CHECK_FALSE(has(quotient, " select "));
      const std::string rest = same([&](Xs a) { return remainder(a[0], by); }, {x}, 0);
      if ((by & (by - 1)) == 0) CHECK_FALSE(has(rest, " rem "));
      if ((by & (by - 1)) == 0) CHECK_FALSE(has(rest, " select "));
    }
  }
}

namespace {

/// Numbers that only the planner knows, computed and converted: positions are added to numbers at the edges of a dtype.
void check_known_numbers(DType t) {
  CAPTURE(t.name());
  const int bits = 8 * static_cast<int>(t.itemsize());
  const std::int64_t lowest = t.is_unsigned() ? 0 : static_cast<std::int64_t>(~std::uint64_t{0} << (bits - 1));
  const std::int64_t highest = t.is_unsigned() ? static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - bits))
                                               : static_cast<std::int64_t>(~static_cast<std::uint64_t>(lowest));
  const std::vector<std::int64_t> edges{0, 1, 3, lowest, lowest + 1, highest, highest - 1, std::int64_t{bits} - 1};
  const auto number = [&](std::int64_t n) { return detail::make_literal(detail::Number(n), t); };
  for (const std::int64_t first : edges) {
    CAPTURE(first);
    same(
        [&](Xs a) {
          Arrays out;
          const Array position = iota(t, {1}, 0), never = position != position, x = position + number(first);
          for (const std::int64_t second : edges) {
            const Array y = position + number(second);
            // A quotient by the zero that `never` becomes is all ones.
            Arrays values{x,
                          x + y,
                          x - y,
                          x * y,
                          div(x, y),
                          rem(x, y),
                          minimum(x, y),
                          maximum(x, y),
                          x & y,
                          x | y,
                          x ^ y,
                          ~y,
                          x << y,
                          shift_right_logical(x, y),
                          x >> y,
                          div(x, convert(never, t)),
                          where(a[0], x, y),
                          where(a[0], x, y) + x};
            const std::size_t kinds = values.size();
            for (std::size_t k = 0; k < kinds; ++k)
              values.push_back(convert(values[k] < y, t)), values.push_back(convert(values[k] == x, t));
            for (const Array& v : values)
              for (const DType to : {float64, float32, int64, uint64, int8, uint8, bool_}) out.push_back(convert(v, to));
          }
          return out;
        },
        {array({true})}, 0);
  }
}

}  // namespace

TEST_CASE("integers that are known when code is made are those that would be computed") {
  for (const DType t : {int8, uint8, int16, uint16, int32, uint32, int64, uint64}) check_known_numbers(t);
}
