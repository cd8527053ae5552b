// What docs/semantics/numerics.md says, statement by statement; eagerly and compiled. Accuracy is held by tests/backends/hard_cases.cpp,
// floating-point settings by tests/programs/float_environment.cpp, promotion by the page's own program.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <vector>

using namespace weft;

namespace {

using Values = std::vector<double>;
using Function = std::function<Array(Array)>;

/// Eagerly and compiled; NaN equals NaN.
void gives(const Function& f, const Array& x, const Values& want) {
  for (const bool compiled : {false, true}) {
    const Values got = convert(compiled ? jit(f)(x) : f(x), float64).to_vector<double>();
    CAPTURE(compiled);
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);
      CHECK((got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i]))));
    }
  }
}

const double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

TEST_CASE("numerics: integers wrap around, and are divided and shifted as the page says") {
  gives([](Array x) { return x + x; }, array({100, -100, 127}, int8), {-56, 56, -2});
  gives([](Array x) { return floor_divide(x, 2); }, array({7, -7}), {3, -4});
  gives([](Array x) { return div(x, array(2)); }, array({7, -7}), {3, -3});
  gives([](Array x) { return x / 2; }, array({7, -7}), {3.5, -3.5});
  gives([](Array x) { return x << 32; }, array({1, -1}), {0, 0});
  gives([](Array x) { return x >> 32; }, array({1, -1}), {0, -1});
}

TEST_CASE("numerics: numbers of 16 bits are computed in float32 and rounded after each operation; sums accumulate in float32") {
  gives([](Array x) { return x + 1; }, array({2048., 2050.}, float16), {2048, 2052});  // ties to even
  gives([](Array x) { return x + 1; }, array({256., 258.}, bfloat16), {256, 260});
  gives([](Array x) { return x * x - x * x; }, array({300.}, float16), {kNan});  // the products overflow
  gives([](Array x) { return sum(x); }, ones(4096, float16), {4096});
  gives([](Array x) { return sum(x); }, ones(1024, bfloat16), {1024});
  gives([](Array x) { return matmul(x, x); }, ones(4096, float16), {4096});
}

TEST_CASE("numerics: quotients of real numbers are rounded once") {
  const Array a = sin(arange(1000, float32)) + 2, b = cos(arange(1000, float32) * 3) + 3;
  const std::vector<float> as = a.to_vector<float>(), bs = b.to_vector<float>();
  Values want;
  for (std::size_t i = 0; i < as.size(); ++i) want.push_back(as[i] / bs[i]);
  gives([&](Array x) { return x / b; }, a, want);
}

TEST_CASE("numerics: complex products are their formula, and powers of 0 what the page says") {
  using C = std::complex<double>;
  const auto parts = [](const Array& z) { return stack({real(z), imag(z)}); };
  const auto one = [](C z) { return weft::complex(array(std::vector<double>{z.real()}), array(std::vector<double>{z.imag()})); };
  gives([&](Array z) { return parts(z * one({1, 0})); }, one({kInf, kInf}), {kNan, kNan});  // inf * 0 on the way
  gives([&](Array z) { return parts(pow(one({0, 0}), z)); }, one({2, 1}), {0, 0});
  gives([&](Array z) { return parts(pow(one({0, 0}), z)); }, one({-1, 0}), {kNan, kNan});
  gives([&](Array z) { return parts(pow(one({0, 0}), z)); }, one({0, 1}), {kNan, kNan});
  gives([&](Array z) { return parts(pow(one({0, 0}), z)); }, one({0, 0}), {1, 0});
}

TEST_CASE("numerics: conversions truncate, saturate and give 0 for NaN; a literal must fit") {
  gives([](Array x) { return convert(x, int32); }, array(Values{2.9, -2.9, 1e20, -1e20, kInf, kNan}),
        {2, -2, 2147483647, -2147483648., 2147483647, 0});
  gives([](Array x) { return convert(x, uint8); }, array(Values{-3, 300, 255.9}), {0, 255, 255});
  CHECK_THROWS_AS(array(300, int8), DTypeError);
  gives([](Array x) { return x; }, array(std::vector<int>{300, -200}, {2}, int8), {44, 56});
}

TEST_CASE("numerics: positions out of bounds") {
  const Array x = arange(5, float32);
  CHECK_THROWS_AS(x(7), Error);
  const auto at = [&](int i) { return array({i}); };
  gives([&](Array i) { return x(i); }, at(9), {4});
  gives([&](Array i) { return x.at(i).set(7); }, at(9), {0, 1, 2, 3, 4});
  gives([&](Array i) { return take(x, i); }, at(9), {kNan});
  gives([&](Array i) { return take(arange(5), i); }, at(9), {-2147483648.});
  gives([&](Array i) { return take_along_axis(x, i, 0); }, at(9), {kNan});
  gives([&](Array i) { return dynamic_slice(x, {i(0)}, {2}); }, at(9), {3, 4});
}

TEST_CASE("numerics: derivatives at ties") {
  const Array zero = zeros(1), ties = array({1.f, 3.f, 3.f});
  gives([](Array x) { return grad([](Array v) { return sum(maximum(v, 0)); })(x); }, zero, {.5});
  gives([](Array x) { return grad([](Array v) { return sum(minimum(v, 0)); })(x); }, zero, {.5});
  gives([](Array x) { return grad([](Array v) { return max(v); })(x); }, ties, {0, .5, .5});
  gives([](Array x) { return grad([](Array v) { return min(-v); })(x); }, ties, {0, -.5, -.5});
  gives([](Array x) { return grad([](Array v) { return sum(nn::relu(v)); })(x); }, zero, {0});
  gives([](Array x) { return grad([](Array v) { return sum(abs(v)); })(x); }, zero, {1});
}
