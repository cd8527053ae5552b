// exp and log by range reduction to one binade and a polynomial; what is made of them keeps their relative accuracy near zero.
#include <cmath>
#include <limits>
#include <optional>

#include "weft/backends/codegen/math/coefficients.h"
#include "weft/backends/codegen/math/constants.h"
#include "weft/backends/codegen/math/functions.h"
#include "weft/backends/codegen/math/rules.h"

namespace weft::detail::math {
namespace {

using namespace coefficients;

constexpr double kLog2e = constants::log2e_f64[0];
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

struct Format {
  int mantissa_bits, bias;
  double magic;  // 1.5 * 2^mantissa_bits: adding it rounds to an integer, which then is in the low bits
  double ln2_high, ln2_low;
};
Format format(Expr x) {
  // ln 2 in two parts; the upper one has trailing zeros, so that its product with an exponent is exact.
  if (x.is_double()) return {52, 1023, 6755399441055744., constants::ln2_f64[0], constants::ln2_f64[1]};
  return {23, 127, 12582912., constants::ln2_f32[0], constants::ln2_f32[1]};
}

struct Rounded {
  Expr value;  // as a floating number
  Expr bits;   // magic + value, as an integer: the low bits are the value
};
Rounded round_to_integer(Expr x) {
  const Format f = format(x);
  const Expr shifted = x + f.magic;
  return {shifted - f.magic, shifted.as_bits()};
}

// The same of x c, rounded once.
Rounded round_product(Expr x, double c) {
  const double magic = format(x).magic;
  const Expr shifted = fma(x, c, x.constant(magic));
  return {shifted - magic, shifted.as_bits()};
}

// 2^n for n in the low bits, in the range of normal numbers.
Expr power_of_two(Expr n) { return shl(n + n.integer(n.v.dtype == int64 ? 1023 : 127), n.v.dtype == int64 ? 52 : 23).as_float(); }

// y * 2^n in two steps, so that n may run from below the smallest subnormal to above the largest number. 0 where `vanishes` holds: numbers
// that underflow take processors a hundred cycles or more.
Expr scale(Expr y, Expr n, std::optional<Expr> vanishes = {}) {
  const Expr half = sar(n, 1), rest = power_of_two(n - half);
  return y * power_of_two(half) * (vanishes ? select(*vanishes, y.constant(0), rest) : rest);
}

// The integer that round_to_integer left in the low bits.
Expr low_integer(Rounded r, Expr like) { return r.bits - like.constant(format(like).magic).as_bits(); }

struct Reduced {
  Expr r, n;  // x = n ln 2 + r, |r| <= ln 2 / 2
};
Reduced reduce_by_ln2(Expr x) {
  const Format f = format(x);
  const Rounded n = round_to_integer(x * kLog2e);
  const Expr r = fma(n.value, -f.ln2_low, fma(n.value, -f.ln2_high, x));
  return {r, low_integer(n, x)};
}

Expr clamp(Expr x, double lo, double hi) { return min(max(x, x.constant(lo)), x.constant(hi)); }

// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)).
struct Split {
  Expr f, k;
};
Split split_exponent(Expr x) {
  const Format form = format(x);
  const bool wide = x.is_double();
  const Expr root_half = x.constant(constants::root_half).as_bits();
  const Expr bits = x.as_bits(), k = sar(bits - root_half, form.mantissa_bits);
  const Expr m = (bits - shl(k, form.mantissa_bits)).as_float();
  return {m - 1., k.to(wide ? float64 : float32)};
}

// log(1 + f) + k ln 2 + c for the parts above, but for k times the upper part of ln 2.
Expr rest_of_log(Expr f, Expr k, Expr c) {
  const Format form = format(f);
  const Expr half_square = f * f * .5;
  if (!f.is_double()) {
    const Expr tail = f * f * f * polynomial(f, log_f32);
    return f - (half_square - (tail + fma(k, form.ln2_low, c)));
  }
  const Expr s = f / (f + 2.), z = s * s, r = z * polynomial(z, log_f64);
  return -(half_square - fma(s, half_square + r, fma(k, form.ln2_low, c)) - f);
}
Expr log_of_parts(Expr f, Expr k, Expr c) { return fma(k, format(f).ln2_high, rest_of_log(f, k, c)); }

Expr log_special(Expr x, Expr y) {
  y = select(x == kInf, x, y);
  y = select(x == 0., x.constant(-kInf), y);
  return select(x < 0., x.constant(kNan), select(x != x, x, y));
}

}  // namespace

Expr exp(Expr x) {
  const bool wide = x.is_double();
  const auto [r, n] = reduce_by_ln2(wide ? clamp(x, -746, 710) : clamp(x, -104, 89));
  const Expr p = polynomial(r, wide ? std::span<const double>(exp_f64) : exp_f32);
  return scale(fma(r * r, p, r) + 1., n, x < (wide ? -745.5 : -103.99));
}

Expr exp_times(Expr x, Expr low, Expr factor, std::optional<Expr> factor_low) {
  const bool wide = x.is_double();
  const Expr clamped = wide ? clamp(x, -746, 710) : clamp(x, -104, 89);
  const auto [r, n] = reduce_by_ln2(clamped);
  // r + low in two parts; what rounding r lost counts too.
  const Format f = format(x);
  const Expr k = round_to_integer(clamped * kLog2e).value;
  const Expr rest = low + fma(k, -f.ln2_low, fma(k, -f.ln2_high, clamped) - r);
  const Expr s = r + rest, s_low = (r - s) + rest;
  const Expr tail = fma(s * s, polynomial(s, wide ? std::span<const double>(exp_f64) : exp_f32), s_low);
  return scale(factor + fma(factor, s, factor_low ? fma(factor, tail, fma(*factor_low, s, *factor_low)) : factor * tail), n);
}

Expr half_exp(Expr x) {
  const bool wide = x.is_double();
  const auto [r, n] = reduce_by_ln2(wide ? clamp(x, -746, 711) : clamp(x, -104, 90));
  const Expr p = polynomial(r, wide ? std::span<const double>(exp_f64) : exp_f32);
  return scale(fma(r * r, p, r) + 1., n - n.integer(1));
}

Expr exp_of_small(Expr x) {
  const auto [r, n] = reduce_by_ln2(x);
  const Expr p = polynomial(r, x.is_double() ? std::span<const double>(exp_f64) : exp_f32);
  return (fma(r * r, p, r) + 1.) * power_of_two(n);
}

Expr complement_of_exp(Expr t) {
  // exp(-t) = s (1 + q) for a power of two s.
  const Format f = format(t);
  const Rounded n = round_product(t, -kLog2e);
  const Expr r = fma(n.value, -f.ln2_low, fma(n.value, -f.ln2_high, -t)), s = power_of_two(n.bits);
  const Expr q = fma(r * r, polynomial(r, t.is_double() ? std::span<const double>(expm1_f64) : expm1_f32), r);
  return fma(-s, q, 1. - s);
}

Expr exp2(Expr x) {
  const bool wide = x.is_double();
  const Expr y = wide ? clamp(x, -1080, 1030) : clamp(x, -151, 129);
  const Rounded n = round_to_integer(y);
  const Expr r = y - n.value;
  return scale(fma(r, polynomial(r, wide ? std::span<const double>(exp2_f64) : exp2_f32), 1.), low_integer(n, x),
               x < (wide ? -1076. : -151.));
}

Expr expm1(Expr x) {
  const bool wide = x.is_double();
  const auto [r, n] = reduce_by_ln2(wide ? clamp(x, -40, 710) : clamp(x, -20, 89));
  const Expr q = fma(r * r, polynomial(r, wide ? std::span<const double>(expm1_f64) : expm1_f32), r);
  // Half of 2^n, so that the largest exponent is still a number.
  const Expr s = power_of_two(n - n.integer(1));
  return select(x == 0., x, fma(s, q, s - .5) * 2.);
}

Expr log(Expr x) {
  const bool wide = x.is_double();
  const Expr tiny = x < (wide ? 0x1p-1022 : 0x1p-126);
  const auto [f, k] = split_exponent(select(tiny, x * (wide ? 0x1p54 : 0x1p24), x));
  return log_special(x, log_of_parts(f, select(tiny, k - (wide ? 54. : 24.), k), x.constant(0)));
}

Sum log_plus(Expr x, double base, Expr c) {
  const bool wide = x.is_double();
  const Expr tiny = x < (wide ? 0x1p-1022 : 0x1p-126);
  const auto [f, k0] = split_exponent(select(tiny, x * (wide ? 0x1p54 : 0x1p24), x));
  const Expr k = select(tiny, k0 - (wide ? 54. : 24.), k0);
  // The first part is exact. Their sum by Knuth's, as either may be the larger.
  const Expr first = fma(k, format(x).ln2_high, x.constant(base)), second = rest_of_log(f, k, c);
  const Expr sum = first + second, back = sum - first;
  return {sum, (first - (sum - back)) + (second - back)};
}

Expr log1p(Expr x) {
  // x - x^2 / 2 is x, and the square of what is smaller still would underflow.
  const Expr tiny = abs(x) < (x.is_double() ? 0x1p-55 : 0x1p-26);
  const Expr u = x + 1.;
  const Split parts = split_exponent(u);
  const Expr one_binade = parts.k == 0.;
  // What rounding 1 + x lost; in the binade around 1 nothing is lost if f is x itself.
  const Expr lost = select(x > 1., (x - u) + 1., x - (u - 1.)) / u;
  const Expr near = select(tiny, x.constant(0), x);
  const Expr y = log_of_parts(select(one_binade, near, parts.f), parts.k, select(one_binade, x.constant(0), lost));
  return select(tiny, x, log_special(u, y));
}

Expr log2(Expr x) {
  const bool wide = x.is_double();
  const Expr tiny = x < (wide ? 0x1p-1022 : 0x1p-126);
  const auto [f, k0] = split_exponent(select(tiny, x * (wide ? 0x1p54 : 0x1p24), x));
  const Expr k = select(tiny, k0 - (wide ? 54. : 24.), k0);
  const Expr y = log_of_parts(f, x.constant(0), x.constant(0));
  // log2(e) in two parts: the product is rounded once.
  const auto& [high, low] = wide ? constants::log2e_f64 : constants::log2e_f32;
  return log_special(x, fma(y, high, k) + y * low);
}

Expr tanh(Expr x) {
  const bool wide = x.is_double();
  const Expr a = abs(x), z = a * a;
  const Expr small = fma(a * z, polynomial(z, wide ? std::span<const double>(tanh_f64) : tanh_f32), a);
  const Expr twice = min(a, x.constant(wide ? 22 : 10)) * 2.;
  const Expr large = 1. - 2. / (exp_of_small(twice) + 1.);
  return copysign(select(a < .55, small, large), x);
}

Expr logistic(Expr x) {
  // 1 / (1 + e) for e = exp(-x) with what its last sum lost: the quotient is corrected by its residual. An exponent of e beyond `most`,
  // where 1 makes no difference, comes as a factor at the end, which rounds once where the result is subnormal. Of positive x no smaller e
  // makes a difference than that of 60 or 40.
  const bool wide = x.is_double();
  const Format f = format(x);
  const double most = wide ? 512 : 64;
  const Expr c = wide ? clamp(x, -746, 60) : clamp(x, -104, 40);
  const Rounded n = round_product(c, -kLog2e);
  const Expr r = fma(n.value, -f.ln2_low, fma(n.value, -f.ln2_high, -c));
  const Expr t = fma(r * r, polynomial(r, wide ? std::span<const double>(exp_f64) : exp_f32), r), y = t + 1.;
  const Expr near = min(n.bits.as_float(), x.constant(f.magic + most)).as_bits(), scale = power_of_two(near);
  const Expr e = y * scale, e_low = (t - (y - 1.)) * scale, one = x.constant(1);
  const Expr d = e + 1., d_low = (min(e, one) - (d - max(e, one))) + e_low, inverse = 1. / d;
  const Expr q = fma(fma(-d_low, inverse, fma(-d, inverse, 1.)), inverse, inverse);
  return q * select(x < (wide ? -745.5 : -103.99), x.constant(0), power_of_two(near - n.bits));
}

namespace {
const AddMathRule exp_rule({MathFunction::exp, "exp", 24, [](Expr x, Expr) { return exp(x); },
                            [](double x, double) { return std::exp(x); }});
const AddMathRule exp2_rule({MathFunction::exp2, "exp2", 24, [](Expr x, Expr) { return exp2(x); },
                             [](double x, double) { return std::exp2(x); }});
const AddMathRule expm1_rule({MathFunction::expm1, "expm1", 24, [](Expr x, Expr) { return expm1(x); },
                              [](double x, double) { return std::expm1(x); }});
const AddMathRule log_rule({MathFunction::log, "log", 24, [](Expr x, Expr) { return log(x); },
                            [](double x, double) { return std::log(x); }});
const AddMathRule log1p_rule({MathFunction::log1p, "log1p", 24, [](Expr x, Expr) { return log1p(x); },
                              [](double x, double) { return std::log1p(x); }});
const AddMathRule log2_rule({MathFunction::log2, "log2", 24, [](Expr x, Expr) { return log2(x); },
                             [](double x, double) { return std::log2(x); }});
const AddMathRule tanh_rule({MathFunction::tanh, "tanh", 24, [](Expr x, Expr) { return tanh(x); },
                             [](double x, double) { return std::tanh(x); }});
const AddMathRule logistic_rule({MathFunction::logistic, "logistic", 24, [](Expr x, Expr) { return logistic(x); },
                                 [](double x, double) { return 1 / (1 + std::exp(-x)); }});
}  // namespace

}  // namespace weft::detail::math
