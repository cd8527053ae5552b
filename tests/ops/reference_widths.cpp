// The reference rules compute on 64 bits, in double precision and on bools: what they give is each dtype's own arithmetic.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "weft/core/array/half.h"
#include "weft/core/ir/primitive.h"

using namespace weft::detail;
using weft::DType, weft::Shape;

namespace {

/// Runs an operation's reference on operands of the given shapes.
template <class T, class R>
std::vector<R> run(const char* name, DType dtype, DType result, const Shape& shape,
                   std::vector<std::pair<Shape, std::vector<T>>> operands) {
  const Primitive* const primitive = find_primitive(name);
  REQUIRE(primitive);
  std::vector<HostTensor> in;
  for (auto& [s, values] : operands) in.push_back({Aval{s, dtype}, values.data()});
  std::vector<R> values(static_cast<std::size_t>(shape.num_elements()));
  const HostTensor out{Aval{shape, result}, values.data()};
  primitive->reference({*make_params(NoParams{}), in, std::span(&out, 1)});
  return values;
}

/// Every pair of 8-bit integers.
template <class T>
void check_pairs(const char* name, DType dtype, T (*want)(int, int)) {
  std::vector<T> x, y;
  for (int a = std::numeric_limits<T>::min(); a <= std::numeric_limits<T>::max(); ++a)
    for (int b = std::numeric_limits<T>::min(); b <= std::numeric_limits<T>::max(); ++b)
      x.push_back(static_cast<T>(a)), y.push_back(static_cast<T>(b));
  const Shape shape{static_cast<std::int64_t>(x.size())};
  const std::vector<T> got = run<T, T>(name, dtype, dtype, shape, {{shape, x}, {shape, y}});
  int wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) wrong += got[i] != want(x[i], y[i]);
  CHECK_MESSAGE(wrong == 0, name << " " << dtype.name());
}
template <class T>
void check_each(const char* name, DType dtype, T (*want)(int)) {
  std::vector<T> x;
  for (int a = std::numeric_limits<T>::min(); a <= std::numeric_limits<T>::max(); ++a) x.push_back(static_cast<T>(a));
  const Shape shape{static_cast<std::int64_t>(x.size())};
  const std::vector<T> got = run<T, T>(name, dtype, dtype, shape, {{shape, x}});
  for (std::size_t i = 0; i < x.size(); ++i) CHECK_MESSAGE(got[i] == want(x[i]), name << " " << dtype.name() << " of " << int{x[i]});
}

template <class T>
void check_integers(DType t) {
  using U = std::make_unsigned_t<T>;
  using S = std::make_signed_t<T>;
  check_pairs<T>("add", t, [](int a, int b) { return static_cast<T>(a + b); });
  check_pairs<T>("sub", t, [](int a, int b) { return static_cast<T>(a - b); });
  check_pairs<T>("mul", t, [](int a, int b) { return static_cast<T>(a * b); });
  check_pairs<T>("div", t, [](int a, int b) { return b == 0 ? static_cast<T>(-1) : static_cast<T>(a / b); });
  check_pairs<T>("rem", t, [](int a, int b) { return static_cast<T>(b == 0 ? a : a % b); });
  check_pairs<T>("max", t, [](int a, int b) { return static_cast<T>(a > b ? a : b); });
  check_pairs<T>("min", t, [](int a, int b) { return static_cast<T>(a < b ? a : b); });
  check_pairs<T>("and", t, [](int a, int b) { return static_cast<T>(a & b); });
  check_pairs<T>("or", t, [](int a, int b) { return static_cast<T>(a | b); });
  check_pairs<T>("xor", t, [](int a, int b) { return static_cast<T>(a ^ b); });
  check_pairs<T>("shift_left", t, [](int a, int b) { return static_cast<T>(b < 0 || b > 7 ? 0 : static_cast<U>(a) << b); });
  check_pairs<T>("shift_right_logical", t, [](int a, int b) { return static_cast<T>(b < 0 || b > 7 ? 0 : static_cast<U>(a) >> b); });
  check_pairs<T>("shift_right_arithmetic", t, [](int a, int b) { return static_cast<T>(static_cast<S>(a) >> (b < 0 || b > 7 ? 7 : b)); });
  check_each<T>("neg", t, [](int a) { return static_cast<T>(-a); });
  check_each<T>("not", t, [](int a) { return static_cast<T>(~a); });
  check_each<T>("sign", t, [](int a) { return static_cast<T>((a > 0) - (a < 0)); });
  check_each<T>("abs", t, [](int a) { return static_cast<T>(a < 0 ? -a : a); });
  check_each<T>("square", t, [](int a) { return static_cast<T>(a * a); });
  check_each<T>("population_count", t, [](int a) { return static_cast<T>(std::popcount(static_cast<U>(a))); });
  check_each<T>("clz", t, [](int a) { return static_cast<T>(std::countl_zero(static_cast<U>(a))); });
}

}  // namespace

TEST_CASE("reference: integers of 8 bits wrap around, divide, shift and count in 8 bits") {
  check_integers<std::int8_t>(weft::int8);
  check_integers<std::uint8_t>(weft::uint8);
}

TEST_CASE("reference: the ends of 64-bit integers") {
  const std::vector<std::int64_t> x{INT64_MIN, INT64_MIN, INT64_MAX, -1}, y{-1, 2, 2, INT64_MIN};
  const auto signed_ = [&](const char* name) {
    return run<std::int64_t, std::int64_t>(name, weft::int64, weft::int64, {4}, {{{4}, x}, {{4}, y}});
  };
  CHECK(signed_("add") == std::vector<std::int64_t>{INT64_MAX, INT64_MIN + 2, INT64_MIN + 1, INT64_MAX});
  CHECK(signed_("div") == std::vector<std::int64_t>{INT64_MIN, INT64_MIN / 2, INT64_MAX / 2, 0});
  CHECK(signed_("max") == std::vector<std::int64_t>{-1, 2, INT64_MAX, -1});
  const std::vector<std::uint64_t> u{UINT64_MAX, 1}, v{2, UINT64_MAX};
  const auto unsigned_ = [&](const char* name) {
    return run<std::uint64_t, std::uint64_t>(name, weft::uint64, weft::uint64, {2}, {{{2}, u}, {{2}, v}});
  };
  CHECK(unsigned_("div") == std::vector<std::uint64_t>{UINT64_MAX / 2, 0});
  CHECK(unsigned_("max") == std::vector<std::uint64_t>{UINT64_MAX, UINT64_MAX});
  CHECK(run<std::uint64_t, char>("lt", weft::uint64, weft::bool_, {2}, {{{2}, u}, {{2}, v}}) == std::vector<char>{0, 1});
}

TEST_CASE("reference: bools") {
  const std::vector<char> x{0, 0, 1, 1}, y{0, 1, 0, 1};
  const auto both = [&](const char* name) { return run<char, char>(name, weft::bool_, weft::bool_, {4}, {{{4}, x}, {{4}, y}}); };
  CHECK(both("and") == std::vector<char>{0, 0, 0, 1});
  CHECK(both("or") == std::vector<char>{0, 1, 1, 1});
  CHECK(both("xor") == std::vector<char>{0, 1, 1, 0});
  CHECK(both("add_any") == std::vector<char>{0, 1, 1, 1});
  CHECK(both("max") == std::vector<char>{0, 1, 1, 1});
  CHECK(both("lt") == std::vector<char>{0, 1, 0, 0});
  CHECK(run<char, char>("not", weft::bool_, weft::bool_, {4}, {{{4}, x}}) == std::vector<char>{1, 1, 0, 0});
}

TEST_CASE("reference: floats are computed in double precision and rounded once") {
  std::vector<float> x, y;
  for (int i = 0; i < 1000; ++i)
    x.push_back(std::ldexp(1.f + static_cast<float>(i) * 0x1p-23f, i % 40 - 20)), y.push_back(1.f / static_cast<float>(i + 3));
  const auto got = run<float, float>("add", weft::float32, weft::float32, {1000}, {{{1000}, x}, {{1000}, y}});
  const auto roots = run<float, float>("rsqrt", weft::float32, weft::float32, {1000}, {{{1000}, x}});
  const auto quotients = run<float, float>("div", weft::float32, weft::float32, {1000}, {{{1000}, x}, {{1000}, y}});
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(got[i] == x[i] + y[i]);
    CHECK(quotients[i] == x[i] / y[i]);
    CHECK(roots[i] == static_cast<float>(1. / std::sqrt(static_cast<double>(x[i]))));
  }
  std::vector<Float16> h;
  for (float v : y) h.emplace_back(v);
  const auto halves = run<Float16, Float16>("exp", weft::float16, weft::float16, {1000}, {{{1000}, h}});
  for (std::size_t i = 0; i < h.size(); ++i)
    CHECK(static_cast<double>(halves[i]) == static_cast<double>(Float16(std::exp(static_cast<double>(h[i])))));
}

TEST_CASE("reference: broadcasting over more than one block of elements") {
  std::vector<double> column(7), row(200);
  for (std::size_t i = 0; i < column.size(); ++i) column[i] = static_cast<double>(i) * 1000;
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<double>(i);
  const auto sums = run<double, double>("add", weft::float64, weft::float64, {7, 200}, {{{7, 1}, column}, {{1, 200}, row}});
  for (std::size_t i = 0; i < 7; ++i)
    for (std::size_t k = 0; k < 200; ++k) CHECK(sums[i * 200 + k] == column[i] + row[k]);
  const auto scaled = run<double, double>("mul", weft::float64, weft::float64, {7, 200}, {{{}, {2.}}, {{1, 200}, row}});
  CHECK(scaled[6 * 200 + 199] == 398);
  CHECK(run<double, double>("add", weft::float64, weft::float64, {0, 5}, {{{0, 5}, {}}, {{1, 5}, {1, 2, 3, 4, 5}}}).empty());
}
