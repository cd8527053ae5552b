// Quotients and square roots by multiply-adds: the bits of a division and of a root.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/backends/agree.h"
#include "tests/backends/quotients/bits.h"
#include "tests/lcg.h"
#include "weft/backends/cpu/jit.h"

using namespace weft;
using namespace weft::test;

namespace {

template <class T>
const std::vector<T>& special_numbers() {
  using Limits = std::numeric_limits<T>;
  static const std::vector<T> all{0,
                                  T(-0.),
                                  1,
                                  -1,
                                  2,
                                  std::nextafter(T(1), T(0)),
                                  std::nextafter(T(1), T(2)),
                                  std::nextafter(T(2), T(0)),
                                  Limits::infinity(),
                                  -Limits::infinity(),
                                  Limits::quiet_NaN(),
                                  Limits::max(),
                                  Limits::lowest(),
                                  Limits::min(),
                                  Limits::denorm_min(),
                                  -Limits::denorm_min(),
                                  Limits::min() / 2};
  return all;
}

/// Mantissas of few ones or few zeros, whose quotients come near the middle between two numbers, and others.
template <class T>
T mantissa(Lcg& random) {
  const std::uint64_t digits = random.next() >> 11, kind = random.next() >> 61, at = random.next() >> 32;
  constexpr int p = std::numeric_limits<T>::digits;
  const std::uint64_t one = std::uint64_t{1} << (p - 1), all = 2 * one - 1;
  const std::uint64_t some = digits & (one - 1), bit = std::uint64_t{1} << at % (p - 1);
  const std::uint64_t m = kind == 0   ? one + bit
                          : kind == 1 ? all - bit
                          : kind == 2 ? one + (some & (bit - 1))
                          : kind == 3 ? all - (some & (bit - 1))
                                      : one + some;
  return std::ldexp(static_cast<T>(m), 1 - p);
}
/// A number within the exponents that products are used for, or of any exponent.
template <class T>
T number(Lcg& random, bool any) {
  using Limits = std::numeric_limits<T>;
  const int most = any ? Limits::max_exponent - 1 : Limits::max_exponent / 4 - 1, least = any ? Limits::min_exponent - 10 : -most;
  const int exponent = least + static_cast<int>((random.next() >> 33) % static_cast<std::uint64_t>(most - least));
  const T x = std::ldexp(mantissa<T>(random), exponent);
  return random.next() >> 63 ? -x : x;
}

/// Numbers whose roots come nearest to the middle between two numbers, M / 2 for an odd M: M^2 is c modulo 2^(p + 1) or 2^(p + 2) for a
/// small c, which is found one bit after the other.
template <class T>
std::vector<T> near_middles() {
  constexpr int p = std::numeric_limits<T>::digits;
  std::vector<T> all;
  for (const int bits : {p + 1, p + 2})
    for (int c = -1599; c < 1600; c += 8)  // odd squares are 1 modulo 8
      for (const std::uint64_t start : {1, 3}) {
        std::uint64_t m = start;
        for (int k = 3; k < bits; ++k)
          if ((m * m - static_cast<std::uint64_t>(static_cast<std::int64_t>(c))) >> k & 1) m += std::uint64_t{1} << (k - 1);
        const std::uint64_t modulus = std::uint64_t{1} << (bits - 1);
        m &= modulus - 1;
        for (const std::uint64_t root : {m, modulus - m, m + modulus, 2 * modulus - m}) {
          if (root >> p != 1) continue;  // p + 1 digits
          const unsigned __int128 square = static_cast<unsigned __int128>(root) * root;
          const auto nearest = static_cast<std::uint64_t>((square + (static_cast<unsigned __int128>(1) << (bits - 1))) >> bits);
          for (const std::uint64_t x : {nearest - 1, nearest, nearest + 1})
            if (x >> p == 0) all.push_back(std::ldexp(static_cast<T>(x), bits % 2 ? -p - 1 : -p));
        }
      }
  return all;
}

template <class T>
void check_equal(const Array& got, const std::vector<T>& x, const std::function<T(std::size_t)>& want) {
  const std::vector<T> y = got.template to_vector<T>();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const T w = want(i);
    if (std::isnan(w) ? !std::isnan(y[i]) : std::bit_cast<Bits<T>>(y[i]) != std::bit_cast<Bits<T>>(w)) {
      CAPTURE(x[i]);
      if (++wrong < 5) CHECK(y[i] == w);
    }
  }
  CHECK(wrong == 0);
}

template <class T>
void check_quotients() {
  Lcg random{3};
  std::vector<T> a, b;
  for (const bool any : {false, true})
    for (int i = 0; i < 400000; ++i) {
      b.push_back(number<T>(random, any));
      // A quotient of p digits and half a unit more, times b, rounded.
      const T q = number<T>(random, any);
      a.push_back(i % 3 ? std::fma(q, b.back(), std::ldexp(b.back(), std::ilogb(q) - std::numeric_limits<T>::digits)) : q);
      if (i % 50 == 0) a.back() = i % 100 ? T(0) : T(-0.);
    }
  for (const T x : special_numbers<T>())
    for (const T y : special_numbers<T>()) {
      a.push_back(x), b.push_back(y);
      for (int i = 0; i < 15; ++i) a.push_back(T(1.3)), b.push_back(T(-.7));
    }
  check_equal<T>(jit([](const Array& x, const Array& y) { return x / y; })(array(a), array(b)), b,
                 [&](std::size_t i) { return a[i] / b[i]; });
  for (const T c : {T(1), T(-1), T(3), T(-.1), std::nextafter(T(2), T(0)), T(0x1p-40), T(0), std::numeric_limits<T>::infinity()}) {
    CAPTURE(c);
    check_equal<T>(jit([c](const Array& y) { return c / y; })(array(b)), b, [&](std::size_t i) { return c / b[i]; });
  }
}

template <class T>
void check_roots() {
  Lcg random{4};
  std::vector<T> x = near_middles<T>();
  CHECK(x.size() > 1000);
  for (int k : {2, -40, 20, -6})
    for (std::size_t i = 0, n = x.size(); i < n; i += 4) x.push_back(std::ldexp(x[i], k));
  for (const bool any : {false, true})
    for (int i = 0; i < 300000; ++i) {
      x.push_back(std::abs(number<T>(random, any)));
      if (i % 40 == 0) x.back() = i % 80 ? T(0) : T(-0.);
    }
  for (const T y : special_numbers<T>()) {
    x.push_back(y);
    for (int i = 0; i < 15; ++i) x.push_back(T(1.3));
  }
  check_equal<T>(jit([](const Array& a) { return sqrt(a); })(array(x)), x, [&](std::size_t i) { return std::sqrt(x[i]); });
  check_equal<T>(jit([](const Array& a) { return rsqrt(a); })(array(x)), x, [&](std::size_t i) { return 1 / std::sqrt(x[i]); });
  check_equal<T>(jit([](const Array& a) { return T(2) / (sqrt(a) + T(1)); })(array(x)), x,
                 [&](std::size_t i) { return T(2) / (std::sqrt(x[i]) + T(1)); });
}

}  // namespace

TEST_CASE("backends: quotients by products have the bits of a division") {
  SUBCASE("float32") { check_quotients<float>(); }
  SUBCASE("float64") { check_quotients<double>(); }
}

TEST_CASE("backends: quotients and roots are products where a kernel waits for the divider") {
  if (detail::native_vector_bytes() < 64) return;
  const auto code = [](auto f) { return jit(f).lower(ones({4000}, float64)).compile().as_text("llvm"); };
  CHECK(has(code([](const Array& x) { return sqrt(x); }), "outside:"));
  CHECK(has(code([](const Array& x) { return 1. / (1. + x * x); }), "outside:"));
  CHECK_FALSE(has(code([](const Array& x) { return exp(x) + sqrt(x); }), "outside:"));
  // Steps that wait for one another.
  CHECK_FALSE(has(code([](const Array& x) { return fori_loop(0, 9, [](Array, Array y) { return 1. / (1. + y); }, x); }), "outside:"));
}

TEST_CASE("backends: square roots by products have the bits of a square root") {
  SUBCASE("float32") { check_roots<float>(); }
  SUBCASE("float64") { check_roots<double>(); }
}
