// Special functions of jax.scipy.special and jax.numpy: sinc, xlogy, logit, ndtr and their relatives. Each is elementwise.
#pragma once
#include "weft/core/array/array.h"

namespace weft {

// Special functions with jax.scipy.special's meaning; integers are computed in float32.

/// sin(pi x) / (pi x), 1 at 0 (jnp.sinc). Its derivatives, up to the 28th, are accurate at and near 0.
Array sinc(Arg x);
/// 0 where x is negative, `at_zero` where it is 0, 1 where it is positive.
Array heaviside(Arg x, Arg at_zero);
/// x log(y), 0 where x is 0. The derivative by x is log(y), also at 0.
Array xlogy(Arg x, Arg y);
/// x log1p(y), 0 where x is 0.
Array xlog1py(Arg x, Arg y);
/// -x log(x), 0 at 0, -infinity of negative numbers.
Array entr(Arg x);
/// x log(x / y), 0 where x is 0 and y isn't negative; infinity outside of the numbers for which it is defined.
Array rel_entr(Arg x, Arg y);
/// rel_entr(x, y) - x + y.
Array kl_div(Arg x, Arg y);
/// log(x / (1 - x)), the inverse of sigmoid.
Array logit(Arg x);
/// sigmoid(x).
Array expit(Arg x);
/// The inverse of erf.
Array erfinv(Arg x);
/// log2(2^x + 2^y) without overflow.
Array logaddexp2(Arg x, Arg y);
/// The logarithm of the gamma function's modulus: lgamma(x).
Array gammaln(Arg x);
/// The distribution function of the standard normal distribution.
Array ndtr(Arg x);
/// log(ndtr(x)), without loss where ndtr(x) is small.
Array log_ndtr(Arg x);
/// The inverse of ndtr: infinite at 0 and 1, NaN outside of [0, 1].
Array ndtri(Arg p);
/// The modified Bessel function of the first kind, of order 0.
Array i0(Arg x);
/// exp(-abs(x)) i0(x).
Array i0e(Arg x);
/// The modified Bessel function of the first kind, of order 1.
Array i1(Arg x);
/// exp(-abs(x)) i1(x).
Array i1e(Arg x);

// The gamma function and its relatives, of real numbers.

/// The gamma function.
Array gamma(Arg x);
/// The sign of the gamma function; NaN at its poles.
Array gammasgn(Arg x);
/// The logarithm of the beta function's modulus, without loss where a and b are large.
Array betaln(Arg a, Arg b);
/// The beta function: gamma(a) gamma(b) / gamma(a + b).
Array beta(Arg a, Arg b);
/// n!, as gamma(n + 1); 0 of negative numbers.
Array factorial(Arg n);
/// n! / (k! (n - k)!), as floats; 0 unless 0 <= k <= n.
Array comb(Arg n, Arg k);
/// The logarithm of the multivariate gamma function of dimension d.
Array multigammaln(Arg a, Int d);
/// gamma(z + m) / gamma(z).
Array poch(Arg z, Arg m);
/// The lower incomplete gamma function divided by gamma(a): the distribution function of the gamma distribution. Both derivatives are
/// known.
Array gammainc(Arg a, Arg x);
/// 1 - gammainc(a, x), without loss where it is small.
Array gammaincc(Arg a, Arg x);
/// The incomplete beta function divided by beta(a, b): the distribution function of the beta distribution. All derivatives are known.
Array betainc(Arg a, Arg b, Arg x);
/// (x^lambda - 1) / lambda, log(x) where lambda is 0.
Array boxcox(Arg x, Arg lambda);
/// boxcox(1 + x, lambda).
Array boxcox1p(Arg x, Arg lambda);

}  // namespace weft
