#include "weft/backends/codegen/math/math.h"

#include <array>
#include <cmath>

#include "weft/backends/codegen/math/functions.h"
#include "weft/core/ops/elementwise/special_functions.h"

namespace weft::detail {

KernelValue expand_math(KernelBuilder& b, MathFunction f, std::span<const KernelValue> operands) {
  const Expr x{&b, operands[0]}, y{&b, operands.size() > 1 ? operands[1] : operands[0]};
  const bool narrow = x.v.dtype == float32;
  switch (f) {
    case MathFunction::exp: return math::exp(x).v;
    case MathFunction::exp2: return math::exp2(x).v;
    case MathFunction::expm1: return math::expm1(x).v;
    case MathFunction::log: return math::log(x).v;
    case MathFunction::log1p: return math::log1p(x).v;
    case MathFunction::log2: return math::log2(x).v;
    case MathFunction::tanh: return math::tanh(x).v;
    case MathFunction::logistic: return math::logistic(x).v;
    case MathFunction::sin: return math::sin(x).v;
    case MathFunction::cos: return math::cos(x).v;
    case MathFunction::tan: return math::tan(x).v;
    case MathFunction::sinh: return math::sinh(x).v;
    case MathFunction::cosh: return math::cosh(x).v;
    case MathFunction::asinh: return math::asinh(x).v;
    case MathFunction::acosh: return math::acosh(x).v;
    case MathFunction::atanh: return math::atanh(x).v;
    case MathFunction::rsqrt: return (1. / sqrt(x)).v;
    case MathFunction::asin: return (narrow ? math::asin_f32(x) : math::asin_f64(x)).v;
    case MathFunction::acos: return (narrow ? math::acos_f32(x) : math::acos_f64(x)).v;
    case MathFunction::atan: return math::atan(x).v;
    case MathFunction::atan2: return math::atan2(x, y).v;
    case MathFunction::pow: return (narrow ? math::pow_f32(x, y) : math::pow_f64(x, y)).v;
    case MathFunction::cbrt: return (narrow ? math::cbrt_f32(x) : math::cbrt_f64(x)).v;
    case MathFunction::erf: return (narrow ? math::erf_f32(x) : math::erf_f64(x)).v;
    case MathFunction::erfc: return math::erfc(x).v;
    case MathFunction::erf_inv: return (narrow ? math::erf_inv_f32(x) : math::erf_inv_f64(x)).v;
    case MathFunction::lgamma: return (narrow ? math::lgamma_f32(x) : math::lgamma_f64(x)).v;
    case MathFunction::digamma: return (narrow ? math::digamma_f64(x.to(float64)).to(float32) : math::digamma_f64(x)).v;
  }
  return operands[0];
}

double library_math(MathFunction f, double x, double y) {
  switch (f) {
    case MathFunction::exp: return std::exp(x);
    case MathFunction::exp2: return std::exp2(x);
    case MathFunction::expm1: return std::expm1(x);
    case MathFunction::log: return std::log(x);
    case MathFunction::log1p: return std::log1p(x);
    case MathFunction::log2: return std::log2(x);
    case MathFunction::tanh: return std::tanh(x);
    case MathFunction::logistic: return 1 / (1 + std::exp(-x));
    case MathFunction::sin: return precise_sin(x);
    case MathFunction::cos: return precise_cos(x);
    case MathFunction::tan: return precise_tan(x);
    case MathFunction::asin: return std::asin(x);
    case MathFunction::acos: return std::acos(x);
    case MathFunction::atan: return std::atan(x);
    case MathFunction::atan2: return std::atan2(x, y);
    case MathFunction::sinh: return std::sinh(x);
    case MathFunction::cosh: return std::cosh(x);
    case MathFunction::asinh: return std::asinh(x);
    case MathFunction::acosh: return std::acosh(x);
    case MathFunction::atanh: return std::atanh(x);
    case MathFunction::pow: return std::pow(x, y);
    case MathFunction::erf: return std::erf(x);
    case MathFunction::erfc: return std::erfc(x);
    case MathFunction::erf_inv: return erf_inv(x);
    case MathFunction::lgamma: return precise_lgamma(x);
    case MathFunction::digamma: return digamma(x);
    case MathFunction::cbrt: return std::cbrt(x);
    case MathFunction::rsqrt: return 1 / std::sqrt(x);
  }
  return x;
}

}  // namespace weft::detail

extern "C" double weft_library_math(int function, double x, double y) {
  return weft::detail::library_math(static_cast<weft::detail::MathFunction>(function), x, y);
}
