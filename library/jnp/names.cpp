#include "weft/library/jnp/names.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/elementwise/bitcast.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/numpy/numpy.h"
#include "weft/transforms/control/control_flow.h"

namespace weft {

using detail::LocScope;

namespace {

/// Integers and bools as division makes them.
Array floating(const Arg& x) { return detail::as_dtype(x.array(), detail::inexact_dtype(x.array().dtype())); }

void want_integers(const char* operation, const Arg& x) {
  if (!x.array().dtype().is_integer())
    throw DTypeError(fmt::format("{}: {} are not integers", operation, detail::to_string(x.aval())), detail::effective_loc(x.where()));
}
/// The operands in their common dtype, which is one of integers.
std::array<Array, 2> integer_operands(const char* operation, const Arg& x, const Arg& y) {
  const auto [a, b] = detail::promote_operands(operation, x, y);
  if (!a.dtype().is_integer())
    throw DTypeError(
        fmt::format("{}: {} and {} have no common dtype of integers", operation, detail::to_string(x.aval()), detail::to_string(y.aval())),
        detail::effective_loc(x.where()));
  return {a, b};
}

/// How a floating dtype of 32 or 64 bits keeps its numbers.
struct Bits {
  explicit Bits(DType of) : dtype(of == float64 ? float64 : float32), as(of == float64 ? int64 : int32) {}
  const DType dtype, as;
  int mantissa() const { return dtype == float64 ? 52 : 23; }
  int bias() const { return dtype == float64 ? 1023 : 127; }
};

/// 2^k of the integers that the dtype's normal numbers are powers of.
Array power_of_two(const Array& k, const Bits& bits) {
  return bitcast_convert((convert(k, bits.as) + bits.bias()) << bits.mantissa(), bits.dtype);
}

/// x < y; of complex numbers with the same real part, by the imaginary one.
Array precedes(const Arg& x, const Arg& y) {
  if (!x.aval().dtype.is_complex() && !y.aval().dtype.is_complex()) return x.array() < y.array();
  return (real(x) < real(y)) | ((real(x) == real(y)) & (imag(x) < imag(y)));
}

}  // namespace

Array absolute(Arg x) { return abs(x); }
Array fabs(Arg x) { return abs(floating(x)); }
Array positive(Arg x) { return x.array(); }
Array reciprocal(Arg x) {
  LocScope scope(x.where());
  return 1 / floating(x);
}
Array conjugate(Arg x) { return conj(x); }
Array rint(Arg x) { return round(Arg(floating(x), x.where())); }
Array fix(Arg x) { return trunc(x); }
Array degrees(Arg x) { return rad2deg(x); }
Array radians(Arg x) { return deg2rad(x); }
Array arcsin(Arg x) { return asin(x); }
Array arccos(Arg x) { return acos(x); }
Array arctan(Arg x) { return atan(x); }
Array arcsinh(Arg x) { return asinh(x); }
Array arccosh(Arg x) { return acosh(x); }
Array arctanh(Arg x) { return atanh(x); }
Array arctan2(Arg y, Arg x) { return atan2(y, x); }
Array power(Arg x, Arg y) { return pow(x, y); }
Array float_power(Arg x, Arg y) {
  LocScope scope(x.where());
  const auto [base, exponent] = detail::promote_inexact("float_power", x, y);
  return pow(base, exponent);
}
Array true_divide(Arg x, Arg y) { return divide(x, y); }
Array mod(Arg x, Arg y) { return remainder(x, y); }
Array fmod(Arg x, Arg y) {
  LocScope scope(x.where());
  const Array r = rem(x, y);
  return r.dtype().is_integer() ? where(y.array() == 0, zeros_like(r), r) : r;
}
Array fmax(Arg x, Arg y) {
  LocScope scope(x.where());
  return where(precedes(y, x) | isnan(y), x, y);
}
Array fmin(Arg x, Arg y) {
  LocScope scope(x.where());
  return where(precedes(x, y) | isnan(y), x, y);
}
Array equal(Arg x, Arg y) {
  LocScope scope(x.where());
  return x.array() == y;
}
Array not_equal(Arg x, Arg y) {
  LocScope scope(x.where());
  return x.array() != y;
}
Array less(Arg x, Arg y) {
  LocScope scope(x.where());
  return x.array() < y;
}
Array less_equal(Arg x, Arg y) {
  LocScope scope(x.where());
  return x.array() <= y;
}
Array greater(Arg x, Arg y) {
  LocScope scope(x.where());
  return x.array() > y;
}
Array greater_equal(Arg x, Arg y) {
  LocScope scope(x.where());
  return x.array() >= y;
}
Array bitwise_and(Arg x, Arg y) {
  LocScope scope(x.where());
  return x.array() & y;
}
Array bitwise_or(Arg x, Arg y) {
  LocScope scope(x.where());
  return x.array() | y;
}
Array bitwise_xor(Arg x, Arg y) {
  LocScope scope(x.where());
  return x.array() ^ y;
}
Array bitwise_not(Arg x) {
  LocScope scope(x.where());
  return ~x.array();
}
Array invert(Arg x) {
  LocScope scope(x.where());
  return ~x.array();
}
Array left_shift(Arg x, Arg amount) {
  LocScope scope(x.where());
  return x.array() << amount;
}
Array right_shift(Arg x, Arg amount) {
  LocScope scope(x.where());
  return x.array() >> amount;
}
Array bitwise_count(Arg x) {
  LocScope scope(x.where());
  return convert(population_count(x.array().dtype().is_bool() ? convert(x, uint8) : abs(x)), uint8);
}
Array isposinf(Arg x) {
  LocScope scope(x.where());
  return x.array() == std::numeric_limits<double>::infinity();
}
Array isneginf(Arg x) {
  LocScope scope(x.where());
  return x.array() == -std::numeric_limits<double>::infinity();
}
Array isreal(Arg x) { return imag(x) == 0; }
Array iscomplex(Arg x) { return imag(x) != 0; }

Array& operator<<=(Array& x, Arg y) { return x = x << y; }
Array& operator>>=(Array& x, Arg y) { return x = x >> y; }

Array round(Arg x, Int decimals) {
  LocScope scope(x.where());
  const std::int64_t n = decimals;
  const DType dtype = x.array().dtype();
  if (dtype.is_integer() && n >= 0) return x.array();
  if (n == 0) return round(x);
  const DType wide = dtype.is_integer() ? float64 : detail::wide_dtype(dtype);
  const double factor = std::pow(10., static_cast<double>(n));
  const Array scaled = convert(x, wide) * factor;
  return convert(where(isfinite(scaled), round(scaled) / factor, convert(x, wide)), dtype);
}
std::pair<Array, Array> divmod(Arg x, Arg y) { return {floor_divide(x, y), remainder(x, y)}; }
std::pair<Array, Array> modf(Arg x) {
  LocScope scope(x.where());
  const Array v = floating(x), whole = trunc(v);
  return {where(isinf(v), copysign(zeros_like(v), v), v - whole), whole};
}
std::pair<Array, Array> frexp(Arg x) {
  LocScope scope(x.where());
  const Array v = floating(x);
  const Bits bits(v.dtype());
  const Array given = convert(v, bits.dtype);
  // Subnormal numbers are made normal first.
  const int up = bits.mantissa() + 2, exponents = 2 * bits.bias() + 1;
  const double least = bits.dtype == float64 ? std::numeric_limits<double>::min() : double{std::numeric_limits<float>::min()};
  const Array small = abs(given) < least;
  const Array raw = bitcast_convert(where(small, given * std::ldexp(1., up), given), bits.as);
  const Array exponent = ((raw >> bits.mantissa()) & exponents) - (bits.bias() - 1) - where(small, up, 0);
  const Array itself = ~isfinite(given) | (given == 0);
  const Array shift = where(itself, 0, convert(exponent, int32));
  return {where(itself, v, ldexp(v, -shift)), shift};
}
Array ldexp(Arg x, Arg exponent) {
  LocScope scope(x.where());
  want_integers("ldexp", exponent);
  const Array v = floating(x);
  const Bits bits(v.dtype());
  // In three factors, each of which is a normal number.
  const int most = 3 * (bits.bias() - 1);
  const Array k = clip(detail::saturated(exponent.array(), int32, x.where()), -most, most), a = div(k, 3), b = div(k - a, 2);
  const Array given = convert(v, bits.dtype);
  return convert(given * power_of_two(a, bits) * power_of_two(b, bits) * power_of_two(k - a - b, bits), v.dtype());
}
Array gcd(Arg x, Arg y) {
  LocScope scope(x.where());
  const auto [v, w] = integer_operands("gcd", x, y);
  const Array both = v * 0 + w * 0;  // of their common shape
  using Pair = std::pair<Array, Array>;
  const Pair start{abs(convert(both + v, v.dtype())), abs(convert(both + w, w.dtype()))};
  return while_loop([](const Pair& p) { return any(p.second != 0); },
                    [](const Pair& p) {
                      const auto& [a, b] = p;
                      const Array left = b != 0;
                      return Pair{where(left, b, a), where(left, rem(a, where(left, b, 1)), 0)};
                    },
                    start)
      .first;
}
Array lcm(Arg x, Arg y) {
  LocScope scope(x.where());
  const auto [v, w] = integer_operands("lcm", x, y);
  const Array divisor = gcd(v, w), a = abs(v), b = abs(w);
  return where(divisor == 0, 0, a * div(b, where(divisor == 0, 1, divisor)));
}
Array select(Args conditions, Args choices, Arg otherwise) {
  LocScope scope(otherwise.where());
  const auto &when = conditions.args(), &what = choices.args();
  if (when.size() != what.size() || when.empty())
    throw ShapeError(fmt::format("select: {} conditions and {} choices; each condition needs one", when.size(), what.size()),
                     detail::effective_loc(otherwise.where()));
  Array result = otherwise.array();
  for (std::size_t i = when.size(); i-- > 0;) result = where(when[i], what[i], result);
  return result;
}

Array copy(Arg x) {
  LocScope scope(x.where());
  return detail::copied(x.array(), x.where());
}
Array asarray(Literal values, std::optional<DType> dtype, SourceLoc loc) { return array(std::move(values), dtype, loc); }
Array asarray(const Array& x, DType dtype, SourceLoc loc) { return convert(Arg(x, loc), dtype); }

}  // namespace weft
