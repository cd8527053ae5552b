// Mathematical functions as kernels compute them, in vectors of this machine's width, against the C library in a wider type.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace weft;

namespace {

double ulps(float got, double want) {
  const auto rounded = static_cast<float>(want);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e9;
  if (got == 0 && want == 0) return std::signbit(got) == std::signbit(want) ? 0 : 1e9;
  const int exponent = rounded == 0 ? -126 : std::max(std::ilogb(rounded), -126);
  return std::abs(got - want) / std::ldexp(1., exponent - 23);
}

struct Row {
  const char* name;
  Array (*function)(const Array&);
  double (*reference)(double);
  float lo, hi;
};
const Row kRows[] = {
    {"exp", [](const Array& x) { return exp(x); }, [](double x) { return std::exp(x); }, -105, 89},
    {"log", [](const Array& x) { return log(x); }, [](double x) { return std::log(x); }, 0, 3},
    {"log1p", [](const Array& x) { return log1p(x); }, [](double x) { return std::log1p(x); }, -1, 3},
    {"erf", [](const Array& x) { return erf(x); }, [](double x) { return std::erf(x); }, -4, 4},
    {"erfc", [](const Array& x) { return erfc(x); }, [](double x) { return std::erfc(x); }, -4, 10},
    {"tanh", [](const Array& x) { return tanh(x); }, [](double x) { return std::tanh(x); }, -10, 10},
    {"sin", [](const Array& x) { return sin(x); }, [](double x) { return std::sin(x); }, -100, 100},
};

std::vector<float> arguments(float lo, float hi, std::size_t n) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x{
      0.f,        -0.f,       1.f,   -1.f, inf,  -inf, nan, 1e-45f, -1e-45f, 1e-39f, -1e-39f, 2.f, 3.4e38f, -3.4e38f, 1.17549435e-38f,
      .99999994f, 1.0000001f, .125f, .25f, 1e10f};
  std::mt19937 random(5);
  std::uniform_real_distribution<float> usual(lo, hi), exponent(-149, 128);
  while (x.size() < n) {
    x.push_back(usual(random));
    x.push_back(std::exp2(exponent(random)) * (random() & 1 ? 1 : -1));
  }
  return x;
}

}  // namespace

TEST_CASE("compiled functions of float32 are right to two units in the last place") {
  for (const Row& row : kRows) {
    const std::string name = row.name;
    CAPTURE(name);
    const std::vector<float> x = arguments(row.lo, row.hi, 20000);
    const Array result = jit([&](const Array& v) { return row.function(v); })(array(x));
    const auto y = result.data<float>();
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double u = ulps(y[i], row.reference(x[i]));
      if (u > 2) FAIL_CHECK(name, "(", x[i], ") = ", y[i], ", not ", row.reference(x[i]));
      worst = std::max(worst, u);
    }
    MESSAGE(name, ": ", worst);
  }
}

TEST_CASE("a function's value doesn't depend on how many lanes are computed at once") {
  for (const Row& row : kRows) {
    const std::string name = row.name;
    CAPTURE(name);
    const std::vector<float> x = arguments(row.lo, row.hi, 400);
    const auto f = jit([&](const Array& v) { return row.function(v); });
    const auto mixed = jit([&](const Array& v) { return convert(row.function(v), float64); });
    const Array all = f(array(x)), wide = mixed(array(x));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float one = f(array(x[i])).item<float>(), want = all.data<float>()[i];
      const auto doubled = static_cast<float>(wide.data<double>()[i]);
      CAPTURE(x[i]);
      CHECK((one == want || (std::isnan(one) && std::isnan(want))));
      CHECK((doubled == want || (std::isnan(doubled) && std::isnan(want))));
    }
  }
}

TEST_CASE("exponentials of distances, which are computed without underflow, have the bits of all others") {
  // The second operand is 1 or 0: each result is the exponential of -(x - y)^2 w, or of the same number read from memory.
  std::vector<float> x = arguments(-11, 11, 20000), y(x.size()), w(x.size(), 1.f);
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = i % 3 == 0 ? 1.f : 0.f;
  for (std::size_t i = 0; i < 100; ++i) w[i + 30] = -1.f;
  const auto exponent = [](const Array& x, const Array& y, const Array& w) { return -square(x - y) * w; };
  const Array a = array(x), b = array(y), c = array(w), plain = jit(exponent)(a, b, c);
  const Array got = jit([&](const Array& x, const Array& y, const Array& w) { return exp(exponent(x, y, w)); })(a, b, c);
  const Array want = jit([](const Array& v) { return exp(v); })(plain);
  int subnormal = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float g = got.data<float>()[i], e = want.data<float>()[i];
    CAPTURE(plain.data<float>()[i]);
    CHECK((g == e || (std::isnan(g) && std::isnan(e))));
    CHECK(ulps(g, std::exp(static_cast<double>(plain.data<float>()[i]))) <= 2);
    subnormal += std::fpclassify(g) == FP_SUBNORMAL;
  }
  CHECK(subnormal > 100);
  // Sums of squares along an axis are distances too.
  const Array rows = reshape(array(x), {-1, 2}), far = jit([](const Array& r) { return exp(-sum(square(r), 1)); })(rows);
  const Array sums = jit([](const Array& r) { return -sum(square(r), 1); })(rows), near = jit([](const Array& v) { return exp(v); })(sums);
  for (std::size_t i = 0; i < x.size() / 2; ++i) {
    const float g = far.data<float>()[i], e = near.data<float>()[i];
    CHECK((g == e || (std::isnan(g) && std::isnan(e))));
  }
}
