// Addition, multiplication, division, minimum and maximum.
#include "weft/core/ops/elementwise/arithmetic.h"

#include <algorithm>

#include "weft/core/base/extrema.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/elementwise/branches.h"
#include "weft/core/ops/elementwise/elementwise.h"
#include "weft/core/ops/elementwise/wrapping.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace detail {
namespace {

using V = KernelValue;

struct Neg : LinearUnary<Neg> {
  static constexpr std::string_view name = "neg", doc = "-x.";
  static constexpr unsigned dtypes = kNumber;
  static constexpr unsigned values = kExact;
  static auto ref(auto x) { return wrapping_neg(x); }
  static Array pull(const Array& ct, const Aval&) { return -ct; }
  static constexpr bool kernel_takes_complex = true;
  static V kernel(KernelBuilder& b, V x) { return b.neg(x); }
};

/// x + y and x - y are linear in both operands at once.
template <class Op, bool Subtract>
struct Additive : Binary<Op> {
  static constexpr unsigned dtypes = kNumber;
  static constexpr unsigned values = kKeepsIntegers;
  static constexpr bool kernel_takes_complex = true;
  static std::vector<Tangent> jvp(const JvpContext& c) {
    const Tangent &t = c.tangents[0], &u = c.tangents[1];
    if (t && u) return {broadcast_tangent(bind_one<Op>({}, {*t, *u}, c.loc), c.out[0], c.loc)};
    if (t) return {broadcast_tangent(*t, c.out[0], c.loc)};
    if (u) return {broadcast_tangent(Subtract ? -*u : *u, c.out[0], c.loc)};
    return {std::nullopt};
  }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {std::nullopt, std::nullopt};
    const Array& ct = *c.cotangents[0];
    std::vector<Tangent> out(2);
    if (c.in[0].is_linear()) out[0] = unbroadcast(ct, c.in[0].aval, c.loc);
    if (c.in[1].is_linear()) out[1] = unbroadcast(Subtract ? -ct : ct, c.in[1].aval, c.loc);
    return out;
  }
};
struct Add : Additive<Add, false> {
  static constexpr std::string_view name = "add", doc = "x + y.";
  static constexpr Combiner combiner = Combiner::sum;
  static auto ref(auto x, auto y) { return wrapping_add(x, y); }
  static V kernel(KernelBuilder& b, V x, V y) { return b.add(x, y); }
};
struct AddAny : Additive<AddAny, false> {
  static constexpr std::string_view name = "add_any", doc = "The sum of two tangents or cotangents.";
  static constexpr unsigned dtypes = kAny;
  static auto ref(auto x, auto y) { return wrapping_add(x, y); }
  static V kernel(KernelBuilder& b, V x, V y) { return x.dtype.is_bool() ? b.bit_or(x, y) : b.add(x, y); }
};
struct Sub : Additive<Sub, true> {
  static constexpr std::string_view name = "sub", doc = "x - y.";
  static auto ref(auto x, auto y) { return wrapping_sub(x, y); }
  static V kernel(KernelBuilder& b, V x, V y) { return b.sub(x, y); }
};

/// Linear in each operand alone.
struct Mul : Binary<Mul> {
  static constexpr std::string_view name = "mul", doc = "x * y.";
  static constexpr Combiner combiner = Combiner::prod;
  static constexpr unsigned dtypes = kNumber;
  static constexpr unsigned values = kKeepsIntegers | kMultiplies;
  static auto ref(auto x, auto y) { return wrapping_mul(x, y); }
  static Array partial_x(const Array& t, const Array&, const Array& y, const Array&) { return t * y; }
  static Array partial_y(const Array& t, const Array& x, const Array&, const Array&) { return x * t; }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    std::vector<Tangent> out(2);
    if (!c.cotangents[0]) return out;
    const Array& ct = *c.cotangents[0];
    if (c.in[0].is_linear()) out[0] = unbroadcast(ct * c.in[1].known(), c.in[0].aval, c.loc);
    if (c.in[1].is_linear()) out[1] = unbroadcast(c.in[0].known() * ct, c.in[1].aval, c.loc);
    return out;
  }
  static constexpr bool kernel_takes_complex = true;
  static V kernel(KernelBuilder& b, V x, V y) { return b.mul(x, y); }
};

constexpr ParamValue kMulLeftOut[] = {{"out_dtype", "None"}};
constexpr ParamValue kMulIgnored[] = {{"out_dtype", "None"}};
const TextRule<Mul> mul_text([] { return TextTraits{.left_out = kMulLeftOut, .ignored = kMulIgnored}; });

/// Rounded once: what random::uniform computes, as XLA contracts JAX's multiplication and addition there.
struct MulAdd : Elementwise<MulAdd, 3> {
  static constexpr std::string_view name = "mul_add", doc = "x * y + z, rounded once.";
  static constexpr unsigned dtypes = kFloating;
  template <class T>
  static T stored_ref(T x, T y, T z) {
    if constexpr (std::is_floating_point_v<T>)
      return std::fma(x, y, z);
    else
      return T(std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)));
  }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    Tangent sum;
    const auto add = [&](const Array& t) { sum = add_tangents(sum, broadcast_tangent(t, c.out[0], c.loc), c.loc); };
    if (c.tangents[0]) add(*c.tangents[0] * c.in[1]);
    if (c.tangents[1]) add(c.in[0] * *c.tangents[1]);
    if (c.tangents[2]) add(*c.tangents[2]);
    return {sum};
  }
  static V kernel(KernelBuilder& b, V x, V y, V z) { return b.fma(x, y, z); }
};

/// Divisors by which an integer division can't trap: 1 in place of 0 and -1. Division by -1 is a negation (of the least number, itself).
struct SafeDivisor {
  V is_zero, is_minus_one, divisor;
  SafeDivisor(KernelBuilder& b, V y) {
    const V one = b.integer(y.dtype, 1);
    is_zero = b.eq(y, b.integer(y.dtype, 0));
    is_minus_one = is_zero;
    if (y.dtype.is_signed()) is_minus_one = b.eq(y, b.integer(y.dtype, -1));
    divisor = b.select(b.bit_or(is_zero, is_minus_one), one, y);
  }
};

/// Linear in the dividend.
struct Div : Binary<Div> {
  static constexpr std::string_view name = "div", doc = "x / y; integers truncate, and divided by 0 give the number with all bits set.";
  static constexpr unsigned dtypes = kNumber;
  static constexpr Domain domain{0.5, 7};
  template <class T>
  static T ref(T x, T y) {
    if constexpr (is_integer_type<T>) {
      if (y == 0) return static_cast<T>(-1);
      if (std::is_signed_v<T> && y == static_cast<T>(-1)) return wrapping_neg(x);
    }
    if constexpr (is_complex_storage<T>) {
      // Sums of two parts overflow before the quotient does.
      if (std::max(std::abs(x.real()), std::abs(x.imag())) > 0x1p1020) return x * 0x1p-4 / y * 0x1p4;
    }
    return static_cast<T>(x / y);
  }
  static Array partial_x(const Array& t, const Array&, const Array& y, const Array&) { return t / y; }
  static Array partial_y(const Array& t, const Array& x, const Array& y, const Array&) { return -t * x * integer_pow(y, -2); }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    if (!c.cotangents[0]) return {std::nullopt, std::nullopt};
    return {unbroadcast(*c.cotangents[0] / c.in[1].known(), c.in[0].aval, c.loc), std::nullopt};
  }
  static constexpr bool kernel_takes_complex = true;
  static V kernel(KernelBuilder& b, V x, V y) {
    if (!y.dtype.is_integer()) return b.div(x, y);
    const SafeDivisor safe(b, y);
    V quotient = b.div(x, safe.divisor);
    if (y.dtype.is_signed()) quotient = b.select(safe.is_minus_one, b.neg(x), quotient);
    return b.select(safe.is_zero, b.integer(y.dtype, -1), quotient);
  }
};
struct Rem : Binary<Rem> {
  static constexpr std::string_view name = "rem",
                                    doc = "The remainder of truncating division, with the sign of x; an integer's remainder by 0 is x.";
  static constexpr unsigned dtypes = kInteger | kFloating;
  static constexpr unsigned values = kExact;
  static constexpr Domain domain{0.5, 7};
  template <class T>
  static T ref(T x, T y) {
    if constexpr (is_integer_type<T>) {
      if (y == 0) return x;
      if (std::is_signed_v<T> && y == static_cast<T>(-1)) return 0;
      return static_cast<T>(x % y);
    } else {
      return std::fmod(x, y);
    }
  }
  static Array partial_x(const Array& t, const Array&, const Array&, const Array&) { return t; }
  static Array partial_y(const Array& t, const Array& x, const Array& y, const Array&) {
    const Array quotient = x / y;
    return -t * (weft::sign(quotient) * weft::floor(weft::abs(quotient)));
  }
  static V kernel(KernelBuilder& b, V x, V y) {
    if (!y.dtype.is_integer()) return b.rem(x, y);
    const SafeDivisor safe(b, y);
    return b.select(safe.is_zero, x, b.rem(x, safe.divisor));
  }
};

/// Complex numbers are ordered by their real parts, then by their imaginary parts.
template <class T>
bool is_less(T x, T y) {
  if constexpr (is_complex_storage<T>)
    return x.real() != y.real() ? x.real() < y.real() : x.imag() < y.imag();
  else
    return x < y;
}
template <class T>
bool is_nan(T x) {
  return x != x;
}
template <bool kLarger, class T>
T extremum(T x, T y) {
  if constexpr (is_complex_storage<T>)
    return is_nan(x) ? x : is_nan(y) ? y : (kLarger ? is_less(x, y) : is_less(y, x)) ? y : x;
  else
    return extremum_of<kLarger>(x, y);
}
V kernel_less(KernelBuilder& b, V x, V y) {
  if (!x.dtype.is_complex()) return b.lt(x, y);
  return b.select(b.ne(b.real(x), b.real(y)), b.lt(b.real(x), b.real(y)), b.lt(b.imag(x), b.imag(y)));
}
/// A tangent's share: all of it where its operand is the result, half where both are.
Array share(const Array& t, const Array& mine, const Array& result, const Array& other) {
  const Array zero = scalar_like(t, 0), one = scalar_like(t, 1), two = scalar_like(t, 2);
  return t * (where(mine == result, one, zero) / where(other == result, two, one));
}

template <class Op>
struct Extremum : Binary<Op> {
  static constexpr unsigned dtypes = kAny;
  static constexpr unsigned values = kExact;
  static Array partial_x(const Array& t, const Array& x, const Array& y, const Array& out) { return share(t, x, out, y); }
  static Array partial_y(const Array& t, const Array& x, const Array& y, const Array& out) { return share(t, y, out, x); }
};
struct Max : Extremum<Max> {
  static constexpr std::string_view name = "max", doc = "The larger operand; NaN if one is. +0 is larger than -0.";
  static constexpr Combiner combiner = Combiner::max;
  template <class T>
  static T ref(T x, T y) {
    return extremum<true>(x, y);
  }
  static V kernel(KernelBuilder& b, V x, V y) { return b.max(x, y); }
  static V complex_kernel(KernelBuilder& b, V x, V y) {
    return b.select(b.ne(x, x), x, b.select(b.bit_or(b.ne(y, y), kernel_less(b, x, y)), y, x));
  }
};
struct Min : Extremum<Min> {
  static constexpr std::string_view name = "min", doc = "The smaller operand; NaN if one is. -0 is smaller than +0.";
  static constexpr Combiner combiner = Combiner::min;
  template <class T>
  static T ref(T x, T y) {
    return extremum<false>(x, y);
  }
  static V kernel(KernelBuilder& b, V x, V y) { return b.min(x, y); }
  static V complex_kernel(KernelBuilder& b, V x, V y) {
    return b.select(b.ne(x, x), x, b.select(b.bit_or(b.ne(y, y), kernel_less(b, y, x)), y, x));
  }
};

const Rule<DifferenceTransform, Sub> sub_is_difference([] {});
const Rule<ExtremumTransform, Max> max_is_extremum([] {});
const Rule<ExtremumTransform, Min> min_is_extremum([] {});
const Rule<FiniteDerivativeTransform, Neg> neg_is_finite(always_finite);
const Rule<FiniteDerivativeTransform, Add> add_is_finite(always_finite);
const Rule<FiniteDerivativeTransform, AddAny> add_any_is_finite(always_finite);
const Rule<FiniteDerivativeTransform, Sub> sub_is_finite(always_finite);
// The product of two large numbers is infinite, and what is multiplied by that has no bound.
bool is_scaled(std::span<const bool> is_constant) { return is_constant[0] || is_constant[1]; }
const Rule<FiniteDerivativeTransform, Mul> mul_is_finite(is_scaled);
const Rule<FiniteDerivativeTransform, MulAdd> mul_add_is_finite(is_scaled);
const Rule<FiniteDerivativeTransform, Max> max_is_finite(always_finite);
const Rule<FiniteDerivativeTransform, Min> min_is_finite(always_finite);
const Rule<FiniteDerivativeTransform, Div> div_is_finite([](std::span<const bool> is_constant) { return is_constant[1]; });

}  // namespace

std::vector<ElementwiseInfo> arithmetic_infos() { return elementwise_info_list<Add, AddAny, Div, Max, Min, Mul, MulAdd, Neg, Rem, Sub>(); }

Array mul_add(const Array& x, const Array& y, const Array& z, SourceLoc loc) {
  const Arg operands[] = {Arg(x, loc), Arg(y, loc), Arg(z, loc)};
  return bind_all<MulAdd>({}, promote_ranks("mul_add", operands), loc)[0];
}

Array add_any(const Array& a, const Array& b, SourceLoc loc) { return bind_one<AddAny>({}, {a, b}, loc); }

}  // namespace detail

using namespace detail;

namespace {
bool both_bool(const Arg& x, const Arg& y) { return x.aval().dtype.is_bool() && y.aval().dtype.is_bool(); }
}  // namespace

Array add(Arg x, Arg y) {
  if (!both_bool(x, y)) return binary<Add>(x, y);
  const LocScope scope(x.where());
  return x.array() | y.array();
}
Array subtract(Arg x, Arg y) { return binary<Sub>(x, y); }
Array multiply(Arg x, Arg y) {
  if (!both_bool(x, y)) return binary<Mul>(x, y);
  const LocScope scope(x.where());
  return x.array() & y.array();
}
Array divide(Arg x, Arg y) { return binary_inexact<Div>(x, y); }
Array div(Arg x, Arg y) { return binary<Div>(x, y); }
Array rem(Arg x, Arg y) { return binary<Rem>(x, y); }
Array negative(Arg x) { return bind_one<Neg>({}, {x.array()}, x.where()); }
Array minimum(Arg x, Arg y) { return binary<Min>(x, y); }
Array maximum(Arg x, Arg y) { return binary<Max>(x, y); }
Array clip(Arg x, OptionalArg lo, OptionalArg hi) {
  const LocScope scope(x.where());
  Array y = x.array();
  if (lo.has_value()) y = maximum(lo.arg(), y);
  if (hi.has_value()) y = minimum(hi.arg(), y);
  return y;
}

Array remainder(Arg x, Arg y) {
  const LocScope scope(x.where());
  auto [a, b] = promote_operands("rem", x, y);
  if (a.dtype().is_bool()) a = to_numeric(a), b = to_numeric(b);
  if (b.dtype().is_integer()) b = where(b == 0, 1, b);
  const Array truncated = rem(a, b);
  const Array other_sign = ((truncated < 0) != (b < 0)) & (truncated != 0);
  return where(other_sign, truncated + b, truncated);
}
Array floor_divide(Arg x, Arg y) {
  const LocScope scope(x.where());
  auto [a, b] = promote_operands("div", x, y);
  if (a.dtype().is_bool()) a = to_numeric(a), b = to_numeric(b);
  if (a.dtype().is_unsigned()) return div(a, b);
  if (a.dtype().is_integer()) {
    const Array quotient = div(a, b), rounded_up = (sign(a) != sign(b)) & (rem(a, b) != 0);
    return where(rounded_up, quotient - 1, quotient);
  }
  const Array truncated = rem(a, b), quotient = div(where(b == 0, a, a - truncated), b);
  const Array rounded_up = (truncated != 0) & (sign(b) != sign(truncated));
  return round_away(where(rounded_up, quotient - 1, quotient));
}

Array operator+(Arg a, Arg b) { return add(a, b); }
Array operator-(Arg a, Arg b) { return subtract(a, b); }
Array operator*(Arg a, Arg b) { return multiply(a, b); }
Array operator/(Arg a, Arg b) { return divide(a, b); }
Array operator%(Arg a, Arg b) { return remainder(a, b); }
Array operator-(Arg a) { return negative(a); }
Array operator+(Arg a) { return a.array(); }
Array& Array::operator+=(Arg b) & { return *this = add(Arg(*this, b.where()), b); }
Array& Array::operator-=(Arg b) & { return *this = subtract(Arg(*this, b.where()), b); }
Array& Array::operator*=(Arg b) & { return *this = multiply(Arg(*this, b.where()), b); }
Array& Array::operator/=(Arg b) & { return *this = divide(Arg(*this, b.where()), b); }
Array& Array::operator%=(Arg b) & { return *this = remainder(Arg(*this, b.where()), b); }

}  // namespace weft
