// Inverse circular functions. asin and acos as in fdlibm (Sun Microsystems, 1993): beyond one half by way of asin(sqrt((1 - x) / 2)); atan
// by the identities that bring its argument below one half (Cody and Waite, Software Manual for the Elementary Functions, 1980), with one
// division. The polynomials are weft's own.
#include <cmath>
#include <limits>

#include "weft/backends/codegen/math/coefficients.h"
#include "weft/backends/codegen/math/constants.h"
#include "weft/backends/codegen/math/functions.h"
#include "weft/backends/codegen/math/rules.h"

namespace weft::detail::math {
namespace {

constexpr double kPi = constants::pi, kHalfPiLow = constants::half_pi_f64[1], kHalfPiLowNarrow = constants::half_pi_f32[1];
constexpr double kInf = std::numeric_limits<double>::infinity();

/// (asin(t) - t) / t for 0 <= t <= 1/2, z = t^2.
Expr asin_rest(Expr z) { return z * polynomial(z, coefficients::asin_f64); }

/// asin(t) is t (1 + rest); beyond one half t is the sine of half the complement.
struct Halved {
  Expr outer, t, rest;
};
Halved halve(Expr a) {
  const Expr outer = a > .5, z = select(outer, (1. - a) * .5, a * a);
  return {outer, select(outer, sqrt(z), a), asin_rest(z)};
}

/// atan(a / b) for a and b that are not negative: an angle of at most pi/2.
Expr angle_of(Expr a, Expr b) {
  const bool wide = a.is_double();
  const double half_pi_low = wide ? kHalfPiLow : kHalfPiLowNarrow;
  // So that sums stay numbers, and halves exact.
  const Expr larger = max(a, b), one = a.constant(1);
  const Expr scale = select(larger > (wide ? 0x1p1000 : 0x1p120), a.constant(0x1p-60),
                            select(larger < (wide ? 0x1p-960 : 0x1p-80), a.constant(0x1p60), one));
  const Expr both = (a == kInf) & (b == kInf);
  a = select(both, a.constant(1), a * scale), b = select(both, b.constant(1), b * scale);
  const Expr middle = a > b * .5, big = b < a * constants::tan_eighth_pi;
  const Expr u = select(big, -b, select(middle, a - b, a)), d = select(big, a, select(middle, a + b, b));
  const Expr t = select(d == 0., a.constant(0), u / d), z = t * t;
  const Expr zero = a.constant(0);
  const Expr base = select(big, a.constant(kPi / 2), select(middle, a.constant(kPi / 4), zero));
  const Expr low = select(big, a.constant(half_pi_low), select(middle, a.constant(half_pi_low / 2), zero));
  return base + (t + fma(t * z, polynomial(z, wide ? std::span<const double>(coefficients::atan_f64) : coefficients::atan_f32), low));
}

}  // namespace

Expr asin_f64(Expr x) {
  const auto [outer, t, rest] = halve(abs(x));
  // pi/2 - 2 t (1 + rest), with what the first difference lost.
  const Expr twice = t * 2., difference = kPi / 2 - twice, lost = (kPi / 2 - difference) - twice;
  const Expr y = difference - (fma(twice, rest, -(lost + kHalfPiLow)));
  return copysign(select(outer, y, fma(t, rest, t)), x);
}

Expr acos_f64(Expr x) {
  const auto [outer, t, rest] = halve(abs(x));
  const Expr twice = fma(t, rest, t) * 2.;
  const Expr inner = kPi / 2 - (x - (kHalfPiLow - x * rest));
  return select(outer, select(x < 0., kPi - (twice - 2 * kHalfPiLow), twice), inner);
}

Expr atan(Expr x) { return select(x != x, x, copysign(angle_of(abs(x), x.constant(1)), x)); }

Expr atan2(Expr y, Expr x) {
  const double half_pi_low = x.is_double() ? kHalfPiLow : kHalfPiLowNarrow;
  const Expr a = angle_of(abs(y), abs(x)), negative = x.as_bits() < x.as_bits().integer(0);
  const Expr angle = select(negative, kPi - (a - 2 * half_pi_low), a);
  return select((x != x) | (y != y), x + y, copysign(angle, y));
}

namespace {
const AddMathRule asin_rule({MathFunction::asin, "asin", 48, [](Expr x, Expr) { return x.is_double() ? asin_f64(x) : asin_f32(x); },
                             [](double x, double) { return std::asin(x); }});
const AddMathRule acos_rule({MathFunction::acos, "acos", 48, [](Expr x, Expr) { return x.is_double() ? acos_f64(x) : acos_f32(x); },
                             [](double x, double) { return std::acos(x); }});
const AddMathRule atan_rule({MathFunction::atan, "atan", 48, [](Expr x, Expr) { return atan(x); },
                             [](double x, double) { return std::atan(x); }});
const AddMathRule atan2_rule({MathFunction::atan2, "atan2", 48, [](Expr x, Expr y) { return atan2(x, y); },
                              [](double x, double y) { return std::atan2(x, y); }});
}  // namespace

}  // namespace weft::detail::math
