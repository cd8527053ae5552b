// Hyperbolic functions and their inverses, and the error functions.
#include <cmath>
#include <limits>

#include "backends/codegen/math/coefficients.h"
#include "backends/codegen/math/functions.h"

namespace weft::detail::math {

using namespace coefficients;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

Expr sinh(Expr x) {
  const Expr a = abs(x), half = half_exp(a), e = expm1(min(a, x.constant(1.5)));
  return copysign(select(a > 1.25, half - .25 / half, (e + e / (e + 1.)) * .5), x);
}

Expr cosh(Expr x) {
  const Expr half = half_exp(abs(x));
  return half + .25 / half;
}

Expr asinh(Expr x) {
  const Expr a = abs(x), big = a > (x.is_double() ? 1e150 : 1e18);
  const Expr root = sqrt(a * a + 1.);
  const Expr y = select(big, log(a) + std::log(2.), log1p(a + a * a / (root + 1.)));
  return copysign(select(a == kInf, a, y), x);
}

Expr acosh(Expr x) {
  const Expr t = x - 1., big = x > (x.is_double() ? 1e150 : 1e18);
  const Expr y = select(big, log(x) + std::log(2.), log1p(t + sqrt(t * 2. + t * t)));
  return select(x < 1., x.constant(kNan), select(x == kInf, x, y));
}

Expr atanh(Expr x) {
  const Expr a = abs(x);
  const Expr y = log1p(a * 2. / (1. - a)) * .5;
  return copysign(select(a == 1., x.constant(kInf), select(a > 1., x.constant(kNan), y)), x);
}

namespace {
// erf(x) for |x| < .93: the one in 2 / sqrt(pi) is added last, so that only its product with x is rounded twice.
Expr erf_small(Expr x) {
  const Expr z = x * x;
  return fma(x, fma(z, polynomial(z, erf_small_f32), .1283791670955125739), x);
}
}  // namespace

Expr erf_f32(Expr x) {
  const Expr a = abs(x), u = min(a, x.constant(3.95));
  const Expr large = copysign(1. - exp_of_small(u * polynomial(u, erf_large_f32)), x);
  return select(x != x, x, select(a < .92, erf_small(x), large));
}

Expr erfc_f32(Expr x) {
  const Expr a = abs(x), c = min(a, x.constant(10.6)), t = (c - 2.) / (c + 2.), square = c * c;
  // exp(-c^2) with the rounding error of the square added back.
  const Expr tail = exp_times(-square, -fma(c, c, -square), polynomial(t, erfcx_f32) / fma(c, 2., x.constant(1)));
  return select(x != x, x, select(a < .46, 1. - erf_small(x), select(x < 0., 2. - tail, tail)));
}

Expr erf_inv_f32(Expr x) {
  // w = -log(1 - x^2), without cancellation near 1 (M. Giles, Approximating the erfinv function, GPU Computing Gems, 2010).
  const Expr w = -log1p(-(x * x));
  const Expr central = polynomial(w - 2.5, erf_inv_central_f32);
  const Expr tail = polynomial(sqrt(w) - 3., erf_inv_tail_f32);
  const Expr y = x * select(w < 5., central, tail), a = abs(x);
  return select(a == 1., copysign(x.constant(kInf), x), select(a > 1., x.constant(kNan), y));
}

}  // namespace weft::detail::math
