// Special functions that the C++ library lacks, in double: the reference values of primitives.
#pragma once

namespace weft::detail {

/// The derivative of lgamma; NaN at 0 and the negative integers.
double digamma(double x);
/// The derivative of digamma of order n, an integer that is not negative.
double polygamma(double n, double x);
/// The inverse of erf; infinite at -1 and 1, NaN beyond.
double erf_inv(double x);

}  // namespace weft::detail
