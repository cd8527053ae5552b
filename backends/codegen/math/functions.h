// The expansions, one file a family.
#pragma once
#include <optional>

#include "weft/backends/codegen/math/emit.h"

namespace weft::detail::math {

Expr exp(Expr x);
/// exp(x + low) * factor. `low` and `factor_low` are the rounding errors of x and factor.
Expr exp_times(Expr x, Expr low, Expr factor, std::optional<Expr> factor_low = {});
/// exp(x) / 2, also where exp(x) is too large.
Expr half_exp(Expr x);
/// exp(x) if it and all intermediate results are normal numbers: for float32, |x| < 80.
Expr exp_of_small(Expr x);
/// 1 - exp(-t) for t from 0 up to where exp(-t) is the least normal number.
Expr complement_of_exp(Expr t);
Expr exp2(Expr x);
Expr expm1(Expr x);
Expr log(Expr x);
/// A sum in two parts: `high` is the rounded sum, `low` its rounding error.
struct Sum {
  Expr high, low;
};
/// log(x) + base + c for a positive number x and a base of few digits.
Sum log_plus(Expr x, double base, Expr c);
Expr log1p(Expr x);
Expr log2(Expr x);
Expr tanh(Expr x);
Expr logistic(Expr x);
/// x^y where `r` is |x|^y: its sign, and the cases in which it is something else.
Expr power_of(Expr x, Expr y, Expr r);
/// By way of float64.
Expr pow_f32(Expr x, Expr y);
Expr pow_f64(Expr x, Expr y);
Expr cbrt_f32(Expr x);
Expr cbrt_f64(Expr x);

Expr sin(Expr x);
Expr cos(Expr x);
Expr tan(Expr x);
/// sin, cos or tan of any finite float32; the other functions call the library above 2^18.
Expr circular_of_huge_f32(MathFunction f, Expr x);
Expr atan(Expr x);
Expr atan2(Expr y, Expr x);
Expr asin_f32(Expr x);
Expr acos_f32(Expr x);
Expr asin_f64(Expr x);
Expr acos_f64(Expr x);
Expr sinh(Expr x);
Expr cosh(Expr x);
Expr asinh(Expr x);
Expr acosh(Expr x);
Expr atanh(Expr x);
Expr erf_f32(Expr x);
Expr erf_f64(Expr x);
Expr erfc(Expr x);
Expr erf_inv_f32(Expr x);
Expr erf_inv_f64(Expr x);

/// By way of float64.
Expr lgamma_f32(Expr x);
/// Calls the library next to the zeros of negative arguments.
Expr lgamma_f64(Expr x);
Expr digamma_f64(Expr x);

}  // namespace weft::detail::math
