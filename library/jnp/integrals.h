// Special functions of jax.scipy.special that are integrals or series: zeta, exponential, sine and Fresnel integrals, the dilogarithm, the
// scaled complementary error function, Kummer's function. Each is elementwise, of real numbers; integers are computed in float32.
#pragma once
#include "weft/core/array/array.h"

namespace weft {

/// Hurwitz's zeta function: the sum over k >= 0 of (k + q)^-x. Infinite at x = 1, NaN for x < 1.
Array zeta(Arg x, Arg q);
/// The exponential integral: the integral of exp(-t) / t from x on; NaN of negative numbers.
Array exp1(Arg x);
/// The integral of exp(t) / t from -infinity to x (its principal value).
Array expi(Arg x);
/// The integral of exp(-x t) / t^n from 1 on, for integers n >= 0 and x >= 0. The derivative by x is known.
Array expn(Arg n, Arg x);
/// exp(x^2) erfc(x), without overflow for positive x.
Array erfcx(Arg x);
/// Dawson's function: exp(-x^2) times the integral of exp(t^2) from 0 to x.
Array dawsn(Arg x);
/// Result of sici.
struct SineIntegrals {
  Array si;  ///< the integral of sin(t) / t from 0 to x
  Array ci;  ///< Euler's constant + log(|x|) + the integral of (cos(t) - 1) / t from 0 to x
};
/// The sine and the cosine integral.
SineIntegrals sici(Arg x);
/// Result of fresnel.
struct FresnelIntegrals {
  Array s;  ///< the integral of sin(pi t^2 / 2) from 0 to x
  Array c;  ///< of cos(pi t^2 / 2)
};
/// Fresnel's integrals.
FresnelIntegrals fresnel(Arg x);
/// The integral of log(t) / (1 - t) from 1 to x: the dilogarithm of 1 - x. NaN of negative numbers.
Array spence(Arg x);
/// Kummer's function 1F1(a; b; x): the sum of a (a + 1) ... x^k / (b (b + 1) ... k!). All derivatives are known.
Array hyp1f1(Arg a, Arg b, Arg x);

// lax's names.
/// gammainc(a, x).
Array igamma(Arg a, Arg x);
/// gammaincc(a, x).
Array igammac(Arg a, Arg x);
/// i0e(x).
Array bessel_i0e(Arg x);
/// i1e(x).
Array bessel_i1e(Arg x);

}  // namespace weft
