// Rounding to integers, signs, moduli, and tests of floating values.
#include <limits>

#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/elementwise/branches.h"
#include "weft/core/ops/elementwise/elementwise.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace detail {
namespace {

using V = KernelValue;

struct Floor : Unary<Floor> {
  static constexpr std::string_view name = "floor", doc = "Rounded down.";
  static constexpr unsigned dtypes = kFloating;
  static constexpr unsigned values = kExact;
  static constexpr bool zero_tangent = true;
  static double ref(double x) { return std::floor(x); }
  static V kernel(KernelBuilder& b, V x) { return b.floor(x); }
};
struct Ceil : Unary<Ceil> {
  static constexpr std::string_view name = "ceil", doc = "Rounded up.";
  static constexpr unsigned dtypes = kFloating;
  static constexpr unsigned values = kExact;
  static constexpr bool zero_tangent = true;
  static double ref(double x) { return std::ceil(x); }
  static V kernel(KernelBuilder& b, V x) { return b.ceil(x); }
};
struct RoundParams {
  int rounding_method = 0;  ///< of halves: 0 away from zero, 1 to even
  friend bool operator==(const RoundParams&, const RoundParams&) = default;
};
struct Round : Unary<Round> {
  static constexpr std::string_view name = "round",
                                    doc = "Rounded to the nearest integer; rounding_method 0 takes halves away from zero, 1 to even.";
  static constexpr unsigned dtypes = kFloating;
  static constexpr unsigned values = kExact;
  static constexpr bool zero_tangent = true;
  using Params = RoundParams;
  static double ref(double x, const Params& p) { return p.rounding_method == 1 ? std::nearbyint(x) : std::round(x); }
  static V kernel(KernelBuilder& b, V x, const Params& p) {
    if (p.rounding_method == 1) return b.round_even(x);
    // What trunc leaves is exact, which x + 0.5 is not.
    const V whole = b.trunc(x), rest = b.abs(b.sub(x, whole)), one = b.copysign(b.constant(x.dtype, 1), x);
    return b.copysign(b.select(b.ge(rest, b.constant(x.dtype, 0.5)), b.add(whole, one), whole), x);
  }
};

struct Sign : Unary<Sign> {
  static constexpr std::string_view name = "sign", doc = "-1, 0 or 1; of a complex number, x / abs(x).";
  static constexpr unsigned dtypes = kNumber;
  static constexpr unsigned values = kExact;
  static constexpr bool zero_tangent = true;
  template <class T>
  static T ref(T x) {
    if constexpr (is_complex_storage<T>)
      return x == 0. ? T(0.) : x / std::abs(x);
    else if constexpr (std::is_floating_point_v<T>)
      return x > 0 ? 1 : x < 0 ? -1 : x;
    else
      return static_cast<T>((x > 0) - (x < 0));
  }
  static V kernel(KernelBuilder& b, V x) {
    const V zero = b.constant(x.dtype, 0), one = b.constant(x.dtype, 1), is_zero = b.eq(x, zero);
    if (x.dtype.is_unsigned()) return b.select(is_zero, zero, one);
    if (x.dtype.is_signed()) return b.select(is_zero, zero, b.select(b.lt(x, zero), b.integer(x.dtype, -1), one));
    return b.select(b.bit_or(is_zero, b.ne(x, x)), x, b.copysign(one, x));
  }
  static V complex_kernel(KernelBuilder& b, V z) {
    const V size = b.abs(z), zero = b.constant(size.dtype, 0), divisor = b.select(b.eq(size, zero), b.constant(size.dtype, 1), size);
    return b.complex(b.div(b.real(z), divisor), b.div(b.imag(z), divisor));
  }
};

struct Abs : Unary<Abs> {
  static constexpr std::string_view name = "abs", doc = "The modulus.";
  static constexpr unsigned dtypes = kNumber;
  static constexpr unsigned values = kExact;
  static constexpr Domain domain{0.2, 3};
  static constexpr DType result(DType t) { return t.real_part(); }
  template <class T>
  static auto ref(T x) {
    if constexpr (std::is_unsigned_v<T>)
      return x;
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(x < 0 ? 0 - static_cast<std::uint64_t>(x) : static_cast<std::uint64_t>(x));
    else
      return std::abs(x);
  }
  static Array partial(const Array& t, const Array& x, const Array& y) {
    if (!x.dtype().is_complex()) return where(x >= 0, t, -t);
    return weft::real(t * weft::conj(x)) / where(y == 0, 1, y);
  }
  static constexpr bool kernel_takes_complex = true;
  static V kernel(KernelBuilder& b, V x) { return b.abs(x); }
};

struct IsFinite : Unary<IsFinite> {
  static constexpr std::string_view name = "is_finite", doc = "Whether x is neither infinite nor NaN.";
  static constexpr unsigned dtypes = kFloating;
  static constexpr bool zero_tangent = true;
  static constexpr DType result(DType) { return bool_; }
  static bool ref(double x) { return std::isfinite(x); }
  static V kernel(KernelBuilder& b, V x) { return b.lt(b.abs(x), b.constant(x.dtype, std::numeric_limits<double>::infinity())); }
};

/// The number that follows x in direction y, by the bits of both.
template <class T, class Bits>
T next_after(T x, T y) {
  const double a = load_element(x), b = load_element(y);
  if (std::isnan(a)) return x;
  if (std::isnan(b) || a == b) return y;
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  auto bits = std::bit_cast<Bits>(x);
  if (a == 0)
    bits = static_cast<Bits>((std::bit_cast<Bits>(y) & kSign) | 1);
  else
    bits = static_cast<Bits>((b > a) == (a > 0) ? bits + 1 : bits - 1);
  return std::bit_cast<T>(bits);
}
DType signed_of(DType t) { return t.itemsize() == 2 ? int16 : t.itemsize() == 4 ? int32 : int64; }

struct Nextafter : Binary<Nextafter> {
  static constexpr std::string_view name = "nextafter", doc = "The next number after the first operand in direction of the second.";
  static constexpr unsigned dtypes = kFloating;
  static constexpr unsigned values = kExact | kReadsSpecials;
  static constexpr std::string_view not_differentiable = "it is a step of the last bit";
  static Float16 stored_ref(Float16 x, Float16 y) { return next_after<Float16, std::uint16_t>(x, y); }
  static BFloat16 stored_ref(BFloat16 x, BFloat16 y) { return next_after<BFloat16, std::uint16_t>(x, y); }
  static float stored_ref(float x, float y) { return next_after<float, std::uint32_t>(x, y); }
  static double stored_ref(double x, double y) { return next_after<double, std::uint64_t>(x, y); }
  static V kernel(KernelBuilder& b, V x, V y) {
    const DType bits = signed_of(x.dtype);
    const V zero = b.constant(x.dtype, 0), one = b.integer(bits, 1), minus_one = b.integer(bits, -1);
    const V sign = b.integer(bits, bits == int16 ? INT16_MIN : bits == int32 ? INT32_MIN : INT64_MIN);
    const V up = b.eq(b.convert(b.gt(y, x), int32), b.convert(b.gt(x, zero), int32));
    const V stepped = b.add(b.bitcast(x, bits), b.select(up, one, minus_one));
    const V smallest = b.bit_or(b.bit_and(b.bitcast(y, bits), sign), one);
    const V next = b.bitcast(b.select(b.eq(x, zero), smallest, stepped), x.dtype);
    return b.select(b.ne(x, x), x, b.select(b.bit_or(b.ne(y, y), b.eq(x, y)), y, next));
  }
};

const Rule<KinkTransform, Abs> abs_has_kink([] {});
const Rule<FiniteDerivativeTransform, Abs> abs_is_finite(always_finite);

}  // namespace

std::vector<ElementwiseInfo> rounding_infos() { return elementwise_info_list<Abs, Ceil, Floor, IsFinite, Nextafter, Round, Sign>(); }

}  // namespace detail

using namespace detail;

namespace {
bool is_whole(const Arg& x) { return x.aval().dtype.is_integer() || x.aval().dtype.is_bool(); }
template <class Op>
Array rounded(const Arg& x) {
  return is_whole(x) ? x.array() : bind_one<Op>({}, {to_inexact(x)}, x.where());
}
/// A function of real arrays applied to both parts of a complex one.
template <class F>
Array by_parts(const Arg& x, F&& f) {
  return complex(f(real(x)), f(imag(x)));
}
Array all_false(const Arg& x) { return x.array() != x.array(); }
}  // namespace

Array floor(Arg x) { return rounded<Floor>(x); }
Array ceil(Arg x) { return rounded<Ceil>(x); }
Array trunc(Arg x) {
  const LocScope scope(x.where());
  return is_whole(x) ? x.array() : where(x.array() < 0, ceil(x), floor(x));
}
Array round(Arg x) {
  const LocScope scope(x.where());
  if (x.aval().dtype.is_integer()) return x.array();
  if (x.aval().dtype.is_complex()) return by_parts(x, [](const Array& part) { return round(part); });
  return bind_one<Round>({.rounding_method = 1}, {to_inexact(x)}, x.where());
}
Array round_away(Arg x) {
  if (x.aval().dtype.is_integer()) return x.array();
  return bind_one<Round>({.rounding_method = 0}, {to_inexact(x)}, x.where());
}
Array abs(Arg x) {
  return x.aval().dtype.is_bool() || x.aval().dtype.is_unsigned() ? x.array() : bind_one<Abs>({}, {x.array()}, x.where());
}
Array sign(Arg x) { return bind_one<Sign>({}, {to_numeric(x)}, x.where()); }
Array nextafter(Arg x, Arg y) { return binary_inexact<Nextafter>(x, y); }
Array isnan(Arg x) {
  const LocScope scope(x.where());
  return x.array() != x.array();
}
Array isinf(Arg x) {
  const LocScope scope(x.where());
  if (x.aval().dtype.is_complex()) return isinf(real(x)) | isinf(imag(x));
  if (!x.aval().dtype.is_floating()) return all_false(x);
  return abs(x) == std::numeric_limits<double>::infinity();
}
Array isfinite(Arg x) {
  const LocScope scope(x.where());
  if (x.aval().dtype.is_complex()) return isfinite(real(x)) & isfinite(imag(x));
  if (!x.aval().dtype.is_floating()) return x.array() == x.array();
  return bind_one<IsFinite>({}, {x.array()}, x.where());
}
Array signbit(Arg x) {
  const LocScope scope(x.where());
  const Array v = x.array();
  if (v.dtype().is_floating()) return bitcast_convert(v, signed_of(v.dtype())) < 0;
  return v < 0;
}
Array copysign(Arg x, Arg y) {
  const LocScope scope(x.where());
  auto [a, b] = promote_inexact("copysign", x, y);
  const Array size = abs(a);
  return where(signbit(b), -size, size);
}

}  // namespace weft
