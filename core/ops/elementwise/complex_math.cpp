#include "weft/core/ops/elementwise/complex_math.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace weft::detail {

using V = KernelValue;
using M = MathFunction;

namespace {

V number(KernelBuilder& b, V like, double value) { return b.constant(like.dtype, value); }
V infinity(KernelBuilder& b, V like) { return number(b, like, std::numeric_limits<double>::infinity()); }
V is_zero(KernelBuilder& b, V x) { return b.eq(x, number(b, x, 0)); }
V is_infinite(KernelBuilder& b, V x) { return b.eq(b.abs(x), infinity(b, x)); }
/// 1 with the sign of x.
V signed_one(KernelBuilder& b, V x) { return b.copysign(number(b, x, 1), x); }

/// exp(x), sinh(x) and cosh(x) are the function of `x` times `scale`, which is not 1 where exp(|x|) overflows: its product with a sine need
/// not.
struct Scaled {
  V x, scale;
};
Scaled scaled(KernelBuilder& b, V x, V size) {
  const bool wide = x.dtype == float64;
  // limit - step is so large that sinh and cosh are exp / 2 there, too.
  const double limit = wide ? 709 : 88, step = wide ? 640 : 64;
  const V large = b.gt(size, number(b, x, limit));
  return {b.select(large, b.sub(x, b.copysign(number(b, x, step), x)), x), b.select(large, number(b, x, std::exp(step)), number(b, x, 1))};
}

/// The cosine and sine of an angle. Where the radius is infinite and the angle no number, the limits of ISO C's annex G come of other ones.
struct Angle {
  V cos, sin, undefined;
  Angle(KernelBuilder& b, V angle, V radius) : cos(b.math(M::cos, angle)), sin(b.math(M::sin, angle)) {
    undefined = b.bit_and(is_infinite(b, radius), b.ne(cos, cos));
  }
};

/// Powers of 2 that bring both parts of a number near enough to 1 for sums of their squares.
struct Magnitude {
  V large, is_large, is_small;
  Magnitude(KernelBuilder& b, V re, V im) : large(b.max(b.abs(re), b.abs(im))) {
    is_large = b.gt(large, number(b, large, wide() ? 0x1p1020 : 0x1p124));
    is_small = b.lt(large, number(b, large, wide() ? 0x1p-960 : 0x1p-100));
  }
  /// A function of the number times factor(b).
  V factor(KernelBuilder& b) const { return choose(b, 0x1p-4, wide() ? 0x1p120 : 0x1p48); }
  V choose(KernelBuilder& b, double if_large, double if_small, double otherwise = 1) const {
    return b.select(is_large, number(b, large, if_large), b.select(is_small, number(b, large, if_small), number(b, large, otherwise)));
  }
  bool wide() const { return large.dtype == float64; }
};

/// The logarithm. Where `excess` is meant, |z|^2 - 1 is already known, and more exactly than z.
V log_with_excess(KernelBuilder& b, V z, V is_known, V excess) {
  const V re = b.real(z), im = b.imag(z), one = number(b, re, 1);
  const Magnitude m(b, re, im);
  const double ln2 = std::numbers::ln2;
  const V factor = m.factor(b), scaled_back = m.choose(b, 4 * ln2, (m.wide() ? -120 : -48) * ln2, 0);
  const V far = b.add(b.math(M::log, b.abs(b.complex(b.mul(re, factor), b.mul(im, factor)))), scaled_back);
  // Near the unit circle the modulus has lost the places that its logarithm consists of.
  const V small = b.min(b.abs(re), b.abs(im)), own_excess = b.fma(b.sub(m.large, one), b.add(m.large, one), b.mul(small, small));
  const V is_near = b.bit_and(b.gt(m.large, number(b, re, 0.5)), b.lt(m.large, number(b, re, 1.5)));
  const V argument = b.select(is_known, excess, b.select(is_near, own_excess, number(b, re, 0)));
  const V near = b.mul(number(b, re, 0.5), b.math(M::log1p, argument));
  return b.complex(b.select(b.bit_or(is_known, is_near), near, far), b.math(M::atan2, im, re));
}

}  // namespace

V times_i(KernelBuilder& b, V z) { return b.complex(b.neg(b.imag(z)), b.real(z)); }
V over_i(KernelBuilder& b, V z) { return b.complex(b.imag(z), b.neg(b.real(z))); }

V complex_exp(KernelBuilder& b, V z) {
  const V re = b.real(z), im = b.imag(z);
  const Scaled s = scaled(b, re, re);
  const Angle angle(b, im, re);
  const V size = b.math(M::exp, s.x), negative = b.lt(re, number(b, re, 0));
  const V cos = b.select(angle.undefined, number(b, re, 1), angle.cos);
  const V sin = b.select(b.bit_and(angle.undefined, negative), signed_one(b, im), angle.sin);
  // A real operand's imaginary part stays 0 also where the modulus is infinite.
  return b.complex(b.mul(b.mul(size, cos), s.scale), b.select(is_zero(b, im), im, b.mul(b.mul(size, sin), s.scale)));
}
V complex_expm1(KernelBuilder& b, V z) {
  const V re = b.real(z), im = b.imag(z), half = b.math(M::sin, b.mul(im, number(b, im, 0.5)));
  const Scaled s = scaled(b, re, re);
  const V product = b.mul(b.mul(b.math(M::expm1, s.x), b.math(M::cos, im)), s.scale);
  const V sine = b.mul(b.mul(b.math(M::exp, s.x), b.math(M::sin, im)), s.scale);
  return b.complex(b.sub(product, b.mul(number(b, im, 2), b.mul(half, half))), b.select(is_zero(b, im), im, sine));
}
V complex_logistic(KernelBuilder& b, V z) {
  // Terms that do not overflow: y / (1 + y), y = exp(w), or 1 / (1 + y).
  const V one = b.constant(z.dtype, 1), negative = b.lt(b.real(z), number(b, b.real(z), 0));
  const V w = b.select(negative, z, b.neg(z)), re = b.real(w), im = b.imag(w), y = complex_exp(b, w);
  // 1 + y is (exp(re) - 1) cos(im) + 2 cos(im / 2)^2 in its real part, which next to a pole keeps its digits.
  const V half = b.math(M::cos, b.mul(im, number(b, im, 0.5)));
  const V near = b.add(b.mul(b.math(M::expm1, re), b.math(M::cos, im)), b.mul(number(b, im, 2), b.mul(half, half)));
  const V sum = b.add(one, y), below = b.select(b.gt(re, number(b, re, -1)), b.complex(near, b.imag(y)), sum);
  return b.div(b.select(negative, y, one), below);
}
V complex_log(KernelBuilder& b, V z) { return log_with_excess(b, z, b.constant(bool_, 0), b.real(z)); }
V complex_log1p(KernelBuilder& b, V z) {
  const V re = b.real(z), im = b.imag(z), half = number(b, re, 0.5);
  const V excess = b.fma(re, b.add(number(b, re, 2), re), b.mul(im, im));
  const V is_near = b.bit_and(b.lt(b.abs(re), half), b.lt(b.abs(im), half));
  return log_with_excess(b, b.complex(b.add(number(b, re, 1), re), im), is_near, excess);
}
V complex_pow(KernelBuilder& b, V x, V y) {
  const V log = complex_log(b, x), re = b.real(y), im = b.imag(y), zero = number(b, re, 0), one = number(b, re, 1);
  const V nan = number(b, re, std::numeric_limits<double>::quiet_NaN());
  // A real exponent's imaginary part is 0 also beside infinities.
  const auto times_im = [&](V part) { return b.select(is_zero(b, im), zero, b.mul(im, part)); };
  // Nor has a real power of a positive number an imaginary part, however large or undefined the exponent is.
  const V real = b.bit_and(is_zero(b, im), b.bit_and(is_zero(b, b.imag(x)), b.gt(b.real(x), zero)));
  const V angle = b.select(real, zero, b.add(b.mul(re, b.imag(log)), times_im(b.real(log))));
  const V power = complex_exp(b, b.complex(b.sub(b.mul(re, b.real(log)), times_im(b.imag(log))), angle));
  const V positive = b.gt(re, zero), of_zero = b.complex(b.select(positive, zero, nan), b.select(positive, zero, nan));
  const V x_zero = b.bit_and(is_zero(b, b.real(x)), is_zero(b, b.imag(x))), x_one = b.bit_and(b.eq(b.real(x), one), is_zero(b, b.imag(x)));
  const V is_one = b.bit_or(x_one, b.bit_and(is_zero(b, re), is_zero(b, im)));
  return b.select(is_one, b.complex(one, zero), b.select(x_zero, of_zero, power));
}
V complex_sqrt(KernelBuilder& b, V z) {
  const V given_im = b.imag(z);
  const Magnitude m(b, b.real(z), given_im);
  const V factor = m.factor(b), scaled_back = m.choose(b, 0x1p2, m.wide() ? 0x1p-60 : 0x1p-24);
  const V re = b.mul(b.real(z), factor), im = b.mul(given_im, factor), half = number(b, re, 0.5), zero = number(b, re, 0);
  // The part without cancellation first; the other one from it.
  const V large = b.sqrt(b.fma(half, b.abs(b.complex(re, im)), b.mul(half, b.abs(re))));
  const V other = b.div(im, b.select(b.eq(large, zero), number(b, re, 1), b.add(large, large)));
  const V right = b.ge(re, zero);
  const V root_re = b.mul(b.select(right, large, b.abs(other)), scaled_back);
  const V root_im = b.mul(b.select(right, other, b.copysign(large, im)), scaled_back);
  const V infinite = is_infinite(b, given_im);
  return b.complex(b.select(infinite, infinity(b, re), root_re), b.select(infinite, given_im, root_im));
}
V complex_square(KernelBuilder& b, V z) {
  const V re = b.real(z), im = b.imag(z), product = b.mul(re, im), size = b.abs(re);
  // Parts alike differ by 0, also where their sum overflows.
  const V alike = b.bit_and(b.eq(size, b.abs(im)), b.lt(size, infinity(b, re)));
  return b.complex(b.select(alike, number(b, re, 0), b.mul(b.sub(re, im), b.add(re, im))), b.add(product, product));
}
V complex_sinh(KernelBuilder& b, V z) {
  const V re = b.real(z), im = b.imag(z);
  const Scaled s = scaled(b, re, b.abs(re));
  const Angle angle(b, im, re);
  const V across = b.select(angle.undefined, infinity(b, re), b.mul(b.mul(b.math(M::sinh, s.x), angle.cos), s.scale));
  const V along = b.mul(b.mul(b.math(M::cosh, s.x), angle.sin), s.scale);
  // A part that is 0 stays 0 whatever the other is.
  return b.complex(b.select(is_zero(b, re), re, across), b.select(is_zero(b, im), im, along));
}
V complex_cosh(KernelBuilder& b, V z) {
  const V re = b.real(z), im = b.imag(z);
  const Scaled s = scaled(b, re, b.abs(re));
  const Angle angle(b, im, re);
  const V across = b.select(angle.undefined, infinity(b, re), b.mul(b.mul(b.math(M::cosh, s.x), angle.cos), s.scale));
  const V along = b.mul(b.mul(b.math(M::sinh, s.x), angle.sin), s.scale);
  const V zero = b.mul(b.copysign(number(b, re, 0), re), signed_one(b, im));
  return b.complex(across, b.select(b.bit_or(is_zero(b, re), is_zero(b, im)), zero, along));
}
V complex_sin(KernelBuilder& b, V z) { return over_i(b, complex_sinh(b, times_i(b, z))); }
V complex_cos(KernelBuilder& b, V z) { return complex_cosh(b, times_i(b, z)); }
V complex_tanh(KernelBuilder& b, V z) {
  // With t = tanh(re), c = cos(im), s = sin(im): (t + i c s / cosh(re)^2) / (c^2 + t^2 s^2).
  const V re = b.real(z), im = b.imag(z), t = b.math(M::tanh, re), one = number(b, re, 1), zero = number(b, re, 0);
  const Angle angle(b, im, re);
  const V c = b.select(angle.undefined, one, angle.cos), s = b.select(angle.undefined, zero, angle.sin);
  const V secant = b.div(one, b.math(M::cosh, re)), ts = b.mul(t, s), scale = b.fma(c, c, b.mul(ts, ts));
  const V along = b.div(b.mul(b.mul(c, s), b.mul(secant, secant)), scale);
  return b.complex(b.select(is_zero(b, re), re, b.div(t, scale)), b.select(is_zero(b, im), im, along));
}

}  // namespace weft::detail
