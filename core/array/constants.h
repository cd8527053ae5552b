// Mathematical constants. In a namespace of their own: `<cmath>` declares a function `nan`, and programs have variables `e` and `pi`.
#pragma once

namespace weft {

/// Numbers, to be used as any C++ number is: beside an array they have its dtype. `using namespace weft::constants;` in a function names
/// them shortly.
namespace constants {

/// Infinity.
inline constexpr double inf = __builtin_inf();
/// Not a number.
inline constexpr double nan = __builtin_nan("");
/// The ratio of a circle's circumference to its diameter.
inline constexpr double pi = 3.14159265358979323846;
/// The base of the natural logarithm.
inline constexpr double e = 2.71828182845904523536;
/// Euler's constant, the limit of 1 + 1/2 + ... + 1/n - log(n).
inline constexpr double euler_gamma = 0.57721566490153286061;

}  // namespace constants
}  // namespace weft
