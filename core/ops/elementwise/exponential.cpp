// Exponentials, logarithms, powers and roots.
#include <limits>
#include <numbers>

#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/control/custom_derivatives.h"
#include "weft/core/ops/elementwise/complex_math.h"
#include "weft/core/ops/elementwise/elementwise.h"
#include "weft/core/ops/elementwise/stop_gradient.h"
#include "weft/core/ops/elementwise/wrapping.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace detail {
namespace {

using V = KernelValue;

struct Exp : Unary<Exp> {
  static constexpr std::string_view name = "exp", doc = "e to the x.";
  static constexpr unsigned dtypes = kInexact;
  static auto ref(auto x) { return std::exp(x); }
  static Array partial(const Array& t, const Array&, const Array& y) { return t * y; }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::exp, x); }
  static V complex_kernel(KernelBuilder& b, V z) { return complex_exp(b, z); }
};
struct Exp2 : Unary<Exp2> {
  static constexpr std::string_view name = "exp2", doc = "2 to the x.";
  static constexpr unsigned dtypes = kInexact;
  static double ref(double x) { return std::exp2(x); }
  static std::complex<double> ref(std::complex<double> z) { return std::exp(z * std::numbers::ln2); }
  static Array partial(const Array& t, const Array&, const Array& y) { return std::numbers::ln2 * (t * y); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::exp2, x); }
  static V complex_kernel(KernelBuilder& b, V z) {
    const V ln2 = b.constant(z.dtype.real_part(), std::numbers::ln2);
    return complex_exp(b, b.complex(b.mul(b.real(z), ln2), b.mul(b.imag(z), ln2)));
  }
};
struct Expm1 : Unary<Expm1> {
  static constexpr std::string_view name = "expm1", doc = "exp(x) - 1, accurate near 0.";
  static constexpr unsigned dtypes = kInexact;
  static double ref(double x) { return std::expm1(x); }
  static std::complex<double> ref(std::complex<double> z) {
    const double half = std::sin(z.imag() / 2);
    const double im = z.imag() == 0 ? z.imag() : std::exp(z.real()) * std::sin(z.imag());
    return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half, im};
  }
  static Array partial(const Array& t, const Array&, const Array& y) { return t * (y + 1); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::expm1, x); }
  static V complex_kernel(KernelBuilder& b, V z) { return complex_expm1(b, z); }
};
struct Log : Unary<Log> {
  static constexpr std::string_view name = "log", doc = "Natural logarithm.";
  static constexpr unsigned dtypes = kInexact;
  static constexpr Domain domain{0.1, 4};
  static auto ref(auto x) { return std::log(x); }
  static Array partial(const Array& t, const Array& x, const Array&) { return t / x; }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::log, x); }
  static V complex_kernel(KernelBuilder& b, V z) { return complex_log(b, z); }
};
struct Log1p : Unary<Log1p> {
  static constexpr std::string_view name = "log1p", doc = "log(1 + x), accurate near 0.";
  static constexpr unsigned dtypes = kInexact;
  static constexpr Domain domain{-0.9, 4};
  static double ref(double x) { return std::log1p(x); }
  static std::complex<double> ref(std::complex<double> z) {
    if (!(std::abs(z.real()) < 0.5 && std::abs(z.imag()) < 0.5)) return std::log(1. + z);
    return {0.5 * std::log1p(z.real() * (2 + z.real()) + z.imag() * z.imag()), std::atan2(z.imag(), 1 + z.real())};
  }
  static Array partial(const Array& t, const Array& x, const Array&) { return t / (x + 1); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::log1p, x); }
  static V complex_kernel(KernelBuilder& b, V z) { return complex_log1p(b, z); }
};
struct Logistic : Unary<Logistic> {
  static constexpr std::string_view name = "logistic", doc = "1 / (1 + exp(-x)).";
  static constexpr unsigned dtypes = kInexact;
  static double ref(double x) {
    if (!(x < 0)) return 1 / (1 + std::exp(-x));
    const double y = std::exp(x);  // does not overflow
    return y / (1 + y);
  }
  static std::complex<double> ref(std::complex<double> z) {
    const std::complex<double> w = z.real() < 0 ? z : -z, y = std::exp(w);
    std::complex<double> d = 1. + y;
    if (w.real() > -1) {  // next to a pole it cancels
      const double half = std::cos(w.imag() / 2);
      d = {std::expm1(w.real()) * std::cos(w.imag()) + 2 * half * half, y.imag()};
    }
    return (z.real() < 0 ? y : 1.) / d;
  }
  static Array partial(const Array& t, const Array&, const Array& y) { return t * y * (1 - y); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::logistic, x); }
  static V complex_kernel(KernelBuilder& b, V z) { return complex_logistic(b, z); }
};

struct Sqrt : Unary<Sqrt> {
  static constexpr std::string_view name = "sqrt", doc = "Square root.";
  static constexpr unsigned dtypes = kInexact;
  static constexpr Domain domain{0.1, 4};
  static auto ref(auto x) { return std::sqrt(x); }
  static Array partial(const Array& t, const Array&, const Array& y) { return t * (0.5 / y); }
  static V kernel(KernelBuilder& b, V x) { return b.sqrt(x); }
  static V complex_kernel(KernelBuilder& b, V z) { return complex_sqrt(b, z); }
};
struct Rsqrt : Unary<Rsqrt> {
  static constexpr std::string_view name = "rsqrt", doc = "1 / sqrt(x).";
  static constexpr unsigned dtypes = kInexact;
  static constexpr Domain domain{0.1, 4};
  static auto ref(auto x) { return 1. / std::sqrt(x); }
  static Array partial(const Array& t, const Array& x, const Array& y) { return t * (-0.5 * (y / x)); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::rsqrt, x); }
  static V complex_kernel(KernelBuilder& b, V z) { return b.div(b.constant(z.dtype, 1), complex_sqrt(b, z)); }
};
struct Cbrt : Unary<Cbrt> {
  static constexpr std::string_view name = "cbrt", doc = "Cube root, of negative numbers too.";
  static constexpr unsigned dtypes = kFloating;
  static constexpr Domain domain{0.1, 4};
  static double ref(double x) { return static_cast<double>(std::cbrt(static_cast<long double>(x))); }  // of double it loses 3 units
  static Array partial(const Array& t, const Array&, const Array& y) { return t * (1. / 3 * integer_pow(y, -2)); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::cbrt, x); }
};

/// A power by repeated squaring, for any monoid given by `one` and `multiply`.
template <class T, class Multiply>
T power_by_squaring(T base, std::uint64_t exponent, T one, Multiply&& multiply) {
  bool started = false;
  T power = one;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent & 1) {
      power = started ? multiply(power, base) : base;
      started = true;
    }
    if (exponent > 1) base = multiply(base, base);
  }
  return power;
}

struct Square : Unary<Square> {
  static constexpr std::string_view name = "square", doc = "x * x.";
  static constexpr unsigned dtypes = kNumber;
  static constexpr unsigned values = kKeepsIntegers | kMultiplies;
  static auto ref(auto x) { return wrapping_mul(x, x); }
  static std::complex<double> ref(std::complex<double> z) {
    const double re = z.real(), im = z.imag(), product = re * im;
    const bool alike = std::isfinite(re) && std::abs(re) == std::abs(im);  // a difference of 0, which may be of infinities
    return {alike ? 0 : (re - im) * (re + im), product + product};
  }
  static Array partial(const Array& t, const Array& x, const Array&) { return t * (2 * x); }
  static V complex_kernel(KernelBuilder& b, V z) { return complex_square(b, z); }
  static V kernel(KernelBuilder& b, V x) { return b.mul(x, x); }
};

struct IntegerPowParams {
  std::int64_t y = 2;
  friend bool operator==(const IntegerPowParams&, const IntegerPowParams&) = default;
};
struct IntegerPow : Unary<IntegerPow> {
  static constexpr std::string_view name = "integer_pow", doc = "x to a fixed integer power, by repeated multiplication.";
  static constexpr unsigned dtypes = kNumber;
  static constexpr unsigned values = kMultiplies;
  static constexpr Domain domain{0.5, 3};
  using Params = IntegerPowParams;
  static Params sample(DType) { return {.y = 3}; }
  static Aval abstract_eval(const OpContext& c) {
    if (c.get<Params>().y < 0 && c.in.size() == 1 && c.in[0].dtype.is_integer())
      c.fail<DTypeError>("an integer has no negative powers", "convert it to a floating dtype");
    return Unary::abstract_eval(c);
  }
  static std::uint64_t magnitude(std::int64_t y) { return y < 0 ? 0 - static_cast<std::uint64_t>(y) : static_cast<std::uint64_t>(y); }
  template <class T>
  static T ref(T x, const Params& p) {
    const T power = power_by_squaring(x, magnitude(p.y), T(1), [](T a, T b) { return wrapping_mul(a, b); });
    if constexpr (std::is_integral_v<T>)
      return power;
    else
      return p.y < 0 ? T(1.) / power : power;
  }
  static Tangent partial(const Array& t, const Array& x, const Array&, const Params& p) {
    if (p.y == 0) return {};
    const std::int64_t lower = p.y == std::numeric_limits<std::int64_t>::min() ? p.y : p.y - 1;
    return t * (p.y * integer_pow(x, lower));
  }
  static constexpr bool kernel_takes_complex = true;
  static V kernel(KernelBuilder& b, V x, const Params& p) {
    // Small floats are multiplied in float32 and rounded once.
    const DType given = x.dtype;
    if (given == float16 || given == bfloat16) x = b.convert(x, float32);
    const V one = b.constant(x.dtype, 1);
    V power = power_by_squaring(x, magnitude(p.y), one, [&](V u, V v) { return b.mul(u, v); });
    if (p.y < 0) power = b.div(one, power);
    return b.convert(power, given);
  }
};

/// x to the y, where y may also be an integer: then the derivative by x is right at 0, too.
struct Pow : Binary<Pow> {
  static constexpr std::string_view name = "pow", doc = "x to the y.";
  static constexpr unsigned dtypes = kInexact;
  static constexpr Domain domain{0.2, 3};
  static Aval abstract_eval(const OpContext& c) {
    if (c.in.size() == 2 && c.in[1].dtype.is_integer()) {
      const Aval base[] = {c.in[0], c.in[1].with_dtype(c.in[0].dtype)};
      check_operands({c.op, c.params, base, c.loc}, 2, dtypes);
    } else {
      check_operands(c, 2, dtypes);
    }
    Aval out = elementwise_aval(c, c.in[0].dtype);
    out.weak = c.in[0].weak && (c.in[1].weak || c.in[1].dtype.is_integer());
    return out;
  }
  static double ref(double x, double y) { return std::pow(x, y); }
  static std::complex<double> ref(std::complex<double> x, std::complex<double> y) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (y == 0. || x == 1.) return 1.;
    if (x == 0.) return y.real() > 0 ? std::complex<double>(0.) : std::complex<double>(nan, nan);
    if (x.imag() == 0 && x.real() > 0 && y.imag() == 0) return std::pow(x.real(), y.real());
    const std::complex<double> l = std::log(x);
    if (y.imag() == 0) return std::exp(y.real() * l);
    return std::exp(wrapping_mul(y, l));
  }
  static void reference(const ReferenceContext& c) {
    if (!c.in[1].aval.dtype.is_integer()) return Binary::reference(c);
    with_compute_type(c.in[0].aval.dtype, [&]<class C>() {
      if constexpr (std::is_floating_point_v<C> || is_complex_storage<C>)
        with_compute_type(c.in[1].aval.dtype, [&]<class I>() {
          if constexpr (std::is_integral_v<I> && !std::is_same_v<I, bool>) reference_of_whole<C, I>(c);
        });
    });
  }
  /// The powers with integer exponents, which are computed with as I.
  template <class C, class I>
  static void reference_of_whole(const ReferenceContext& c) {
    C base[ElementBlocks::kSize], out[ElementBlocks::kSize];
    I exponent[ElementBlocks::kSize];
    for (ElementBlocks block(c); block.next();) {
      load_elements<C>(c.in[0], block.positions(0), base);
      load_elements<I>(c.in[1], block.positions(1), exponent);
      for (std::size_t k = 0; k < block.size(); ++k) out[k] = ref(base[k], C(static_cast<double>(exponent[k])));
      store_elements<C>(c.out[0], block.begin(), {out, block.size()});
    }
  }
  static Array power(const Array& x, const Array& y) { return bind_one<Pow>({}, {x, y}, {}); }
  static Array without_zero(const Array& x) { return where(x == 0, 1, x); }
  /// y x^(y-1). Where y is 0 the power is 1 for every x, and the 0 is not multiplied by what is infinite, in further derivatives either:
  /// that is why the base is replaced. Where y may vary, only at the base 0, as by y this derivative has the derivative 1/x there.
  static Array partial_x(const Array& t, const Array& x, const Array& y, const Array&) {
    if (const LiteralArray* const number = as_literal(y); number && number_of(*number).real != 0) return t * (y * power(x, y - 1));
    const bool whole = y.dtype().is_integer();
    const Array base = where(whole ? y == 0 : (x == 0) & (y == 0), 1, x);
    return t * ((whole ? convert_element_type(y, x.dtype(), x.aval().weak, {}) : y) * power(base, y - 1));
  }
  static Array partial_y(const Array& t, const Array& x, const Array&, const Array& out) { return t * (weft::log(without_zero(x)) * out); }
  static V kernel(KernelBuilder& b, V x, V y) {
    if (!y.dtype.is_integer()) return b.math(MathFunction::pow, x, y);
    // The exponent may be too large to be exact as a float, so its parity is taken from the integer.
    const DType compute = x.dtype == float64 ? float64 : float32;
    const V base = b.convert(x, compute), size = b.math(MathFunction::pow, b.abs(base), b.convert(y, compute));
    const V odd = b.ne(b.bit_and(y, b.integer(y.dtype, 1)), b.integer(y.dtype, 0));
    const V sign = b.copysign(b.constant(compute, 1), base);
    return b.convert(b.mul(size, b.select(odd, sign, b.constant(compute, 1))), x.dtype);
  }
  static V complex_kernel(KernelBuilder& b, V x, V y) {
    if (y.dtype.is_integer()) y = b.convert(y, x.dtype);
    return complex_pow(b, x, y);
  }
};

/// Integers to integer powers, by squaring: six steps, as more would overflow for any base but 0, 1 and -1, whose powers repeat.
Array integer_power(const Array& base, const Array& exponent) {
  Array x = base, n = exponent;
  Array power = where((x == 0) & (n != 0), 0, 1);
  power = convert(power, base.dtype());
  for (int step = 0; step < 6; ++step) {
    power = where((n & 1) != 0, power * x, power);
    if (step < 5) x = x * x;
    n = shift_right_logical(n, 1);
  }
  return power;
}

}  // namespace

std::vector<ElementwiseInfo> exponential_infos() {
  return elementwise_info_list<Cbrt, Exp, Exp2, Expm1, IntegerPow, Log, Log1p, Logistic, Pow, Rsqrt, Sqrt, Square>();
}

}  // namespace detail

using namespace detail;

namespace {
/// log(x) / log_of_base. Of a complex number both parts are divided: dividing the number would make NaN of an infinite part beside 0.
Array log_to_base(const Arg& x, double log_of_base) {
  const LocScope scope(x.where());
  const Array y = log(x);
  return y.dtype().is_complex() ? complex(real(y) / log_of_base, imag(y) / log_of_base) : y / log_of_base;
}
}  // namespace

Array exp(Arg x) { return unary_inexact<Exp>(x); }
Array exp2(Arg x) { return unary_inexact<Exp2>(x); }
Array expm1(Arg x) { return unary_inexact<Expm1>(x); }
Array log(Arg x) { return unary_inexact<Log>(x); }
Array log1p(Arg x) { return unary_inexact<Log1p>(x); }
Array log2(Arg x) { return log_to_base(x, std::numbers::ln2); }
Array log10(Arg x) { return log_to_base(x, std::numbers::ln10); }
Array sigmoid(Arg x) { return unary_inexact<Logistic>(x); }
Array sqrt(Arg x) { return unary_inexact<Sqrt>(x); }
Array rsqrt(Arg x) { return unary_inexact<Rsqrt>(x); }
Array cbrt(Arg x) { return unary_inexact<Cbrt>(x); }
Array square(Arg x) { return bind_one<Square>({}, {to_numeric(x)}, x.where()); }

Array integer_pow(Arg x, Int y) {
  const Array base = to_numeric(x);
  if (y == 1) return base;
  return bind_one<IntegerPow>({.y = y}, {base}, x.where());
}
Array pow(Arg x, Arg y) {
  const LocScope scope(x.where());
  if (const auto n = integer_literal(y.array())) return integer_pow(x, *n);
  const DType base = x.aval().dtype, exponent = y.aval().dtype;
  if (base.is_inexact() && exponent.is_integer()) {
    const Arg both[] = {x, y};
    const std::vector<Array> ranked = promote_ranks("pow", both);
    return bind_one<Pow>({}, {ranked[0], ranked[1]}, x.where());
  }
  auto [a, b] = promote_operands("pow", x, y);
  if (!a.dtype().is_inexact()) return integer_power(to_numeric(a), to_numeric(b));
  return bind_one<Pow>({}, {a, b}, x.where());
}

Array hypot(Arg x, Arg y) {
  const LocScope scope(x.where());
  auto [a, b] = promote_inexact("hypot", x, y);
  if (a.dtype().is_complex())
    throw DTypeError("hypot: is not defined for " + to_string(a.aval()) + "; its operands are real arrays", effective_loc(x.where()));
  const Array u = abs(a), v = abs(b), large = maximum(u, v);
  const Array infinite = isinf(u) | isinf(v), zero = large == 0;
  // The scale is not differentiated: its derivative would make second and higher derivatives wrong where both operands are equally large.
  const Array odd = zero | infinite, scale = detail::stop_gradient_of(where(odd, 1, large));
  const Array size = scale * sqrt(where(odd, 1, square(u / scale) + square(v / scale)));
  return where(infinite, std::numeric_limits<double>::infinity(), where(zero, large, size));
}
Array logaddexp(Arg x, Arg y) {
  const LocScope scope(x.where());
  auto [a, b] = promote_inexact("logaddexp", x, y);
  if (a.dtype().is_complex())
    throw DTypeError("logaddexp: is not defined for " + to_string(a.aval()) + "; its operands are real arrays", effective_loc(x.where()));
  const Jaxpr j = detail::trace_jaxpr({"logaddexp", {a.aval(), b.aval()}, {}}, [](std::span<const Array> in) {
    const Array apart = in[0] - in[1];  // NaN where both are the same infinity
    return std::vector<Array>{where(isnan(apart), in[0] + in[1], maximum(in[0], in[1]) + log1p(exp(-abs(apart))))};
  });
  const Array operands[] = {a, b};
  return detail::bind_custom_jvp("logaddexp", j, {"_logaddexp_jvp", detail::logaddexp_rule()}, operands, x.where())[0];
}

}  // namespace weft
