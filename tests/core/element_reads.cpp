// Numbers leave arrays as they are, rounded at most: what a C++ type can't hold is an error.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <complex>
#include <limits>
#include <string>

#include "tests/messages.h"

using namespace weft;

namespace {

/// Whether item<T>() and to_vector<T>() give `expected`, or where there is none both throw.
template <class T>
void check_read(const Array& x, std::optional<T> expected) {
  INFO(fmt::format("{} of {}", x, x.dtype()));
  const Array padded = concatenate({zeros(700, x.dtype()), reshape(x, {1})});
  if (expected) {
    CHECK(x.item<T>() == *expected);
    CHECK(static_cast<T>(x) == *expected);
    CHECK(padded.to_vector<T>().back() == *expected);
  } else {
    CHECK_THROWS_AS((void)x.item<T>(), DTypeError);
    CHECK_THROWS_AS((void)static_cast<T>(x), DTypeError);
    CHECK_THROWS_AS((void)padded.to_vector<T>(), DTypeError);
  }
}

/// Reads both limits of T from int64 or uint64, and what lies just outside.
template <class T>
void check_limits() {
  using Limits = std::numeric_limits<T>;
  constexpr std::int64_t low = Limits::min(), high = Limits::max();
  check_read<T>(array(low), Limits::min());
  check_read<T>(array(high), Limits::max());
  check_read<T>(array(low - 1), {});
  check_read<T>(array(high + 1), {});
  check_read<T>(array(static_cast<double>(high) + .5, float64), Limits::max());
  check_read<T>(array(static_cast<double>(low) - .5, float64), Limits::min());
  check_read<T>(array(static_cast<double>(high) + 1, float64), {});
  check_read<T>(array(static_cast<double>(low) - 1, float64), {});
  check_read<T>(array(std::numeric_limits<std::uint64_t>::max()), {});
  check_read<T>(array(static_cast<std::uint64_t>(high)), Limits::max());
}

}  // namespace

TEST_CASE("reads: integers at the limits of every narrower type") {
  check_limits<std::int8_t>();
  check_limits<std::int16_t>();
  check_limits<std::int32_t>();
  check_limits<std::uint8_t>();
  check_limits<std::uint16_t>();
  check_limits<std::uint32_t>();
  const std::int64_t low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();
  check_read<std::int64_t>(array(std::uint64_t{1} << 63), {});
  check_read<std::int64_t>(array(static_cast<std::uint64_t>(high)), high);
  check_read<std::int64_t>(array(-0x1p63, float64), low);
  check_read<std::int64_t>(array(0x1p63, float64), {});
  check_read<std::uint64_t>(array(std::int64_t{-1}), {});
  check_read<std::uint64_t>(array(high), static_cast<std::uint64_t>(high));
  check_read<std::uint64_t>(array(0x1p63, float64), std::uint64_t{1} << 63);
  check_read<std::uint64_t>(array(0x1p64, float64), {});
  check_read<bool>(array(std::int64_t{1} << 40), true);
  check_read<int>(array(true), 1);
}

TEST_CASE("reads: floats, NaN and complex numbers") {
  const double nan = std::nan(""), inf = HUGE_VAL;
  check_read<int>(array(-2.75f), -2);
  check_read<int>(array(nan), {});
  check_read<int>(array(inf), {});
  check_read<unsigned>(array(-.5f), 0U);
  check_read<double>(array(-inf), -inf);
  check_read<float>(array(1e300, float64), std::numeric_limits<float>::infinity());
  check_read<bool>(array(nan), true);
  check_read<double>(array(std::complex<double>(3, 0)), 3.);
  check_read<double>(array(std::complex<double>(3, 1)), {});
  check_read<int>(array(std::complex<double>(3, 0)), 3);
  check_read<int>(array(std::complex<double>(3e9, 0)), {});
  check_read<bool>(array(std::complex<double>(0, 1)), true);
}

TEST_CASE("reads: the error names the element, the type and the remedy") {
  const Array x = array({std::int64_t{1}, std::int64_t{3000000000}, std::int64_t{2}});
  CHECK(test::refuses<DTypeError>([&] { (void)x.to_vector<int>(); },
                                  {"to_vector: element 1 of i64[3] is 3000000000, which int32 can't hold", "a wider type"}));
  CHECK(test::refuses<DTypeError>([&] { (void)x[1].item<int>(); }, {"item: i64[] is 3000000000, which int32 can't hold"}));
}
