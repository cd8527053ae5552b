// The expansions of mathematical functions, evaluated element by element, against the C library in a wider type.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "weft/backends/codegen/math/math.h"
#include "weft/core/ops/elementwise/special_functions.h"

using namespace weft;
using namespace weft::detail;

namespace {

/// Computes each operation as it is emitted, in the dtype's own arithmetic.
class Evaluator : public KernelBuilder {
 public:
  struct Value {
    double f = 0;
    std::int64_t i = 0;
  };
  V input(DType dtype, double x) { return push(dtype, {round(dtype, x), 0}); }
  double floating(V v) const { return values_[static_cast<std::size_t>(v.id)].f; }
  void clear() { values_.clear(); }

  V call_where(V condition, MathFunction f, std::span<const V> x, V fast) override {
    if (!at(condition).i) return fast;
    ++libm_calls;
    return push(fast.dtype, {round(fast.dtype, library_math(f, floating(x[0]), x.size() > 1 ? floating(x[1]) : 0)), 0});
  }
  int libm_calls = 0;

 protected:
  V emit_constant(DType dtype, double floating, std::int64_t integer) override { return push(dtype, {round(dtype, floating), integer}); }
  V emit_math(MathFunction f, std::span<const V> x) override { return expand_math(*this, f, x); }
  V emit(ScalarOp op, DType result, std::span<const V> v) override {
    const DType in = v[0].dtype;
    const Value a = at(v[0]), b = v.size() > 1 ? at(v[1]) : Value{}, c = v.size() > 2 ? at(v[2]) : Value{};
    const bool narrow = result == float32;
    auto real = [&](double x) { return push(result, {narrow ? static_cast<float>(x) : x, 0}); };
    auto whole = [&](std::int64_t x) { return push(result, {0, result == int32 ? static_cast<std::int32_t>(x) : x}); };
    auto order = [&](auto compare) { return push(bool_, {0, in.is_floating() ? compare(a.f, b.f) : compare(a.i, b.i)}); };
    switch (op) {
      case ScalarOp::add: return result.is_floating() ? real(a.f + b.f) : whole(a.i + b.i);
      case ScalarOp::sub: return result.is_floating() ? real(a.f - b.f) : whole(a.i - b.i);
      case ScalarOp::mul: return result.is_floating() ? real(a.f * b.f) : whole(a.i * b.i);
      case ScalarOp::div: return real(a.f / b.f);
      case ScalarOp::neg: return real(-a.f);
      case ScalarOp::abs: return real(std::abs(a.f));
      case ScalarOp::min: return real(std::isnan(a.f) ? a.f : std::isnan(b.f) ? b.f : std::min(a.f, b.f));
      case ScalarOp::max: return real(std::isnan(a.f) ? a.f : std::isnan(b.f) ? b.f : std::max(a.f, b.f));
      case ScalarOp::fma:
        return narrow ? real(std::fmaf(static_cast<float>(a.f), static_cast<float>(b.f), static_cast<float>(c.f)))
                      : real(std::fma(a.f, b.f, c.f));
      case ScalarOp::sqrt: return real(std::sqrt(a.f));
      case ScalarOp::trunc: return real(std::trunc(a.f));
      case ScalarOp::round_even: return real(std::nearbyint(a.f));
      case ScalarOp::copysign: return real(std::copysign(a.f, b.f));
      case ScalarOp::eq: return order([](auto x, auto y) { return x == y; });
      case ScalarOp::ne: return order([](auto x, auto y) { return x != y; });
      case ScalarOp::lt: return order([](auto x, auto y) { return x < y; });
      case ScalarOp::gt: return order([](auto x, auto y) { return x > y; });
      case ScalarOp::select: return push(result, a.i ? b : c);
      case ScalarOp::bit_and: return whole(a.i & b.i);
      case ScalarOp::bit_or: return whole(a.i | b.i);
      case ScalarOp::bit_xor: return whole(a.i ^ b.i);
      case ScalarOp::bit_not: return whole(result.is_bool() ? !a.i : ~a.i);
      case ScalarOp::shl: return whole(static_cast<std::int64_t>(static_cast<std::uint64_t>(a.i) << b.i));
      case ScalarOp::shr_arithmetic: return whole(a.i >> b.i);
      case ScalarOp::convert:
        return result.is_floating() ? real(in.is_floating() ? a.f : static_cast<double>(a.i)) : whole(static_cast<std::int64_t>(a.f));
      case ScalarOp::bitcast:
        if (result == int32) return whole(std::bit_cast<std::int32_t>(static_cast<float>(a.f)));
        if (result == int64) return whole(std::bit_cast<std::int64_t>(a.f));
        return real(result == float32 ? std::bit_cast<float>(static_cast<std::int32_t>(a.i)) : std::bit_cast<double>(a.i));
      default: FAIL("an operation that the evaluator doesn't know"); return v[0];
    }
  }

 private:
  static double round(DType dtype, double x) { return dtype == float32 ? static_cast<float>(x) : x; }
  const Value& at(V v) const { return values_[static_cast<std::size_t>(v.id)]; }
  V push(DType dtype, Value v) {
    values_.push_back(v);
    return {static_cast<int>(values_.size()) - 1, -1, dtype};
  }
  std::vector<Value> values_;
};

/// The distance from the true value in units of the last place of the rounded one; subnormals count as the smallest normal number's.
double ulps(DType dtype, double got, long double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  const double rounded = dtype == float32 ? static_cast<float>(want) : static_cast<double>(want);
  if (std::isinf(rounded) || std::isinf(got)) {
    // One step from overflow is a step, not infinity.
    const double largest = dtype == float32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    return got == rounded ? 0 : std::abs(std::isinf(got) ? rounded : got) >= largest * (1 - 1e-6) ? 1 : 1e9;
  }
  const int digits = dtype == float32 ? 23 : 52, lowest = dtype == float32 ? -126 : -1022;
  const int exponent = rounded == 0 ? lowest : std::max(std::ilogb(rounded), lowest);
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / std::ldexp(1.0L, exponent - digits));
}

using Reference = long double (*)(long double);

double worst_ulps(MathFunction f, DType dtype, Reference reference, double lo, double hi) {
  Evaluator e;
  double worst = 0;
  auto try_one = [&](double x) {
    if (dtype == float32) x = static_cast<float>(x);
    e.clear();
    const double got = e.floating(e.math(f, e.input(dtype, x)));
    const double u = ulps(dtype, got, reference(x));
    if (u > worst) worst = u;
    if (!(u < 1e6)) FAIL_CHECK("f(", x, ") = ", got, ", not ", static_cast<double>(reference(x)));
  };
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform(lo, hi), exponent(dtype == float32 ? -45 : -300, dtype == float32 ? 38 : 300);
  for (int i = 0; i < 20000; ++i) try_one(uniform(random));
  for (int i = 0; i < 20000; ++i) {
    const double x = std::pow(10., exponent(random));
    try_one(x), try_one(-x);
  }
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (double x : {0., -0., 1., -1., .5, -.5, 2., inf, -inf, nan, 1e-40, -1e-40, 3.4e38}) try_one(x);
  return worst;
}

struct Row {
  const char* name;
  MathFunction f;
  Reference reference;
  double lo, hi, limit, limit_double;
};
const Row kRows[] = {
    {"exp", MathFunction::exp, [](long double x) { return std::exp(x); }, -105, 90, 2, 2},
    {"exp2", MathFunction::exp2, [](long double x) { return std::exp2(x); }, -151, 129, 2, 2},
    {"expm1", MathFunction::expm1, [](long double x) { return std::expm1(x); }, -5, 5, 2, 2},
    {"log", MathFunction::log, [](long double x) { return std::log(x); }, 0, 10, 2, 2},
    {"log1p", MathFunction::log1p, [](long double x) { return std::log1p(x); }, -1, 3, 2, 2},
    {"log2", MathFunction::log2, [](long double x) { return std::log2(x); }, 0, 10, 2, 2},
    {"tanh", MathFunction::tanh, [](long double x) { return std::tanh(x); }, -10, 10, 2, 2},
    {"logistic", MathFunction::logistic, [](long double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); },
     -80, 20, 2, 2},
    {"sin", MathFunction::sin, [](long double x) { return std::sin(x); }, -1000, 1000, 2, 2},
    {"cos", MathFunction::cos, [](long double x) { return std::cos(x); }, -1000, 1000, 2, 2},
    {"tan", MathFunction::tan, [](long double x) { return std::tan(x); }, -10, 10, 2, 2},
    {"asin", MathFunction::asin, [](long double x) { return std::asin(x); }, -1, 1, 2, 2},
    {"acos", MathFunction::acos, [](long double x) { return std::acos(x); }, -1, 1, 2, 2},
    {"atan", MathFunction::atan, [](long double x) { return std::atan(x); }, -5, 5, 2, 2},
    {"sinh", MathFunction::sinh, [](long double x) { return std::sinh(x); }, -90, 90, 2, 2},
    {"cosh", MathFunction::cosh, [](long double x) { return std::cosh(x); }, -90, 90, 2, 2},
    {"asinh", MathFunction::asinh, [](long double x) { return std::asinh(x); }, -10, 10, 2, 2},
    {"acosh", MathFunction::acosh, [](long double x) { return std::acosh(x); }, 1, 10, 2, 2},
    {"atanh", MathFunction::atanh, [](long double x) { return std::atanh(x); }, -1, 1, 2, 2},
    {"erf", MathFunction::erf, [](long double x) { return std::erf(x); }, -4, 4, 2, 2},
    {"erfc", MathFunction::erfc, [](long double x) { return std::erfc(x); }, -6, 28, 2, 2},
    {"lgamma", MathFunction::lgamma, [](long double x) { return std::lgamma(x); }, .1, 50, 1, 5},
    {"cbrt", MathFunction::cbrt, [](long double x) { return std::cbrt(x); }, -10, 10, 2, 2},
    {"rsqrt", MathFunction::rsqrt, [](long double x) { return 1 / std::sqrt(x); }, 0, 10, 2, 2},
};

}  // namespace

TEST_CASE("expansions of mathematical functions stay within their ulp limits in float32 and float64") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    const double narrow = worst_ulps(row.f, float32, row.reference, row.lo, row.hi),
                 wide = worst_ulps(row.f, float64, row.reference, row.lo, row.hi);
    MESSAGE(std::string(row.name), ": ", narrow, " ulp in float32, ", wide, " in float64");
    CHECK(narrow <= row.limit);
    CHECK(wide <= row.limit_double);
  }
}

TEST_CASE("erf_inv inverts erf") {
  Evaluator e;
  for (double x = -.999; x < 1; x += .0037)
    for (DType dtype : {float32, float64}) {
      e.clear();
      const double rounded = dtype == float32 ? static_cast<float>(x) : x;
      const double y = e.floating(e.math(MathFunction::erf_inv, e.input(dtype, rounded)));
      CHECK(std::erf(y) == doctest::Approx(rounded).epsilon(dtype == float32 ? 1e-6 : 1e-13));
    }
}

TEST_CASE("erf_inv has no digits too few near 1, and digamma none near 0 from below") {
  Evaluator e;
  for (double x = -1 + 0x1p-24; x < 1; x += .000371) {
    e.clear();
    const double rounded = static_cast<float>(x);
    const double narrow = e.floating(e.math(MathFunction::erf_inv, e.input(float32, rounded))),
                 wide = e.floating(e.math(MathFunction::erf_inv, e.input(float64, rounded)));
    CAPTURE(rounded);
    CHECK(ulps(float32, narrow, wide) <= 2);
  }
  // psi(x) is nearly -1 / x.
  for (double x : {-1e-8, -1e-20, -1e-30, 1e-30}) {
    const double got = e.floating(e.math(MathFunction::digamma, e.input(float64, x)));
    CHECK(got == doctest::Approx(-1 / x).epsilon(1e-7));
  }
}

TEST_CASE("lgamma, digamma and erf_inv of float64 are right to two units in the last place, and of float32 to one") {
  struct Function {
    const char* name;
    MathFunction f;
    Reference reference;
    std::vector<double> bounds;  // of pieces that have an expression each, or a zero
  };
  const std::vector<Function> functions = {{"lgamma",
                                            MathFunction::lgamma,
                                            [](long double x) { return std::lgamma(x); },
                                            {0, .5, .9, 1, 1.1, 1.9, 2, 2.1, 3, 4, 10, 1e3, 1e306}},
                                           {"digamma",
                                            MathFunction::digamma,
                                            [](long double x) -> long double { return digamma(static_cast<double>(x)); },
                                            {0, .5, 1, 1.461, 1.46163214496836, 1.46163214496837, 1.462, 2, 2.5, 3, 10, 1e3, 1e308}},
                                           {"erf_inv",
                                            MathFunction::erf_inv,
                                            [](long double x) {
                                              const long double a = std::abs(x);
                                              long double y = erf_inv(static_cast<double>(a));
                                              for (int i = 0; i < 2; ++i) {
                                                const long double error = a < .5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
                                                y -= error * 0.88622692545275801365L * std::exp(y * y);
                                              }
                                              return std::copysign(y, x);
                                            },
                                            {-1, -.5, 0, 1e-9, .5, .842, .844, .9, .99, 1 - 1e-8, 1 - 1e-15, 1}}};
  Evaluator e;
  std::mt19937_64 random(3);
  for (const Function& function : functions) {
    double narrow = 0, wide = 0;
    for (std::size_t piece = 0; piece + 1 < function.bounds.size(); ++piece) {
      std::uniform_real_distribution<double> inside(function.bounds[piece], function.bounds[piece + 1]);
      for (int i = 0; i < 5000; ++i) {
        e.clear();
        const double x = inside(random), y = e.floating(e.math(function.f, e.input(float64, x)));
        if (function.f == MathFunction::erf_inv && std::abs(x) == 1) continue;
        const double u = ulps(float64, y, function.reference(x));
        if (u > 2) FAIL_CHECK(std::string(function.name), "(", x, ") = ", y, " is wrong by ", u);
        wide = std::max(wide, u);
        const float f = static_cast<float>(x);
        if (f > std::numeric_limits<float>::max() || (function.f == MathFunction::erf_inv && std::abs(f) == 1)) continue;
        narrow = std::max(narrow, ulps(float32, e.floating(e.math(function.f, e.input(float32, f))), function.reference(f)));
      }
    }
    MESSAGE(std::string(function.name), ": ", narrow, " ulp in float32, ", wide, " in float64");
    CHECK(narrow <= (function.f == MathFunction::erf_inv ? 2 : .51));
  }
}

TEST_CASE("lgamma and digamma of negative numbers keep the accuracy of what they are differences of") {
  Evaluator e;
  std::mt19937_64 random(4);
  const long double pi = 3.14159265358979323846L;
  for (const double lowest : {-1., -3., -8., -200., -1e9}) {
    std::uniform_real_distribution<double> inside(lowest, 0);
    for (int i = 0; i < 5000; ++i) {
      e.clear();
      const double x = inside(random), y = e.floating(e.math(MathFunction::digamma, e.input(float64, x)));
      const long double part = x - std::round(x), cotangent = pi / std::tan(pi * part);
      const double largest = static_cast<double>(std::max(std::abs(cotangent), static_cast<long double>(std::abs(digamma(1 - x)))));
      CHECK(std::abs(y - digamma(x)) <= 8e-16 * (largest + .5));
      const double logarithm = e.floating(e.math(MathFunction::lgamma, e.input(float64, x)));
      CHECK(ulps(float64, logarithm, std::lgamma(static_cast<long double>(x))) <= 5);
    }
  }
}

TEST_CASE("lgamma, digamma and erf_inv where they have no usual value") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  Evaluator e;
  const auto is = [&](MathFunction f, double x, double want) {
    for (DType dtype : {float32, float64}) {
      e.clear();
      const double got = e.floating(e.math(f, e.input(dtype, x)));
      CAPTURE(x);
      CHECK((std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want)));
    }
  };
  for (double x : {0., -0., -1., -2., -1e20, inf, -inf}) is(MathFunction::lgamma, x, inf);
  for (double x : {1., 2.}) is(MathFunction::lgamma, x, 0);
  for (double x : {0., -0., -1., -2., -1e20, -inf}) is(MathFunction::digamma, x, nan);
  is(MathFunction::digamma, inf, inf);
  is(MathFunction::erf_inv, 1, inf), is(MathFunction::erf_inv, -1, -inf), is(MathFunction::erf_inv, 0, 0),
      is(MathFunction::erf_inv, -0., -0.);
  for (double x : {1.5, -1.5, inf, -inf}) is(MathFunction::erf_inv, x, nan);
  for (MathFunction f : {MathFunction::lgamma, MathFunction::digamma, MathFunction::erf_inv}) is(f, nan, nan);
  e.clear();
  CHECK(e.floating(e.math(MathFunction::digamma, e.input(float64, 1e-310))) == -inf);
  CHECK(e.floating(e.math(MathFunction::lgamma, e.input(float64, 5e-324))) == doctest::Approx(744.4400719213812).epsilon(1e-15));
  CHECK(e.floating(e.math(MathFunction::lgamma, e.input(float64, -5e-324))) == doctest::Approx(744.4400719213812).epsilon(1e-15));
}

TEST_CASE("pow and atan2 in their corners") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const double values[] = {0., -0., .5, -.5, 1., -1., 2., -2., 3., -3., 2.5, -2.5, 1e30, -1e30, inf, -inf, nan};
  Evaluator e;
  for (double x : values)
    for (double y : values)
      for (DType dtype : {float32, float64}) {
        CAPTURE(x);
        CAPTURE(y);
        e.clear();
        const auto vx = e.input(dtype, x), vy = e.input(dtype, y);
        const double power = e.floating(e.math(MathFunction::pow, vx, vy)), angle = e.floating(e.math(MathFunction::atan2, vx, vy));
        auto same = [&](double got, double want) {
          if (dtype == float32) want = static_cast<float>(want);
          return std::isnan(want) ? std::isnan(got)
                                  : (got == want && std::signbit(got) == std::signbit(want)) ||
                                        std::abs(got - want) <= (dtype == float32 ? 2e-7 : 4.5e-16) * std::abs(want);
        };
        CHECK_MESSAGE(same(power, std::pow(x, y)), "pow: ", power, " not ", std::pow(x, y));
        CHECK_MESSAGE(same(angle, std::atan2(x, y)), "atan2: ", angle, " not ", std::atan2(x, y));
      }
}

TEST_CASE("powers and angles of float64 are right to two units in the last place") {
  Evaluator e;
  std::mt19937_64 random(9);
  std::uniform_real_distribution<double> unit(-1, 1);
  double worst_power = 0, worst_angle = 0;
  const auto try_both = [&](double x, double y) {
    e.clear();
    const auto vx = e.input(float64, x), vy = e.input(float64, y);
    worst_power = std::max(worst_power, ulps(float64, e.floating(e.math(MathFunction::pow, vx, vy)), powl(x, y)));
    worst_angle = std::max(worst_angle, ulps(float64, e.floating(e.math(MathFunction::atan2, vx, vy)), atan2l(x, y)));
  };
  for (int i = 0; i < 20000; ++i) {
    const double any = std::pow(10., 307 * unit(random));
    try_both(any, 745 * unit(random) / std::log(any));  // up to where powers are too large or too small
    try_both(1 + 1e-3 * unit(random), 5e5 * unit(random));
    try_both(1 + unit(random) * std::pow(10., -16 * std::abs(unit(random))), 1e3 * unit(random));
    try_both(-std::abs(10 * unit(random)), std::round(30 * unit(random)));
    try_both(1e-310 * unit(random), 1e-310 * unit(random));
    try_both(any, any * (1 + unit(random)));
    try_both(unit(random), unit(random));
  }
  for (DType dtype : {float32, float64}) {  // the largest numbers there are
    const double largest = dtype == float32 ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
    for (const double y : {largest, -largest, largest / 3, largest / 1e7})
      for (const double x : {largest, -largest, -largest / 3, largest / 1e7}) {
        e.clear();
        const double ry = e.floating(e.input(dtype, y)), rx = e.floating(e.input(dtype, x));
        CHECK(ulps(dtype, e.floating(e.math(MathFunction::atan2, e.input(dtype, y), e.input(dtype, x))), atan2l(ry, rx)) <= 2);
      }
  }
  for (DType dtype : {float32, float64})  // the smallest numbers there are
    for (int i = 1; i < 12; ++i)
      for (int k = 1; k < 12; ++k) {
        e.clear();
        const double unit_there = dtype == float32 ? 0x1p-149 : 0x1p-1074, x = i * unit_there, y = -k * unit_there;
        CHECK(ulps(dtype, e.floating(e.math(MathFunction::atan2, e.input(dtype, x), e.input(dtype, y))), atan2l(x, y)) <= 2);
      }
  MESSAGE("pow: ", worst_power, " ulp, atan2: ", worst_angle);
  CHECK(worst_power <= 2);
  CHECK(worst_angle <= 2);
}

TEST_CASE("arguments of usual size never call the library") {
  Evaluator e;
  for (DType dtype : {float32, float64})
    for (double x = -4; x < 4; x += .0371)
      for (MathFunction f : {MathFunction::asin, MathFunction::acos, MathFunction::atan, MathFunction::cbrt, MathFunction::erf,
                             MathFunction::erfc, MathFunction::tanh, MathFunction::logistic, MathFunction::expm1, MathFunction::log1p,
                             MathFunction::digamma, MathFunction::erf_inv}) {
        e.clear();
        e.math(f, e.input(dtype, x));
        e.math(MathFunction::pow, e.input(dtype, x), e.input(dtype, 1.5));
        e.math(MathFunction::atan2, e.input(dtype, x), e.input(dtype, 1.5));
      }
  for (double x = -200; x < 200; x += .37)
    for (MathFunction f : {MathFunction::sin, MathFunction::cos, MathFunction::tan, MathFunction::exp, MathFunction::log})
      e.math(f, e.input(float32, x));
  CHECK(e.libm_calls == 0);
}
