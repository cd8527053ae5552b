// Powers and cube roots of float64.
#include <cmath>
#include <limits>

#include "weft/backends/codegen/math/coefficients.h"
#include "weft/backends/codegen/math/constants.h"
#include "weft/backends/codegen/math/functions.h"
#include "weft/backends/codegen/math/rules.h"

namespace weft::detail::math {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

/// A double-double number: the sum of two parts, the second far smaller than the first.
struct Pair {
  Expr high, low;
};
/// The sum of a and b, where b is not larger than a (T. Dekker, A floating-point technique for extending the available precision, 1971).
Pair fast_sum(Expr a, Expr b) {
  const Expr s = a + b;
  return {s, (a - s) + b};
}
Pair product(Expr a, Expr b) {
  const Expr p = a * b;
  return {p, fma(a, b, -p)};
}

/// log(x) of a positive number to some 64 digits, in two parts: k ln 2 + 2 atanh(s), s = f / (2 + f), of whose series the first two terms
/// are taken in two parts (as in fdlibm's pow; Sun Microsystems, 1993).
Pair precise_log(Expr x) {
  const Expr tiny = x < 0x1p-1022, normal = select(tiny, x * 0x1p54, x);
  const Expr root_half = x.constant(constants::root_half).as_bits(), bits = normal.as_bits(), exponent = sar(bits - root_half, 52);
  const Expr f = (bits - shl(exponent, 52)).as_float() - 1., k = exponent.to(float64) - select(tiny, x.constant(54), x.constant(0));
  const auto [d, d_low] = fast_sum(x.constant(2), f);
  const Expr inverse = 1. / d, s = f * inverse, s_low = fma(-s, d_low, fma(-s, d, f)) * inverse;
  const auto [z, z_lost] = product(s, s);
  const Expr z_low = fma(s * 2., s_low, z_lost);
  const auto& [third, third_low] = constants::two_thirds;
  const auto [c, c_lost] = product(z, x.constant(third));
  const Expr rest = fma(z * z, polynomial(z, coefficients::log_rest_f64), fma(z, third_low, fma(z_low, third, c_lost)));
  const auto [w, w_low] = fast_sum(c, rest);
  const auto [v, v_lost] = product(s, w);
  const auto [m, m_lost] = fast_sum(s * 2., v);
  const Expr m_low = m_lost + fma(s_low, 2., fma(s, w_low, fma(s_low, w, v_lost)));
  const auto& [ln2, ln2_low] = constants::ln2_f64;
  const auto [h, h_lost] = fast_sum(k * ln2, m);
  const auto [high, low] = fast_sum(select(k == 0., m, h), select(k == 0., m_low, h_lost + fma(k, ln2_low, m_low)));
  return {select(x == 0., x.constant(-kInf), select(x == kInf, x, high)), select((x == 0.) | (x == kInf), x.constant(0), low)};
}

}  // namespace

Expr power_of(Expr x, Expr y, Expr r) {
  // The sign and the existence of powers of negative numbers depend on whether y is an integer, and odd.
  const Expr magnitude = abs(x);
  const Expr whole{y.b, y.b->eq(y.b->trunc(y.v), y.v)};
  const Expr half = y * .5;
  const Expr odd = whole & Expr{y.b, y.b->ne(y.b->trunc(half.v), half.v)};
  const Expr negative = x.as_bits() < x.as_bits().integer(0);
  r = select(negative & odd, -r, r);
  r = select((x < 0.) & Expr{y.b, y.b->bit_not(whole.v)} & (magnitude < kInf), x.constant(kNan), r);
  r = select((magnitude == 1.) & (abs(y) == kInf), x.constant(1), r);
  r = select((x != x) | (y != y), x + y, r);
  return select((x == 1.) | (y == 0.), x.constant(1), r);
}

Expr pow_f32(Expr x, Expr y) { return power_of(x, y, exp(y.to(float64) * log(abs(x).to(float64))).to(float32)); }

Expr pow_f64(Expr x, Expr y) {
  const auto [log_high, log_low] = precise_log(abs(x));
  const auto [p, lost] = product(y, log_high);
  const Expr low = select(abs(p) < 1e4, fma(y, log_low, lost), p.constant(0));
  return power_of(x, y, exp_times(p, low, x.constant(1)));
}

Expr cbrt_f32(Expr x) {
  const Expr r = copysign(exp(log(abs(x).to(float64)) / 3.).to(float32), x);
  return select((x == 0.) | (abs(x) == kInf), x, r);
}

/// An initial guess from the bits (W. Kahan, Computing a real cube root, 1991) to a^(-1/3) without division, in two steps of orders 5 and
/// 3; then a^(1/3) = a y^2, corrected by its residual.
Expr cbrt_f64(Expr x) {
  const Expr magnitude = abs(x), tiny = magnitude < 0x1p-1022, a = select(tiny, magnitude * 0x1p54, magnitude);
  // A third of the upper half of the bits, by way of floating numbers: integers up to 2^52 are in the low bits of 2^52 + n.
  const Expr upper = sar(a.as_bits(), 32), number = (upper + a.constant(0x1p52).as_bits()).as_float() - 0x1p52;
  const Expr guess = fma(number, -1. / 3, a.constant(0x1p52 + 0x553ef0ff));
  Expr y = shl(guess.as_bits() - a.constant(0x1p52).as_bits(), 32).as_float();
  Expr e = 1. - a * y * y * y;
  y = fma(y * e, fma(e, fma(e, fma(e, 35. / 243, e.constant(14. / 81)), 2. / 9), 1. / 3), y);
  const Expr cube = a * y * y * y;
  e = 1. - cube;
  y = fma(y * e, fma(e, 2. / 9, e.constant(1. / 3)), y);
  const Expr square = y * y, t = a * square;
  const auto [t2, t2_lost] = product(t, t);
  const Expr residual = fma(t2_lost, t, fma(t2, t, -a));
  const Expr root = fma(residual, square * (-1. / 3), t) * select(tiny, a.constant(0x1p-18), a.constant(1));
  return select((x == 0.) | (magnitude == kInf) | (x != x), x, copysign(root, x));
}

namespace {
const AddMathRule pow_rule({MathFunction::pow, "pow", 48, [](Expr x, Expr y) { return x.is_double() ? pow_f64(x, y) : pow_f32(x, y); },
                            [](double x, double y) { return std::pow(x, y); }});
const AddMathRule cbrt_rule({MathFunction::cbrt, "cbrt", 48, [](Expr x, Expr) { return x.is_double() ? cbrt_f64(x) : cbrt_f32(x); },
                             [](double x, double) { return std::cbrt(x); }});
const AddMathRule rsqrt_rule({MathFunction::rsqrt, "rsqrt", 10, [](Expr x, Expr) { return 1. / sqrt(x); },
                              [](double x, double) { return 1 / std::sqrt(x); }});
}  // namespace

}  // namespace weft::detail::math
