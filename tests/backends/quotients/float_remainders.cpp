// Remainders of floating numbers: the bits of C's fmod for every pair, whether a quotient gives them or the library.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

using namespace weft;

namespace {

template <class T>
void check_remainders(DType dtype) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr int digits = std::numeric_limits<T>::digits;
  constexpr T inf = std::numeric_limits<T>::infinity(), highest = std::numeric_limits<T>::max(),
              least = std::numeric_limits<T>::denorm_min();
  std::mt19937_64 random(dtype.itemsize());
  std::vector<T> a, b;
  const auto add = [&](T x, T y) { a.push_back(x), b.push_back(y); };
  const std::vector<T> special{
      0, -T(0), 1, -1, T(.7), 3, inf, -inf, std::numeric_limits<T>::quiet_NaN(), highest, least, -least, std::numeric_limits<T>::min()};
  for (const T x : special)
    for (const T y : special) add(x, y);
  for (int i = 0; i < 20000; ++i) {
    // Numbers of all sizes, then of sizes that are less than 2^digits apart.
    add(std::bit_cast<T>(static_cast<Bits>(random())), std::bit_cast<T>(static_cast<Bits>(random())));
    const T y = std::ldexp(T(1) + static_cast<T>(random() >> 11) * T(0x1p-53), static_cast<int>(random() % 40) - 20);
    const T x = y * std::ldexp(T(1) + static_cast<T>(random() >> 11) * T(0x1p-53), static_cast<int>(random() % (digits + 3)) - 1);
    add(random() % 2 ? x : -x, random() % 2 ? y : -y);
    // The neighbours of multiples, next to which a rounded quotient is too large.
    const T multiple = y * static_cast<T>(1 + (random() >> (65 - digits + static_cast<int>(random() % 20))));
    for (const T near : {std::nextafter(multiple, T(0)), multiple, std::nextafter(multiple, inf)}) add(near, random() % 2 ? y : -y);
  }
  for (std::size_t size : {a.size(), std::size_t{7}}) {  // vectors, and what is left over
    const Array x = array(std::vector<T>(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(size))),
                y = array(std::vector<T>(b.begin(), b.begin() + static_cast<std::ptrdiff_t>(size)));
    REQUIRE(x.dtype() == dtype);
    const std::vector<T> got = jit([](Array p, Array q) { return rem(p, q); })(x, y).template to_vector<T>();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const T want = std::fmod(a[i], b[i]);
      const bool same = std::isnan(want) ? std::isnan(got[i]) : std::bit_cast<Bits>(want) == std::bit_cast<Bits>(got[i]);
      if (!same && ++wrong < 4) MESSAGE("fmod(", a[i], ", ", b[i], ") is ", want, ", got ", got[i]);
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("division: remainders of floating numbers have the bits of fmod") {
  check_remainders<float>(float32);
  check_remainders<double>(float64);
}
