// The gamma function's logarithm and the derivative of that, in float64: quotients of polynomials with coefficients of one sign near their
// zeros at 1, 2 and 1.46, the asymptotic series (Abramowitz and Stegun, 6.1.40 and 6.3.18) beyond, the recurrence below, and the reflection
// formula for negative arguments. There, next to a zero, only the absolute accuracy is kept.
#include <array>
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

/// x less the nearest integer.
Expr fraction(Expr x) { return x - Expr{x.b, x.b->round_even(x.v)}; }

}  // namespace

Expr digamma_f64(Expr x) {
  // digamma(1 + u), of y = 1 + u where that is large.
  const Expr below = x < 1., a = abs(x), u = select(below, a, x - 1.), y = select(below, a + 1., x), far = u > 1.5;
  const Expr top = polynomial(u, digamma_top_f64), bottom = polynomial(u, digamma_bottom_f64);
  const Expr quotient = select(far, x.constant(1), top) / select(far, y, bottom);
  const Expr from_zero = (u - digamma_zero_f64) - digamma_zero_low_f64, near = fma(from_zero, .8125, from_zero * quotient);
  const Expr w = quotient * quotient;
  const Expr above = select(far, log_plus(y, 0, -fma(w, polynomial(w, digamma_series_f64), quotient * .5)).high, near);
  // Less 1 / x or pi cot(pi x), with what rounding it lost.
  const Expr negative = x < 0., r = fraction(x), square = r * r;
  const Expr d = select(negative, r, x), over = select(negative, fma(square, polynomial(square, cot_pi_f64), 1.), x.constant(1));
  const Expr inverse = 1. / d, pole = over * inverse, lost = fma(-pole, d, over) * inverse;
  const Expr lower = (above - select(abs(pole) < 1e9, lost, x.constant(0))) - pole;
  const Expr result = select(below, lower, above);
  return select(x == kInf, x, select((negative & (r == 0.)) | (x == 0.), x.constant(kNan), result));
}

namespace {

struct Reflected {
  Expr value;
  Expr part;  // of which value is the rest, for negative arguments
};
Reflected lgamma_parts(Expr x) {
  // lgamma(1 + u), of y = 1 + u where that is large.
  const Expr below = x < .5, a = abs(x), u = select(below, a, x - 1.), y = select(below, a + 1., x), far = u > 2.;
  const Expr t = u + .5, top = polynomial(t, lgamma_top_f64), bottom = polynomial(t, lgamma_bottom_f64);
  const Expr quotient = select(far, x.constant(1), top) / select(far, y, bottom);
  const Expr v = u - 1., p = u * v, p_low = fma(u, v, -p) + u * (u - (v + 1.));
  const Expr near = fma(p, .4375, fma(p, quotient, p_low * (quotient + .4375)));
  // (y - 1/2) (log y - 1) + log(2 pi) / 2 - 1/2 + ...
  const Expr w = quotient * quotient, series = fma(quotient, polynomial(w, lgamma_series_f64), constants::lgamma_constant);
  const auto [log_high, log_low] = log_plus(y, -1, x.constant(0));
  const Expr factor = y - .5, y_low = select(below, a - (y - 1.), x.constant(0));
  const Expr rest = fma(factor, log_low, fma(y_low, log_high + 1., series)), above = select(far, fma(factor, log_high, rest), near);
  // Less log(x), or -log(sin(pi x) / pi) less itself.
  const Expr negative = x < 0., r = fraction(x), square = r * r;
  const Expr sine = abs(fma(r * square, polynomial(square, sin_pi_f64), r));
  const auto [lower_high, lower_low] = log_plus(select(negative, sine, x), 0, x.constant(0));
  const Expr lower = -((lower_high + select(negative, above, -above)) + lower_low);
  const Expr result = select(below, lower, above);
  const Expr pole = (x == 0.) | (negative & (r == 0.)) | (a == kInf);
  return {select(x != x, x, select(pole, x.constant(kInf), result)), above};
}

}  // namespace

Expr lgamma_f32(Expr x) { return lgamma_parts(x.to(float64)).value.to(float32); }

Expr lgamma_f64(Expr x) {
  const auto [value, part] = lgamma_parts(x);
  const Expr cancelled = (x < -2.) & (abs(value) < part * .5);
  return {x.b, x.b->call_where(cancelled.v, MathFunction::lgamma, std::array{x.v}, value.v)};
}

namespace {
const AddMathRule lgamma_rule({MathFunction::lgamma, "lgamma", 48,
                               [](Expr x, Expr) { return x.is_double() ? lgamma_f64(x) : lgamma_f32(x); },
                               [](double x, double) { return precise_lgamma(x); }, "lgamma"});
const AddMathRule digamma_rule({MathFunction::digamma, "digamma", 48,
                                [](Expr x, Expr) { return x.is_double() ? digamma_f64(x) : digamma_f64(x.to(float64)).to(float32); },
                                [](double x, double) { return detail::digamma(x); }});
}  // namespace

}  // namespace weft::detail::math
