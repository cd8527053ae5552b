// Special functions of jax.scipy.special and jax.numpy: sinc, xlogy, logit, ndtr and their relatives. Each is elementwise.
#pragma once
#include "weft/core/array/array.h"

namespace weft {

// Special functions with jax.scipy.special's meaning; integers are computed in float32.

/// sin(pi x) / (pi x), 1 at 0 (jnp.sinc). All its derivatives are right at 0.
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

}  // namespace weft
