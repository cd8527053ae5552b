#include "reference.h"

#include <cmath>

// Compiled with the options that let a compiler take vectors of the C library: nothing here may depend on NaN or the order of a sum.
#define WEFT_LOOP(name, ...)                                       \
  void name##_loop(const double* in, double* out, std::size_t n) { \
    for (std::size_t i = 0; i < n; ++i) {                          \
      const double x = in[i];                                      \
      out[i] = __VA_ARGS__;                                        \
    }                                                              \
  }
namespace {
WEFT_LOOP(exp, ::exp(x))
WEFT_LOOP(exp2, ::exp2(x))
WEFT_LOOP(expm1, ::expm1(x))
WEFT_LOOP(log, ::log(x))
WEFT_LOOP(log1p, ::log1p(x))
WEFT_LOOP(log2, ::log2(x))
WEFT_LOOP(tanh, ::tanh(x))
WEFT_LOOP(sin, ::sin(x))
WEFT_LOOP(cos, ::cos(x))
WEFT_LOOP(tan, ::tan(x))
WEFT_LOOP(asin, ::asin(x))
WEFT_LOOP(acos, ::acos(x))
WEFT_LOOP(atan, ::atan(x))
WEFT_LOOP(sinh, ::sinh(x))
WEFT_LOOP(cosh, ::cosh(x))
WEFT_LOOP(asinh, ::asinh(x))
WEFT_LOOP(acosh, ::acosh(x))
WEFT_LOOP(atanh, ::atanh(x))
WEFT_LOOP(erf, ::erf(x))
WEFT_LOOP(erfc, ::erfc(x))
WEFT_LOOP(cbrt, ::cbrt(x))
WEFT_LOOP(rsqrt, 1 / ::sqrt(x))
WEFT_LOOP(sigmoid, 1 / (1 + ::exp(-x)))

// The asymptotic series after ten steps of the recurrence; the reflection formula for negative arguments.
double digamma(double x) {
  const double part = x - ::rint(x), reflected = x > 0 ? 0 : M_PI / ::tan(M_PI * part);
  double v = x > 0 ? x : 1 - x, shift = 0;
  const bool steps = v < 12;
  for (int k = 0; k < 12; ++k) shift += 1 / (v + k);
  shift = steps ? shift : 0;
  v = steps ? v + 12 : v;
  const double z = 1 / (v * v);
  const double series = z * (1. / 12 - z * (1. / 120 - z * (1. / 252 - z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z / 12))))));
  return ::log(v) - .5 / v - series - shift - reflected;
}
WEFT_LOOP(digamma, digamma(x))

// Winitzki's approximation (2008), then Newton's method with Halley's correction on erf, or on erfc near 1.
double erf_inv(double x) {
  const double a = ::fabs(x), l = ::log1p(-a) + ::log1p(a), t = 2 / (M_PI * .147) + l / 2;
  double y = a < 1e-3 ? a * .88622692545275801365 : ::sqrt(::sqrt(t * t - l / .147) - t);
  for (int i = 0; i < 3; ++i) {
    const double error = a < .5 ? ::erf(y) - a : (1 - a) - ::erfc(y), step = error * .88622692545275801365 * ::exp(y * y);
    y -= step / (1 + y * step);
  }
  return x < 0 ? -y : y;
}
WEFT_LOOP(erf_inv, erf_inv(x))
}  // namespace
#undef WEFT_LOOP

reference::Loop reference::loop(std::string_view function) {
#define WEFT_LOOP(name) \
  if (function == #name) return name##_loop;
  WEFT_LOOP(exp)
  WEFT_LOOP(exp2)
  WEFT_LOOP(expm1)
  WEFT_LOOP(log)
  WEFT_LOOP(log1p)
  WEFT_LOOP(log2)
  WEFT_LOOP(tanh)
  WEFT_LOOP(sin)
  WEFT_LOOP(cos)
  WEFT_LOOP(tan)
  WEFT_LOOP(asin)
  WEFT_LOOP(acos)
  WEFT_LOOP(atan)
  WEFT_LOOP(sinh)
  WEFT_LOOP(cosh)
  WEFT_LOOP(asinh)
  WEFT_LOOP(acosh)
  WEFT_LOOP(atanh)
  WEFT_LOOP(erf)
  WEFT_LOOP(erfc)
  WEFT_LOOP(cbrt)
  WEFT_LOOP(rsqrt)
  WEFT_LOOP(sigmoid)
  WEFT_LOOP(digamma)
  WEFT_LOOP(erf_inv)
#undef WEFT_LOOP
  return nullptr;
}
