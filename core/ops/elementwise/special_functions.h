// Special functions that the C++ library lacks, or has with too few digits, in double: the reference values of primitives.
#pragma once

namespace weft::detail {

struct Primitive;
const Primitive& polygamma_primitive();

/// The C library's of long double where an argument is so large that those of double lose their digits next to multiples of pi/2.
double precise_sin(double x);
double precise_cos(double x);
double precise_tan(double x);
/// The logarithm of the gamma function's modulus, by the C library's of long double: that of double loses 7 units next to its zeros.
double precise_lgamma(double x);
/// The derivative of lgamma; NaN at 0 and the negative integers.
double digamma(double x);
/// The derivative of digamma of order n, an integer that is not negative.
double polygamma(double n, double x);
/// The inverse of erf; infinite at -1 and 1, NaN beyond.
double erf_inv(double x);

}  // namespace weft::detail
