// NumPy's and JAX's longer or second names of functions, compound assignments, and small functions of numbers: absolute, arcsin, gcd,
// frexp.
#pragma once
#include <concepts>
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/array_ranges.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"

namespace weft {

/// max(x, axis).
Array amax(Arg x, Axis axis = none, ReduceOptions options = {});
/// min(x, axis).
Array amin(Arg x, Axis axis = none, ReduceOptions options = {});
/// concatenate(xs, axis).
Array concat(Args xs, AxisNumber axis = 0, SourceLoc loc = SourceLoc::here());
/// cumsum(x, axis) of a vector, or along the axis.
Array cumulative_sum(Arg x, std::optional<AxisNumber> axis = {});
/// cumprod(x, axis) of a vector, or along the axis.
Array cumulative_prod(Arg x, std::optional<AxisNumber> axis = {});
/// round(x, decimals).
Array around(Arg x, Int decimals = 0);
/// Whether one of the arrays, broadcast to the other's shape, equals it.
Array array_equiv(Arg x, Arg y);

// NumPy's longer names of elementwise operations, and operators as functions, to be passed by name: `tree::map(power, a, b)`.

/// abs(x).
Array absolute(Arg x);
/// abs(x), of integers as floats.
Array fabs(Arg x);
/// x.
Array positive(Arg x);
/// 1 / x; of integers rounded towards 0.
Array reciprocal(Arg x);
/// conj(x).
Array conjugate(Arg x);
/// round(x).
Array rint(Arg x);
/// trunc(x).
Array fix(Arg x);
/// rad2deg(x).
Array degrees(Arg x);
/// deg2rad(x).
Array radians(Arg x);
/// asin(x).
Array arcsin(Arg x);
/// acos(x).
Array arccos(Arg x);
/// atan(x).
Array arctan(Arg x);
/// asinh(x).
Array arcsinh(Arg x);
/// acosh(x).
Array arccosh(Arg x);
/// atanh(x).
Array arctanh(Arg x);
/// atan2(y, x).
Array arctan2(Arg y, Arg x);
/// pow(x, y).
Array power(Arg x, Arg y);
/// pow(x, y), of integers as floats.
Array float_power(Arg x, Arg y);
/// x / y.
Array true_divide(Arg x, Arg y);
/// x % y.
Array mod(Arg x, Arg y);
/// rem(x, y), with x's sign; of integers by 0, 0.
Array fmod(Arg x, Arg y);
/// The larger one; if one is NaN, the other one.
Array fmax(Arg x, Arg y);
/// The smaller one; if one is NaN, the other one.
Array fmin(Arg x, Arg y);
/// x == y.
Array equal(Arg x, Arg y);
/// x != y.
Array not_equal(Arg x, Arg y);
/// x < y.
Array less(Arg x, Arg y);
/// x <= y.
Array less_equal(Arg x, Arg y);
/// x > y.
Array greater(Arg x, Arg y);
/// x >= y.
Array greater_equal(Arg x, Arg y);
/// x & y.
Array bitwise_and(Arg x, Arg y);
/// x | y.
Array bitwise_or(Arg x, Arg y);
/// x ^ y.
Array bitwise_xor(Arg x, Arg y);
/// ~x.
Array bitwise_not(Arg x);
/// ~x.
Array invert(Arg x);
/// ~x.
Array bitwise_invert(Arg x);
/// x << amount.
Array bitwise_left_shift(Arg x, Arg amount);
/// x >> amount.
Array bitwise_right_shift(Arg x, Arg amount);
/// x << amount.
Array left_shift(Arg x, Arg amount);
/// x >> amount.
Array right_shift(Arg x, Arg amount);
/// The number of bits that are set in abs(x), uint8.
Array bitwise_count(Arg x);
/// Whether x is infinity.
Array isposinf(Arg x);
/// Whether x is -infinity.
Array isneginf(Arg x);
/// Whether the imaginary part is 0.
Array isreal(Arg x);
/// Whether the imaginary part isn't 0.
Array iscomplex(Arg x);

/// x = x << y.
Array& operator<<=(Array& x, Arg y);
/// x = x >> y.
Array& operator>>=(Array& x, Arg y);

/// Rounds to a number of decimals, halves to even digits; a negative number rounds to tens, hundreds, ... Integers are unchanged.
Array round(Arg x, Int decimals);
/// floor_divide(x, y) and remainder(x, y).
std::pair<Array, Array> divmod(Arg x, Arg y);
/// The fractional and the whole part of x, both with its sign.
std::pair<Array, Array> modf(Arg x);
/// A mantissa, of modulus 0.5 to 1, and an exponent, int32: x is mantissa * 2^exponent. Of 0, infinities and NaN, themselves and 0.
std::pair<Array, Array> frexp(Arg x);
/// x * 2^exponent, exponent of integers.
Array ldexp(Arg x, Arg exponent);
/// The greatest common divisor of integers.
Array gcd(Arg x, Arg y);
/// The least common multiple of integers; one that is too large wraps around.
Array lcm(Arg x, Arg y);
/// Elementwise, the choice whose condition is the first that holds; `otherwise` where none does.
Array select(Args conditions, Args choices, Arg otherwise = 0);

/// Arrays of one shape, stacked along a new leading axis.
template <std::same_as<std::vector<Array>> V>
Array array(const V& rows, SourceLoc loc = SourceLoc::here()) {
  return stack(rows, 0, loc);
}
/// `array(values)`, jnp.asarray.
template <class... A>
Array asarray(A&&... values) {
  return array(std::forward<A>(values)...);
}
/// The array of numbers in braces: `asarray({1, 2})`.
Array asarray(Literal values, std::optional<DType> dtype = {}, SourceLoc loc = SourceLoc::here());
/// A copy of the array in memory of its own; other arrays' memory isn't donated with it.
Array copy(Arg x);
/// The array itself, in the dtype.
Array asarray(const Array& x, DType dtype, SourceLoc loc = SourceLoc::here());

}  // namespace weft
