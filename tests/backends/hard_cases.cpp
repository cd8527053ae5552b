// Mathematical functions of compiled code and of the interpreter at the arguments that are hardest for them, against MPFR.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/exact/exact.h"
#include "tests/exact/functions.h"
#include "tests/exact/hard_cases.h"
#include "weft/core/array/array_impl.h"
#include "weft/runtime/host/executable.h"

using namespace weft;
using detail::MathFunction;

namespace {

Array interpreted(const Jaxpr& program, std::vector<Array> args) {
  return detail::backend("interp").compile(program, {"f"})->call(args, 0)[0];
}

Array array_of(const std::vector<double>& x, DType dtype) {
  return convert(array(x, {static_cast<std::int64_t>(x.size())}, float64), dtype);
}

/// The worst of the results in units in the last place, and where; fails where one is beyond the limit.
struct Judge {
  std::string what;
  DType dtype;
  double limit, worst = 0;
  int failures = 0;
  void look(double u, double x, double y, double got, const exact::Number& want) {
    worst = std::max(worst, u);
    if (u > limit && ++failures < 5) FAIL_CHECK(what, " of ", x, " and ", y, " is ", got, " and not ", want.value(), ": ", u, " units");
  }
};

}  // namespace

TEST_CASE("hard cases: compiled and interpreted functions of one operand stay within their units in the last place") {
  for (const exact::Function& row : exact::kFunctions)
    for (const DType dtype : {float32, float64}) {
      std::vector<double> x = exact::hard_arguments(row.f, dtype, 1);
      if (x.size() % 2 == 0) x.pop_back();  // so that there are lanes that don't fill a vector
      const Array in = array_of(x, dtype);
      const auto f = [&](const Array& v) { return row.function(v); };
      const std::vector<double> compiled = convert(jit(f)(in), float64).to_vector<double>(),
                                oracle = convert(interpreted(make_jaxpr(f)(in), {in}), float64).to_vector<double>();
      const std::string name = std::string(row.name) + (dtype == float32 ? ", float32" : ", float64");
      Judge fast{name + ", compiled", dtype, row.limit}, slow{name + ", interpreted", dtype, row.limit};
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (!exact::is_promised(row.f, x[i])) continue;
        const exact::Number want = exact::evaluate(row.f, x[i]);
        fast.look(exact::ulps(dtype, compiled[i], want), x[i], 0, compiled[i], want);
        slow.look(exact::ulps(dtype, oracle[i], want), x[i], 0, oracle[i], want);
      }
      MESSAGE(name, ": ", fast.worst, " compiled, ", slow.worst, " interpreted");
      CHECK(fast.failures + slow.failures == 0);
    }
}

TEST_CASE("hard cases: powers and angles, compiled and interpreted, stay within their units in the last place") {
  for (const MathFunction f : {MathFunction::pow, MathFunction::atan2})
    for (const DType dtype : {float32, float64}) {
      std::vector<double> x, y;
      for (const auto& [a, b] : exact::hard_pairs(f, dtype, 1)) x.push_back(a), y.push_back(b);
      const Array first = array_of(x, dtype), second = array_of(y, dtype);
      const auto apply = [&](const Array& a, const Array& b) { return f == MathFunction::pow ? pow(a, b) : atan2(a, b); };
      const std::vector<double> compiled = convert(jit(apply)(first, second), float64).to_vector<double>(),
                                oracle =
                                    convert(interpreted(make_jaxpr(apply)(first, second), {first, second}), float64).to_vector<double>();
      const std::string name = std::string(f == MathFunction::pow ? "pow" : "atan2") + (dtype == float32 ? ", float32" : ", float64");
      Judge fast{name + ", compiled", dtype, 2}, slow{name + ", interpreted", dtype, 2};
      for (std::size_t i = 0; i < x.size(); ++i) {
        const exact::Number want = exact::evaluate(f, x[i], y[i]);
        fast.look(exact::ulps(dtype, compiled[i], want), x[i], y[i], compiled[i], want);
        slow.look(exact::ulps(dtype, oracle[i], want), x[i], y[i], oracle[i], want);
      }
      MESSAGE(name, ": ", fast.worst, " compiled, ", slow.worst, " interpreted");
      CHECK(fast.failures + slow.failures == 0);
    }
}

TEST_CASE("hard cases: functions of complex numbers stay within their units in the last place of the modulus") {
  using exact::ComplexFunction;
  struct ComplexRow {
    ComplexFunction f;
    const char* name;
    Array (*function)(const Array&);
    double limit = 4;
  };
#define WEFT_ROW(name) {ComplexFunction::name, #name, [](const Array& x) { return weft::name(x); }}
  const ComplexRow rows[] = {WEFT_ROW(exp),
                             WEFT_ROW(log),
                             WEFT_ROW(log1p),
                             WEFT_ROW(expm1),
                             WEFT_ROW(sin),
                             WEFT_ROW(cos),
                             WEFT_ROW(sinh),
                             WEFT_ROW(cosh),
                             WEFT_ROW(tanh),
                             WEFT_ROW(asin),
                             WEFT_ROW(acos),
                             WEFT_ROW(atan),
                             WEFT_ROW(asinh),
                             WEFT_ROW(acosh),
                             WEFT_ROW(atanh),
                             WEFT_ROW(sqrt),
                             WEFT_ROW(rsqrt),
                             {ComplexFunction::tan, "tan", [](const Array& x) { return tan(x); }, 5},
                             {ComplexFunction::logistic, "logistic", [](const Array& x) { return sigmoid(x); }}};
#undef WEFT_ROW
  for (const DType part : {float32, float64}) {
    std::vector<double> re, im;
    for (const auto& [x, y] : exact::hard_complex(part, 1)) re.push_back(x), im.push_back(y);
    const Array z = weft::complex(array_of(re, part), array_of(im, part)), w = flip(z);
    const auto judge = [&](const std::string& name, ComplexFunction f, double limit, const Array& result, bool two) {
      const std::vector<double> got_re = convert(real(result), float64).to_vector<double>(),
                                got_im = convert(imag(result), float64).to_vector<double>();
      double worst = 0;
      int failures = 0;
      for (std::size_t i = 0; i < re.size(); ++i) {
        const std::size_t k = re.size() - 1 - i;
        const exact::Complex want = exact::evaluate(f, {re[i], im[i]}, two ? exact::Complex{re[k], im[k]} : exact::Complex{});
        const double u = exact::ulps(part, got_re[i], got_im[i], want);
        worst = std::max(worst, u);
        if (u > limit && ++failures < 5)
          FAIL_CHECK(name, " of ", re[i], " + ", im[i], "i is ", got_re[i], " + ", got_im[i], "i and not ", want.re.value(), " + ",
                     want.im.value(), "i: ", u, " units");
      }
      MESSAGE(name, ": ", worst);
      CHECK(failures == 0);
    };
    const std::string suffix = part == float32 ? ", complex64" : ", complex128";
    for (const ComplexRow& row : rows)
      judge(row.name + suffix, row.f, row.limit, jit([&](const Array& v) { return row.function(v); })(z), false);
    judge("quotient" + suffix, ComplexFunction::div, 4, jit([](const Array& a, const Array& b) { return a / b; })(z, w), true);
  }
}
