// Circular functions: reduction modulo pi/2 by Cody and Waite (Software Manual for the Elementary Functions, 1980) with fused
// multiply-adds, exact for arguments of usual size; larger ones go to the library.
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

using constants::half_pi_f32;
using constants::half_pi_f64;

struct Quadrant {
  Expr r, n;  // x = n pi/2 + r
  Expr low;   // what rounding r lost
};
Quadrant reduce_by_half_pi(Expr x) {
  const bool wide = x.is_double();
  const double magic = wide ? 6755399441055744. : 12582912.;
  const Expr shifted = fma(x, constants::two_over_pi, x.constant(magic));
  const Expr n = shifted - magic;
  const auto& [first, second, third] = wide ? half_pi_f64 : half_pi_f32;
  const Expr high = fma(n, -first, x), middle = fma(n, -second, high), r = fma(n, -third, middle);
  // high - n second in two parts, by Knuth's sum of two numbers of any size, less what is in r.
  const Expr p = n * second, p_low = fma(n, second, -p), s = high - p, back = s - high, s_low = (high - (s - back)) - (p + back);
  return {r, shifted.as_bits(), fma(n, -third, ((s - middle) + (s_low - p_low)) + (middle - r))};
}

Expr sin_polynomial(Expr r) {
  const Expr z = r * r;
  return fma(r * z, polynomial(z, r.is_double() ? std::span<const double>(sin_f64) : sin_f32), r);
}
Expr cos_polynomial(Expr r) {
  const Expr z = r * r;
  const Expr quotient = fma(z, polynomial(z, r.is_double() ? std::span<const double>(cos_f64) : cos_f32), -.5);
  return fma(z, quotient, 1.);
}

Expr bit(Expr n, int which) { return (n & n.integer(which)) != n.integer(0); }

Expr tan_of(const Quadrant& q) {
  const auto& [r, n, low] = q;
  const Expr z = r * r, p = polynomial(z, r.is_double() ? std::span<const double>(tan_f64) : tan_f32);
  // The derivative is at least 1 + r^2: what the argument has lost counts.
  const Expr t = r + fma(r * z, p, fma(low, z, low));
  return select(bit(n, 1), -1. / t, t);
}

Expr library(MathFunction f, Expr condition, Expr x, Expr fast) { return {x.b, x.b->call_where(condition.v, f, std::array{x.v}, fast.v)}; }

Expr is_huge(Expr x) { return abs(x) > (x.is_double() ? 0x1p30 : 0x1p18); }

}  // namespace

Expr sin(Expr x) {
  const auto [r, n, low] = reduce_by_half_pi(x);
  const Expr y = select(bit(n, 1), cos_polynomial(r), sin_polynomial(r));
  return library(MathFunction::sin, is_huge(x), x, select(x == 0., x, select(bit(n, 2), -y, y)));
}

Expr cos(Expr x) {
  const auto [r, n, low] = reduce_by_half_pi(x);
  const Expr y = select(bit(n, 1), sin_polynomial(r), cos_polynomial(r));
  return library(MathFunction::cos, is_huge(x), x, select(bit(n + n.integer(1), 2), -y, y));
}

Expr tan(Expr x) {
  const Quadrant q = reduce_by_half_pi(x);
  return library(MathFunction::tan, is_huge(x), x, select(x == 0., x, tan_of(q)));
}

/// Reduction by Payne and Hanek (SIGNUM Newsletter, 1983): x = m 2^s with an integer m, and of 2/pi 2^s only the 96 bits from the weight 2
/// down matter.
Expr circular_of_huge_f32(MathFunction f, Expr x) {
  KernelBuilder& b = *x.b;
  const auto wide = [&](std::uint64_t c) { return Expr{&b, b.integer(uint64, static_cast<std::int64_t>(c))}; };
  const auto up = [&](Expr v, Expr n) { return Expr{&b, b.shl(v.v, n.v)}; };
  const auto down = [&](Expr v, Expr n) { return Expr{&b, b.shr_logical(v.v, n.v)}; };
  const Expr bits = Expr{&b, b.bitcast(abs(x).v, uint32)}.to(uint64);
  const Expr m = (bits & wide(0x7fffff)) | wide(0x800000);
  // The first of the bits, counted from 32 zeros in front of the point; clamped, so that small x, whose result is not used, are in range.
  const Expr exponent = down(bits, wide(23));
  const Expr first = max(exponent, wide(145)) - wide(120), word = down(first, wide(5)), shift = first & wide(31);
  const auto word_at = [&](std::size_t n) {
    Expr w = wide(constants::two_over_pi_bits[n]);
    for (std::size_t k = 1; k < 5; ++k) w = select(word == wide(k), wide(constants::two_over_pi_bits[k + n]), w);
    return w;
  };
  const Expr w0 = word_at(0), w1 = word_at(1), w2 = word_at(2), w3 = word_at(3);
  const auto join = [&](Expr high, Expr low) { return up(high, wide(32)) | low; };
  const Expr high = down(up(join(w0, w1), shift), wide(32)) & wide(0xffffffff);
  const Expr middle = down(up(join(w1, w2), shift), wide(32)) & wide(0xffffffff);
  const Expr low = down(up(join(w2, w3), shift), wide(32)) & wide(0xffffffff);
  // Quarter turns in the two highest bits.
  const Expr turns = m * join(high, middle) + down(m * low, wide(32));
  const Expr n = down(turns + wide(std::uint64_t{1} << 61), wide(62)) & wide(3);
  const Expr rest = turns - up(n, wide(62));
  const Expr exact = Expr{&b, b.bitcast(rest.v, int64)}.to(float64) * (half_pi_f64[0] * 0x1p-62), r = exact.to(float32);
  const Expr nan = x - x;  // of infinity
  const auto with_sign = [&](Expr y) { return select(x < 0., -y, y) + nan; };
  if (f == MathFunction::tan) return with_sign(tan_of({r, n, (exact - r.to(float64)).to(float32)}));
  const Expr s = sin_polynomial(r), c = cos_polynomial(r);
  if (f == MathFunction::cos) {
    const Expr y = select(bit(n, 1), s, c);
    return select(bit(n + wide(1), 2), -y, y) + nan;
  }
  const Expr y = select(bit(n, 1), c, s);
  return with_sign(select(bit(n, 2), -y, y));
}

namespace {
// Above this twice the arc sine below stays under 1: its rounding counts half.
constexpr double kOuter = .545;
// asin(t) for 0 <= t <= kOuter, z = t^2.
Expr asin_polynomial(Expr t, Expr z) { return fma(t * z, polynomial(z, coefficients::asin_f32), t); }
}  // namespace

Expr asin_f32(Expr x) {
  const Expr a = abs(x), outer = a > kOuter;
  const Expr z = select(outer, (1. - a) * .5, a * a), t = select(outer, sqrt(z), a);
  const Expr p = asin_polynomial(t, z);
  return copysign(select(outer, half_pi_f32[0] - (p * 2. - half_pi_f32[1]), p), x);
}

Expr acos_f32(Expr x) {
  const Expr a = abs(x), outer = a > kOuter;
  const Expr z = select(outer, (1. - a) * .5, a * a), t = select(outer, sqrt(z), a);
  const Expr p = asin_polynomial(t, z);
  const Expr inner = half_pi_f32[0] - (copysign(p, x) - half_pi_f32[1]);
  const Expr twice = p * 2.;
  return select(outer, select(x < 0., 2 * half_pi_f32[0] - (twice - 2 * half_pi_f32[1]), twice), inner);
}

namespace {
const AddMathRule sin_rule({MathFunction::sin, "sin", 48, [](Expr x, Expr) { return sin(x); },
                            [](double x, double) { return precise_sin(x); }, "sin"});
const AddMathRule cos_rule({MathFunction::cos, "cos", 48, [](Expr x, Expr) { return cos(x); },
                            [](double x, double) { return precise_cos(x); }, "cos"});
const AddMathRule tan_rule({MathFunction::tan, "tan", 48, [](Expr x, Expr) { return tan(x); },
                            [](double x, double) { return precise_tan(x); }, "tan"});
}  // namespace

}  // namespace weft::detail::math
