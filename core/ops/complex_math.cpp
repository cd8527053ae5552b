#include "core/ops/complex_math.h"

namespace weft::detail {

using V = KernelValue;
using M = MathFunction;

V times_i(KernelBuilder& b, V z) { return b.complex(b.neg(b.imag(z)), b.real(z)); }
V over_i(KernelBuilder& b, V z) { return b.complex(b.imag(z), b.neg(b.real(z))); }

V complex_exp(KernelBuilder& b, V z) {
  const V re = b.real(z), im = b.imag(z), size = b.math(M::exp, re);
  // A real operand's imaginary part stays 0 also where the modulus is infinite.
  const V is_real = b.eq(im, b.constant(im.dtype, 0));
  return b.complex(b.mul(size, b.math(M::cos, im)), b.select(is_real, im, b.mul(size, b.math(M::sin, im))));
}
V complex_log(KernelBuilder& b, V z) { return b.complex(b.math(M::log, b.abs(z)), b.math(M::atan2, b.imag(z), b.real(z))); }
V complex_sqrt(KernelBuilder& b, V z) {
  const V re = b.real(z), im = b.imag(z), half = b.constant(re.dtype, 0.5), zero = b.constant(re.dtype, 0), one = b.constant(re.dtype, 1);
  // The part without cancellation first; the other one from it.
  const V large = b.sqrt(b.fma(half, b.abs(z), b.mul(half, b.abs(re))));
  const V other = b.div(b.mul(half, im), b.select(b.eq(large, zero), one, large));
  const V right = b.ge(re, zero);
  return b.complex(b.select(right, large, b.abs(other)), b.select(right, other, b.copysign(large, im)));
}
V complex_sinh(KernelBuilder& b, V z) {
  const V re = b.real(z), im = b.imag(z);
  return b.complex(b.mul(b.math(M::sinh, re), b.math(M::cos, im)), b.mul(b.math(M::cosh, re), b.math(M::sin, im)));
}
V complex_cosh(KernelBuilder& b, V z) {
  const V re = b.real(z), im = b.imag(z);
  return b.complex(b.mul(b.math(M::cosh, re), b.math(M::cos, im)), b.mul(b.math(M::sinh, re), b.math(M::sin, im)));
}
V complex_sin(KernelBuilder& b, V z) { return over_i(b, complex_sinh(b, times_i(b, z))); }
V complex_cos(KernelBuilder& b, V z) { return complex_cosh(b, times_i(b, z)); }
V complex_tanh(KernelBuilder& b, V z) {
  // With t = tanh(re), c = cos(im), s = sin(im): (t + i c s / cosh(re)^2) / (c^2 + t^2 s^2).
  const V re = b.real(z), im = b.imag(z), t = b.math(M::tanh, re), c = b.math(M::cos, im), s = b.math(M::sin, im);
  const V secant = b.div(b.constant(re.dtype, 1), b.math(M::cosh, re)), ts = b.mul(t, s), scale = b.fma(c, c, b.mul(ts, ts));
  return b.complex(b.div(t, scale), b.div(b.mul(b.mul(c, s), b.mul(secant, secant)), scale));
}

}  // namespace weft::detail
