#include "tests/exact/exact.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace weft::exact {

using detail::MathFunction;

Number abs(Number x) { return mpfr_abs(x.get(), x.get(), MPFR_RNDN), x; }
Number sqrt(Number x) { return mpfr_sqrt(x.get(), x.get(), MPFR_RNDN), x; }
Number rounded(const Number& x, int bits) {
  Number y = x;
  return mpfr_prec_round(y.get(), bits, MPFR_RNDN), mpfr_prec_round(y.get(), kBits, MPFR_RNDN), y;
}
Number scaled(Number x, long n) { return mpfr_mul_2si(x.get(), x.get(), n, MPFR_RNDN), x; }
Number pi() {
  Number p;
  return mpfr_const_pi(p.get(), MPFR_RNDN), p;
}
Number loggamma(Number x) {
  int sign = 0;
  return mpfr_lgamma(x.get(), &sign, x.get(), MPFR_RNDN), x;
}
Number polynomial(std::span<const double> c, const Number& x) {
  Number p;
  for (std::size_t k = c.size(); k-- > 0;) p = p * x + c[k];
  return p;
}

namespace {

using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
Number apply(Unary f, Number x) { return f(x.get(), x.get(), MPFR_RNDN), x; }

}  // namespace

/// Halley's iteration; near 1 by the complement, which keeps the digits.
Number erf_inv(const Number& x) {
  const Number a = abs(x);
  if (x.is_zero()) return x;
  if (!(a < 1)) {
    Number y;
    a == 1 ? mpfr_set_inf(y.get(), 1) : mpfr_set_nan(y.get());
    return x < 0 ? -y : y;
  }
  const Number half_root = sqrt(pi()) / 2, rest = 1 - a;
  Number y = a * half_root;
  if (a > 1e-3) {
    const Number l = apply(mpfr_log, rest) + apply(mpfr_log1p, a), t = 2 / (pi() * .147) + l / 2;  // S. Winitzki, 2008: good to 2e-3
    y = sqrt(sqrt(t * t - l / .147) - t);
  }
  for (int step = 0; step < 5; ++step) {
    const Number error = a < .5 ? apply(mpfr_erf, y) - a : rest - apply(mpfr_erfc, y);
    const Number u = error * half_root * apply(mpfr_exp, y * y);
    y -= u / (1 + y * u);
  }
  return x < 0 ? -y : y;
}

Number evaluate(MathFunction f, const Number& x, const Number& y) {
  switch (f) {
    case MathFunction::exp: return apply(mpfr_exp, x);
    case MathFunction::exp2: return apply(mpfr_exp2, x);
    case MathFunction::expm1: return apply(mpfr_expm1, x);
    case MathFunction::log: return apply(mpfr_log, x);
    case MathFunction::log1p: return apply(mpfr_log1p, x);
    case MathFunction::log2: return apply(mpfr_log2, x);
    case MathFunction::tanh: return apply(mpfr_tanh, x);
    case MathFunction::logistic: return 1 / (1 + apply(mpfr_exp, -x));
    case MathFunction::sin: return apply(mpfr_sin, x);
    case MathFunction::cos: return apply(mpfr_cos, x);
    case MathFunction::tan: return apply(mpfr_tan, x);
    case MathFunction::asin: return apply(mpfr_asin, x);
    case MathFunction::acos: return apply(mpfr_acos, x);
    case MathFunction::atan: return apply(mpfr_atan, x);
    case MathFunction::sinh: return apply(mpfr_sinh, x);
    case MathFunction::cosh: return apply(mpfr_cosh, x);
    case MathFunction::asinh: return apply(mpfr_asinh, x);
    case MathFunction::acosh: return apply(mpfr_acosh, x);
    case MathFunction::atanh: return apply(mpfr_atanh, x);
    case MathFunction::erf: return apply(mpfr_erf, x);
    case MathFunction::erfc: return apply(mpfr_erfc, x);
    case MathFunction::erf_inv: return erf_inv(x);
    case MathFunction::lgamma: return loggamma(x);
    case MathFunction::digamma: return apply(mpfr_digamma, x);
    case MathFunction::cbrt: return apply(mpfr_cbrt, x);
    case MathFunction::rsqrt: return apply(mpfr_rec_sqrt, x);
    case MathFunction::atan2: {
      Number z;
      return mpfr_atan2(z.get(), x.get(), y.get(), MPFR_RNDN), z;
    }
    case MathFunction::pow: {
      Number z;
      return mpfr_pow(z.get(), x.get(), y.get(), MPFR_RNDN), z;
    }
  }
  throw std::logic_error("a function without a reference");
}

namespace {

struct Format {
  int digits, lowest;  // bits behind the point; exponent of the smallest normal number
  double largest;
};
Format format(DType dtype) {
  if (dtype == float32) return {23, -126, std::numeric_limits<float>::max()};
  return {52, -1022, std::numeric_limits<double>::max()};
}
/// log2 of a unit in the last place at x.
long unit(const Format& f, const Number& x) {
  const long exponent = x.is_zero() ? f.lowest : static_cast<long>(mpfr_get_exp(x.get())) - 1;
  return std::max<long>(exponent, f.lowest) - f.digits;
}

}  // namespace

double ulps(DType dtype, double got, const Number& want) {
  const Format f = format(dtype);
  if (want.is_nan() || std::isnan(got)) return want.is_nan() && std::isnan(got) ? 0 : 1e9;
  const Number size = abs(want), largest = f.largest,
               overflow = largest + scaled(Number(1), 1023 - (dtype == float32 ? 896 : 0) - f.digits - 1);
  if (std::isinf(got) || !(size < overflow)) {
    if (std::signbit(got) != (want < 0)) return 1e9;
    if (std::isinf(got)) return !(size < overflow) ? 0 : size > largest * (1 - scaled(Number(1), -f.digits)) ? 1 : 1e9;
    return std::abs(got) == f.largest && !size.is_infinite() && size < largest * (1 + scaled(Number(1), 1 - f.digits)) ? 1 : 1e9;
  }
  return scaled(abs(got - want), -unit(f, want)).value();
}

Complex evaluate(ComplexFunction f, const Complex& x, const Complex& y) {
  // Sums that cancel by far more than 200 bits.
  if (f == ComplexFunction::log1p) {
    const Number re = 1 + x.re;
    const bool is_small = abs(re) < .5;
    const Number modulus = is_small ? apply(mpfr_log, re * re + x.im * x.im) : apply(mpfr_log1p, x.re * 2 + x.re * x.re + x.im * x.im);
    return {modulus / 2, evaluate(MathFunction::atan2, x.im, re)};
  }
  if (f == ComplexFunction::expm1) {
    const Number half = apply(mpfr_sin, x.im / 2);
    return {apply(mpfr_expm1, x.re) * apply(mpfr_cos, x.im) - half * half * 2,
            x.im.is_zero() ? x.im : apply(mpfr_exp, x.re) * apply(mpfr_sin, x.im)};
  }
  // For which MPC takes very long.
  if (f == ComplexFunction::tanh && abs(x.re) > 500)
    return {x.re < 0 ? -1 : 1, apply(mpfr_sin, x.im * 2) * 2 * apply(mpfr_exp, abs(x.re) * -2)};
  if (f == ComplexFunction::logistic && abs(x.re) > 800) return x.re < 0 ? evaluate(ComplexFunction::exp, x) : Complex{1, 0};
  if (f == ComplexFunction::tan) {
    const Complex y = evaluate(ComplexFunction::tanh, {-x.im, x.re});
    return {y.im, -y.re};
  }
  struct Value {
    Value() { mpc_init2(v, kBits); }
    explicit Value(const Complex& z) : Value() { mpc_set_fr_fr(v, z.re.get(), z.im.get(), MPC_RNDNN); }
    Value(const Value&) = delete;
    Value& operator=(const Value&) = delete;
    ~Value() { mpc_clear(v); }
    mpc_t v;
  } a(x), b(y), r;
  switch (f) {
    case ComplexFunction::exp: mpc_exp(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::log: mpc_log(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::log1p:
    case ComplexFunction::expm1: break;
    case ComplexFunction::sin: mpc_sin(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::cos: mpc_cos(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::tan: break;
    case ComplexFunction::sinh: mpc_sinh(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::cosh: mpc_cosh(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::tanh: mpc_tanh(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::asin: mpc_asin(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::acos: mpc_acos(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::atan: mpc_atan(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::asinh: mpc_asinh(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::acosh: mpc_acosh(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::atanh: mpc_atanh(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::sqrt: mpc_sqrt(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::rsqrt: mpc_sqrt(r.v, a.v, MPC_RNDNN), mpc_ui_div(r.v, 1, r.v, MPC_RNDNN); break;
    case ComplexFunction::pow: mpc_pow(r.v, a.v, b.v, MPC_RNDNN); break;
    case ComplexFunction::div: mpc_div(r.v, a.v, b.v, MPC_RNDNN); break;
    case ComplexFunction::mul: mpc_mul(r.v, a.v, b.v, MPC_RNDNN); break;
    case ComplexFunction::square: mpc_sqr(r.v, a.v, MPC_RNDNN); break;
    case ComplexFunction::logistic:
      mpc_neg(a.v, a.v, MPC_RNDNN), mpc_exp(r.v, a.v, MPC_RNDNN), mpc_add_ui(r.v, r.v, 1, MPC_RNDNN), mpc_ui_div(r.v, 1, r.v, MPC_RNDNN);
      break;
  }
  Complex z;
  mpc_real(z.re.get(), r.v, MPFR_RNDN), mpc_imag(z.im.get(), r.v, MPFR_RNDN);
  return z;
}

double ulps(DType part, double re, double im, const Complex& want) {
  const Format f = format(part);
  if (want.re.is_nan() || want.im.is_nan()) return std::isnan(re) || std::isnan(im) ? 0 : 1e9;
  if (std::isnan(re) || std::isnan(im)) return 1e9;
  // A part that is too large for its dtype, or all but, is judged by itself.
  double worst = 0;
  const Number edge = Number(f.largest) * (1 - scaled(Number(1), 3 - f.digits));
  Number square;
  bool over = false;
  for (const auto& [got, part_wanted] : {std::pair<double, const Number&>{re, want.re}, {im, want.im}})
    if (std::isinf(got) || abs(part_wanted) > edge) {
      over = true;
      if (std::signbit(got) != (part_wanted < 0) || !(abs(part_wanted) > edge) || std::abs(got) < edge.value()) worst = 1e9;
    } else {
      const Number d = got - part_wanted;
      square += d * d;
    }
  if (over) return worst;
  return scaled(sqrt(square), -unit(f, sqrt(want.re * want.re + want.im * want.im))).value();
}

}  // namespace weft::exact
