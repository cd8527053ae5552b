// Hyperbolic functions and their inverses.
#include <cmath>
#include <limits>

#include "weft/backends/codegen/math/coefficients.h"
#include "weft/backends/codegen/math/constants.h"
#include "weft/backends/codegen/math/functions.h"
#include "weft/backends/codegen/math/rules.h"

namespace weft::detail::math {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

Expr sinh(Expr x) {
  const Expr a = abs(x), half = half_exp(a), z = a * a;
  const Expr small = fma(a * z, polynomial(z, x.is_double() ? std::span<const double>(coefficients::sinh_f64) : coefficients::sinh_f32), a);
  return copysign(select(a > 1.25, half - .25 / half, small), x);
}

Expr cosh(Expr x) {
  const Expr half = half_exp(abs(x));
  return half + .25 / half;
}

Expr asinh(Expr x) {
  const Expr a = abs(x), big = a > (x.is_double() ? 1e150 : 1e18);
  const Expr root = sqrt(a * a + 1.);
  const Expr y = select(big, log(a) + constants::ln2, log1p(a + a * a / (root + 1.)));
  return copysign(select(a == kInf, a, y), x);
}

Expr acosh(Expr x) {
  // log(1 + u), u = t + sqrt(2 t + t^2), t = x - 1; what rounding u lost is added back.
  const Expr t = x - 1., big = x > (x.is_double() ? 1e150 : 1e18);
  const Expr square = fma(t, t, t * 2.), square_low = fma(t, t, t * 2. - square), root = sqrt(square);
  const Expr root_low = (fma(-root, root, square) + square_low) / (root * 2.);
  const Expr u = root + t, u_low = (root - u) + t + select(root == 0., root, root_low);
  const Expr near = log1p(u) + select(x < 2., u_low / (u + 1.), x.constant(0));
  const Expr y = select(big, log(x) + constants::ln2, near);
  return select(x < 1., x.constant(kNan), select(x == kInf, x, y));
}

Expr atanh(Expr x) {
  // 2a / (1 - a), for small numbers as 2a and the smaller part that is added to it (fdlibm's atanh does the same).
  const Expr a = abs(x), twice = a * 2., small = a < .5;
  const Expr part = select(small, twice * a, twice) / (1. - a);
  const Expr y = log1p(select(small, twice + part, part)) * .5;
  return copysign(select(a == 1., x.constant(kInf), select(a > 1., x.constant(kNan), y)), x);
}

namespace {
const AddMathRule sinh_rule({MathFunction::sinh, "sinh", 48, [](Expr x, Expr) { return sinh(x); },
                             [](double x, double) { return std::sinh(x); }});
const AddMathRule cosh_rule({MathFunction::cosh, "cosh", 48, [](Expr x, Expr) { return cosh(x); },
                             [](double x, double) { return std::cosh(x); }});
const AddMathRule asinh_rule({MathFunction::asinh, "asinh", 48, [](Expr x, Expr) { return asinh(x); },
                              [](double x, double) { return std::asinh(x); }});
const AddMathRule acosh_rule({MathFunction::acosh, "acosh", 48, [](Expr x, Expr) { return acosh(x); },
                              [](double x, double) { return std::acosh(x); }});
const AddMathRule atanh_rule({MathFunction::atanh, "atanh", 48, [](Expr x, Expr) { return atanh(x); },
                              [](double x, double) { return std::atanh(x); }});
}  // namespace

}  // namespace weft::detail::math
