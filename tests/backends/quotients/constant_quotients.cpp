// Quotients of floating-point numbers by constants: the bits of a division.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

#include "tests/backends/agree.h"
#include "tests/backends/quotients/bits.h"
#include "tests/lcg.h"
#include "weft/backends/codegen/emit/constant_quotients.h"

using namespace weft;
using namespace weft::test;

namespace {

template <class T>
std::vector<T> divisors() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> all{3,        5,     6,  7,       10,    12, 255, 100, 1000,  T(.1), T(1) / 3, std::numbers::pi_v<T>, std::sqrt(T(32)),
                     T(1e-10), T(17), -3, T(-2.5), T(.3), 2,  -8,  1,   T(.25)};
  for (const T c : {std::nextafter(T(1), T(2)), std::nextafter(T(2), T(1)), T(1) + 3 * Limits::epsilon(), T(1.5) + Limits::epsilon()})
    all.push_back(c);
  for (const T c : {Limits::max(), Limits::min(), Limits::denorm_min(), Limits::infinity(), Limits::quiet_NaN(), T(0), T(-0.)})
    all.push_back(c);
  return all;
}
/// Of all exponents, with mantissas that come near the middle between two quotients, and others.
template <class T>
std::vector<T> dividends(T c) {
  using Limits = std::numeric_limits<T>;
  constexpr int p = Limits::digits;
  std::vector<T> all{
      0, T(-0.), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), Limits::max(), Limits::lowest(), Limits::denorm_min()};
  Lcg random{7};
  for (int exponent = Limits::min_exponent - p; exponent < Limits::max_exponent; ++exponent)
    for (int i = 0; i < 12; ++i) {
      const T mantissa = T(1) + static_cast<T>(random.next() >> 11) * T(0x1p-53);
      const T quotient = std::ldexp(mantissa, exponent);
      // A quotient of p digits and half a unit more, times c, rounded: and its neighbours.
      const T x = i % 3 ? std::fma(quotient, c, std::ldexp(c, exponent - p)) : quotient;
      for (const T y : {x, std::nextafter(x, T(0)), std::nextafter(x, Limits::infinity()), -x}) all.push_back(y);
    }
  return all;
}
template <class T>
void check_all() {
  for (const T c : divisors<T>()) {
    CAPTURE(c);
    const std::vector<T> x = dividends(c);
    const Array quotients = jit([c](const Array& a) { return a / c; })(array(x));
    const std::vector<T> got = quotients.template to_vector<T>();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const T want = x[i] / c;
      const bool same = std::isnan(want) ? std::isnan(got[i]) : std::bit_cast<Bits<T>>(want) == std::bit_cast<Bits<T>>(got[i]);
      if (!same && wrong++ == 0) MESSAGE(x[i], " / ", c, " = ", want, ", got ", got[i]);
    }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("quotients by constants have the bits of a division", T, float, double) { check_all<T>(); }

TEST_CASE("quotients by constants are products, and divisions by powers of two one") {
  const Arrays x{values({1000}, 1)};
  CHECK(has(same([](Xs a) { return a[0] / 3.f; }, x, 0, "llvm"), "outside:"));
  CHECK_FALSE(has(same([](Xs a) { return a[0] / 8.f; }, x, 0, "llvm"), "fdiv"));
}

TEST_CASE("quotients by constants: all float32 mantissas") {
  std::vector<float> x(1 << 23);
  for (std::uint32_t i = 0; i < x.size(); ++i) x[i] = std::bit_cast<float>(0x3f800000u | i);
  const Array numbers = array(x);
  int by_parts = 0;
  for (const float c : {3.f, 255.f, 1.1f, 5.656854f, 1.9999999f, 1.0000001f, 0.1f, 1.5000001f}) {
    CAPTURE(c);
    const std::optional<detail::InverseParts> inverse = detail::inverse_by_parts(c, false);
    by_parts += inverse.has_value();
    const std::vector<float> got = jit([c](const Array& a) { return a / c; })(numbers).to_vector<float>();
    std::size_t wrong = 0, off = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      wrong += got[i] != x[i] / c;
      // What is claimed of the sum holds for it, too, not only where it is used.
      if (inverse) off += std::fma(x[i], static_cast<float>(inverse->first), x[i] * static_cast<float>(inverse->second)) != x[i] / c;
    }
    CHECK(wrong == 0);
    CHECK(off == 0);
  }
  CHECK(by_parts > 4);
}
