// The error functions: near zero a polynomial in x^2; further out exp(-x^2) times a polynomial in (x - k) / (x + k) for exp(x^2) erfc(x) (1
// + 2 x) (M. Shepherd and J. Laframboise, Chebyshev approximation of (1 + 2x) exp(x^2) erfc(x) in 0 <= x < infinity, Mathematics of
// Computation 36, 1981).
#include <cmath>
#include <limits>

#include "weft/backends/codegen/math/coefficients.h"
#include "weft/backends/codegen/math/constants.h"
#include "weft/backends/codegen/math/functions.h"
#include "weft/backends/codegen/math/rules.h"
#include "weft/core/ops/elementwise/special_functions.h"

namespace weft::detail::math {
namespace {

using namespace coefficients;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

// erf(x) for small x: the one in 2 / sqrt(pi) is added last, so that only its product with x is rounded twice.
Expr erf_small(Expr x) {
  const Expr z = x * x;
  return fma(
      x,
      fma(z, polynomial(z, x.is_double() ? std::span<const double>(erf_small_f64) : erf_small_f32), constants::two_over_root_pi_less_one),
      x);
}

// erfc(c) for c from 0.45 up to where it is too small for a number. What rounding the polynomial's last sum, the quotient and the square
// lost is added back.
Expr erfc_tail(Expr c) {
  const bool wide = c.is_double();
  const double k = wide ? 3.75 : 2;
  const std::span<const double> all = wide ? std::span<const double>(erfcx_f64) : erfcx_f32;
  const double first_low = wide ? erfcx_low_f64 : all[0] - static_cast<float>(all[0]);
  const Expr t = (c - k) / (c + k), square = c * c;
  const Expr rest = t * polynomial(t, all.subspan(1)), p = rest + all[0], p_low = rest - (p - all[0]) + first_low;
  const Expr d = fma(c, 2., c.constant(1)), d_low = fma(c, 2., 1. - d), inverse = 1. / d;
  const Expr q = p * inverse, q_low = (fma(-q, d, p) + fma(-q, d_low, p_low)) * inverse;
  return exp_times(-square, -fma(c, c, -square), q, q_low);
}

}  // namespace

Expr erf_f32(Expr x) {
  // 1 - exp(-t) for t = -log(erfc(|x|)), nearly a parabola, without loss near zero.
  const Expr u = min(abs(x), x.constant(3.95)), t = fma(u, polynomial(u, erf_exponent_f32), u);
  return copysign(complement_of_exp(t), x);
}

Expr erf_f64(Expr x) {
  const Expr a = abs(x), u = min(a, x.constant(6));
  const Expr large = copysign(1. - exp_of_small(u * polynomial(u, erf_large_f64)), x);
  return select(x != x, x, select(a < 1., erf_small(x), large));
}

Expr erfc(Expr x) {
  const Expr a = abs(x), tail = erfc_tail(min(a, x.constant(x.is_double() ? 27.3 : 10.6)));
  return select(x != x, x, select(a < .46, 1. - erf_small(x), select(x < 0., 2. - tail, tail)));
}

Expr erf_inv_f32(Expr x) {
  // w = -log(1 - x^2), with 1 - x^2 rounded once (M. Giles, Approximating the erfinv function, GPU Computing Gems, 2010). Near 0 the
  // polynomial wants w's absolute accuracy only.
  const Expr w = -log(fma(-x, x, 1.));
  const Expr central = polynomial(w - 2.5, erf_inv_central_f32);
  const Expr tail = polynomial(sqrt(w) - 3., erf_inv_tail_f32);
  const Expr a = abs(x), y = copysign(fma(a, select(w < 5., central, tail), a), x);
  return select(a == 1., copysign(x.constant(kInf), x), select(a > 1., x.constant(kNan), y));
}

Expr erf_inv_f64(Expr x) {
  // x (1 + a quotient in x^2); beyond .843 r + a quotient in r, exp(-r^2) = 1 - |x| (the ranges are those of M. Wichura, Algorithm AS 241,
  // Applied Statistics 37, 1988).
  const Expr a = abs(x), central = a < .843;
  const Expr t = fma(-x, x, .710649), zero = x.constant(0);
  const auto [log_high, log_low] = log_plus(1. - a, 0, zero);
  // The root with what rounding it and the logarithm lost, over 2 r to an eighth: by its bits.
  const Expr r = sqrt(-log_high), half_inverse = (r.as_bits().integer(0x7fce623822fc16e6) - r.as_bits()).as_float();
  const Expr r_low = (fma(-r, r, -log_high) - log_low) * half_inverse;
  const Expr top = select(central, polynomial(t, erf_inv_central_top_f64), polynomial(r, erf_inv_tail_top_f64));
  const Expr bottom = select(central, polynomial(t, erf_inv_central_bottom_f64), polynomial(r, erf_inv_tail_bottom_f64));
  const Expr quotient = top / bottom, y = copysign(select(central, fma(a, quotient, a), (quotient + r_low) + r), x);
  return select(a == 1., copysign(x.constant(kInf), x), select(a > 1., x.constant(kNan), y));
}

namespace {
const AddMathRule erf_rule({MathFunction::erf, "erf", 48, [](Expr x, Expr) { return x.is_double() ? erf_f64(x) : erf_f32(x); },
                            [](double x, double) { return std::erf(x); }});
const AddMathRule erfc_rule({MathFunction::erfc, "erfc", 48, [](Expr x, Expr) { return erfc(x); },
                             [](double x, double) { return std::erfc(x); }});
const AddMathRule erf_inv_rule({MathFunction::erf_inv, "erf_inv", 48,
                                [](Expr x, Expr) { return x.is_double() ? erf_inv_f64(x) : erf_inv_f32(x); },
                                [](double x, double) { return detail::erf_inv(x); }});
}  // namespace

}  // namespace weft::detail::math
