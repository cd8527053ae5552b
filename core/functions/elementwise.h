// The user's elementwise functions and operators.
#pragma once
#include "weft/core/array/array.h"

namespace weft {

// Functions of one or more arrays, element by element. Shapes broadcast as in NumPy, dtypes promote as in JAX. A dtype for which a function
// is not defined is a DTypeError, shapes that don't fit together are a ShapeError.

// Trigonometric and hyperbolic functions, of floating and complex arrays; integers are converted to floats.
/// Sine.
Array sin(Arg x);
/// Cosine.
Array cos(Arg x);
/// Tangent.
Array tan(Arg x);
/// Inverse sine.
Array asin(Arg x);
/// Inverse cosine.
Array acos(Arg x);
/// Inverse tangent.
Array atan(Arg x);
/// Hyperbolic sine.
Array sinh(Arg x);
/// Hyperbolic cosine.
Array cosh(Arg x);
/// Hyperbolic tangent.
Array tanh(Arg x);
/// Inverse hyperbolic sine.
Array asinh(Arg x);
/// Inverse hyperbolic cosine.
Array acosh(Arg x);
/// Inverse hyperbolic tangent.
Array atanh(Arg x);
/// The angle of the point (x, y), in [-pi, pi].
Array atan2(Arg y, Arg x);

// Exponentials, logarithms, powers, roots.
/// e to the x.
Array exp(Arg x);
/// 2 to the x.
Array exp2(Arg x);
/// exp(x) - 1, accurate near 0.
Array expm1(Arg x);
/// Natural logarithm.
Array log(Arg x);
/// log(1 + x), accurate near 0.
Array log1p(Arg x);
/// Logarithm to base 2.
Array log2(Arg x);
/// Logarithm to base 10.
Array log10(Arg x);
/// 1 / (1 + exp(-x)).
Array sigmoid(Arg x);
/// Square root.
Array sqrt(Arg x);
/// 1 / sqrt(x).
Array rsqrt(Arg x);
/// Cube root, of negative numbers too.
Array cbrt(Arg x);
/// x * x.
Array square(Arg x);
/// x to the y. A C++ integer as exponent multiplies; integer arrays give integers, by wrapping multiplication.
Array pow(Arg x, Arg y);
/// x to an integer power, by repeated multiplication.
Array integer_pow(Arg x, Int y);
/// sqrt(x * x + y * y) without overflow.
Array hypot(Arg x, Arg y);
/// log(exp(x) + exp(y)) without overflow.
Array logaddexp(Arg x, Arg y);

// Special functions, of floating arrays.
/// The error function.
Array erf(Arg x);
/// 1 - erf(x), accurate where it is small.
Array erfc(Arg x);
/// The inverse of erf.
Array erf_inv(Arg x);
/// The logarithm of the gamma function's modulus.
Array lgamma(Arg x);
/// The derivative of lgamma.
Array digamma(Arg x);
/// The derivative of digamma of order n.
Array polygamma(Arg n, Arg x);

// Arithmetic. Operators of Array are the same functions: + add, - subtract, * multiply, / divide, % remainder.
/// x + y; logical or, of bools.
Array add(Arg x, Arg y);
/// x - y.
Array subtract(Arg x, Arg y);
/// x * y; logical and, of bools.
Array multiply(Arg x, Arg y);
/// True division: integers are converted to floats.
Array divide(Arg x, Arg y);
/// The quotient rounded down. Divided by 0, an integer gives -2, 0 gives -1, and an unsigned one the largest number.
Array floor_divide(Arg x, Arg y);
/// x - y * floor_divide(x, y): has y's sign. Of integers and a divisor of 0: 0.
Array remainder(Arg x, Arg y);
/// jax.lax's div: integers truncate, and divided by 0 give the number with all bits set.
Array div(Arg x, Arg y);
/// jax.lax's rem: has x's sign, as C's fmod.
Array rem(Arg x, Arg y);
/// -x.
Array negative(Arg x);
/// The modulus; of the least integer, itself.
Array abs(Arg x);
/// -1, 0 or 1; of a complex number, x / abs(x).
Array sign(Arg x);
/// Rounded down.
Array floor(Arg x);
/// Rounded up.
Array ceil(Arg x);
/// Rounded towards 0.
Array trunc(Arg x);
/// Rounded to the nearest integer, halves to even ones.
Array round(Arg x);
/// Rounded to the nearest integer, halves away from 0.
Array round_away(Arg x);
/// The smaller; NaN if one is.
Array minimum(Arg x, Arg y);
/// The larger; NaN if one is.
Array maximum(Arg x, Arg y);
/// minimum(maximum(x, lo), hi), of arrays of one dtype: jax.lax's clamp.
Array clamp(Arg lo, Arg x, Arg hi);
/// The next number after x in direction y.
Array nextafter(Arg x, Arg y);
/// x with y's sign.
Array copysign(Arg x, Arg y);

// Tests, giving bool.
/// Whether x is NaN.
Array isnan(Arg x);
/// Whether x is infinite.
Array isinf(Arg x);
/// Whether x is neither infinite nor NaN.
Array isfinite(Arg x);
/// Whether the sign bit is set: of -0. too.
Array signbit(Arg x);

// Logic: what is not 0 is true.
/// Whether x is 0.
Array logical_not(Arg x);
/// Whether both are not 0.
Array logical_and(Arg x, Arg y);
/// Whether one of them is not 0.
Array logical_or(Arg x, Arg y);
/// Whether exactly one of them is not 0.
Array logical_xor(Arg x, Arg y);

// Bits of integers (see also & | ^ ~ << >>).
/// x shifted to the right, zeros moving in, whatever its sign.
Array shift_right_logical(Arg x, Arg amount);
/// The number of bits that are set.
Array population_count(Arg x);
/// The number of zeros before the highest bit that is set.
Array clz(Arg x);

// Complex numbers.
/// The real part.
Array real(Arg x);
/// The imaginary part; zeros, of real arrays.
Array imag(Arg x);
/// The complex conjugate.
Array conj(Arg x);
/// re + i im, of two float32 or two float64 arrays.
Array complex(Arg re, Arg im);

/// An operand, or none.
class OptionalArg {
 public:
  OptionalArg(detail::NoneValue auto) {}
  OptionalArg(const Array& x, SourceLoc loc = SourceLoc::here()) : array_(x), loc_(loc) {}
  template <ScalarType T>
  OptionalArg(T x, SourceLoc loc = SourceLoc::here()) : array_(x, loc), loc_(loc) {}
  bool has_value() const { return !array_.is_empty_handle(); }
  Arg arg() const { return Arg(array_, loc_); }

 private:
  Array array_;
  SourceLoc loc_;
};
/// x limited to [lo, hi]; a bound may be `none`.
Array clip(Arg x, OptionalArg lo = none, OptionalArg hi = none);
/// x where the condition is true, else y.
Array where(Arg condition, Arg x, Arg y);
template <std::same_as<Array> A>
Array where(Arg, const A&) {
  static_assert(!sizeof(A), "weft: where(c, x, y) chooses between x and y; where(c) gives the positions at which c holds");
  return {};
}

namespace detail {
Array select_cases(const Arg& which, const Arg* cases, int count);
}
/// The case numbered `which` (bool or int32), element by element: `select_n(b, if_false, if_true)`. Positions out of range give the
/// nearest.
template <class... Cases>
Array select_n(Arg which, const Cases&... cases) {
  static_assert(sizeof...(Cases) > 0, "weft: select_n takes at least one case");
  const Arg list[] = {Arg(cases, which.where())...};
  return detail::select_cases(which, list, static_cast<int>(sizeof...(Cases)));
}

/// Converted to the dtype: floats to integers truncate and saturate, NaN gives 0; to bool is x != 0; complex to real drops the imaginary
/// part.
Array convert(Arg x, DType dtype);
/// x converted to the dtype; another name of convert.
Array astype(Arg x, DType dtype);
/// The same bits as another dtype. Smaller elements add a last dimension, larger ones consume the last dimension.
Array bitcast_convert(Arg x, DType dtype);
/// Rounded to a floating format of fewer bits, kept in x's dtype.
Array reduce_precision(Arg x, Int exponent_bits, Int mantissa_bits);

}  // namespace weft
