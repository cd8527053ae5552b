// Rarer functions of jax.scipy.special: Bessel functions of integer order, spherical harmonics, Owen's T function, Gauss's hypergeometric
// function, Faddeeva's function.
#pragma once
#include <optional>

#include "weft/core/array/array.h"

namespace weft {

/// Options of bessel_jn.
struct BesselOptions {
  Int v;            ///< the highest order
  Int n_iter = 50;  ///< from which order the recurrence goes down: well above v, and above the largest modulus of the argument
};
/// Bessel's functions of the first kind, of the orders 0 to v along a new first axis, for real z. Throws Error where v is not below n_iter,
/// DTypeError for complex numbers.
Array bessel_jn(Arg z, BesselOptions options);
/// Options of sph_harm_y.
struct SphericalOptions {
  std::optional<Int> n_max = {};  ///< the highest degree; absent: that of n, whose values must then be known
};
/// The spherical harmonic of degree n and order m, complex and of norm 1 on the sphere, at the polar angle theta and the azimuth phi. n and
/// m are integers; 0 where abs(m) > n. The arguments broadcast together. Throws DTypeError where n or m are no integers,
/// ConcretizationError where n is traced and n_max absent.
Array sph_harm_y(Arg n, Arg m, Arg theta, Arg phi, SphericalOptions options = {});
/// Owen's T function: the probability that two independent normal numbers x and y have x > h and 0 < y < a x.
Array owens_t(Arg h, Arg a);
/// Gauss's hypergeometric function 2F1(a, b; c; x) of real numbers: the sum of (a)_k (b)_k / (c)_k x^k / k!. Infinity for x > 1, where only
/// the polynomials of a or b = 0, -1, -2, ... are real, and for c = 0, -1, -2, ...; NaN for x between 0.993 and 1 where c - a - b is
/// near an integer, but none. All derivatives are known. Throws DTypeError for complex numbers.
Array hyp2f1(Arg a, Arg b, Arg c, Arg x);
/// Faddeeva's function exp(-z^2) erfc(-i z), complex, of real or complex z.
Array wofz(Arg z);

}  // namespace weft
