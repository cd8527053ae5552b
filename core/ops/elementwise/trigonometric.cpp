// Trigonometric and hyperbolic functions and their inverses.
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/elementwise/complex_math.h"
#include "weft/core/ops/elementwise/elementwise.h"
#include "weft/core/ops/elementwise/special_functions.h"
#include "weft/core/ops/promotion.h"

namespace weft {
namespace detail {
namespace {

using V = KernelValue;

struct Sin : Unary<Sin> {
  static constexpr std::string_view name = "sin", doc = "Sine.";
  static constexpr unsigned dtypes = kInexact;
  static double ref(double x) { return precise_sin(x); }
  static std::complex<double> ref(std::complex<double> z) {
    const std::complex<double> y = std::sinh(std::complex<double>(-z.imag(), z.real()));
    return {y.imag(), -y.real()};
  }
  static Array partial(const Array& t, const Array& x, const Array&) { return t * weft::cos(x); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::sin, x); }
  static V complex_kernel(KernelBuilder& b, V z) { return complex_sin(b, z); }
};
struct Cos : Unary<Cos> {
  static constexpr std::string_view name = "cos", doc = "Cosine.";
  static constexpr unsigned dtypes = kInexact;
  static double ref(double x) { return precise_cos(x); }
  static std::complex<double> ref(std::complex<double> z) { return std::cos(z); }
  static Array partial(const Array& t, const Array& x, const Array&) { return -(t * weft::sin(x)); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::cos, x); }
  static V complex_kernel(KernelBuilder& b, V z) { return complex_cos(b, z); }
};
struct Tan : Unary<Tan> {
  static constexpr std::string_view name = "tan", doc = "Tangent.";
  static constexpr unsigned dtypes = kInexact;
  static constexpr Domain domain{-1.2, 1.2};
  static double ref(double x) { return precise_tan(x); }
  static std::complex<double> ref(std::complex<double> z) { return std::tan(z); }
  static Array partial(const Array& t, const Array&, const Array& y) { return t * (1 + square(y)); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::tan, x); }
  static V complex_kernel(KernelBuilder& b, V z) { return over_i(b, complex_tanh(b, times_i(b, z))); }
};
struct Asin : Unary<Asin> {
  static constexpr std::string_view name = "asin", doc = "Inverse sine.";
  static constexpr unsigned dtypes = kInexact;
  static constexpr Domain domain{-0.9, 0.9};
  static auto ref(auto x) { return std::asin(x); }
  static Array partial(const Array& t, const Array& x, const Array&) { return t * rsqrt(1 - square(x)); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::asin, x); }
};
struct Acos : Unary<Acos> {
  static constexpr std::string_view name = "acos", doc = "Inverse cosine.";
  static constexpr unsigned dtypes = kInexact;
  static constexpr Domain domain{-0.9, 0.9};
  static auto ref(auto x) { return std::acos(x); }
  static Array partial(const Array& t, const Array& x, const Array&) { return t * -rsqrt(1 - square(x)); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::acos, x); }
};
struct Atan : Unary<Atan> {
  static constexpr std::string_view name = "atan", doc = "Inverse tangent.";
  static constexpr unsigned dtypes = kInexact;
  static constexpr Domain domain{-0.9, 0.9};
  static auto ref(auto x) { return std::atan(x); }
  static Array partial(const Array& t, const Array& x, const Array&) { return t / (1 + square(x)); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::atan, x); }
};
struct Atan2 : Binary<Atan2> {
  static constexpr std::string_view name = "atan2", doc = "The angle of the point (second operand, first operand).";
  static constexpr unsigned dtypes = kFloating;
  static constexpr Domain domain{0.2, 3};
  static double ref(double x, double y) { return std::atan2(x, y); }
  static Array partial_x(const Array& t, const Array& x, const Array& y, const Array&) { return t * (y / (square(x) + square(y))); }
  static Array partial_y(const Array& t, const Array& x, const Array& y, const Array&) { return t * (-x / (square(x) + square(y))); }
  static V kernel(KernelBuilder& b, V x, V y) { return b.math(MathFunction::atan2, x, y); }
};

struct Sinh : Unary<Sinh> {
  static constexpr std::string_view name = "sinh", doc = "Hyperbolic sine.";
  static constexpr unsigned dtypes = kInexact;
  static auto ref(auto x) { return std::sinh(x); }
  static Array partial(const Array& t, const Array& x, const Array&) { return t * weft::cosh(x); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::sinh, x); }
  static V complex_kernel(KernelBuilder& b, V z) { return complex_sinh(b, z); }
};
struct Cosh : Unary<Cosh> {
  static constexpr std::string_view name = "cosh", doc = "Hyperbolic cosine.";
  static constexpr unsigned dtypes = kInexact;
  static auto ref(auto x) { return std::cosh(x); }
  static Array partial(const Array& t, const Array& x, const Array&) { return t * weft::sinh(x); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::cosh, x); }
  static V complex_kernel(KernelBuilder& b, V z) { return complex_cosh(b, z); }
};
struct Tanh : Unary<Tanh> {
  static constexpr std::string_view name = "tanh", doc = "Hyperbolic tangent.";
  static constexpr unsigned dtypes = kInexact;
  static auto ref(auto x) { return std::tanh(x); }
  static Array partial(const Array& t, const Array&, const Array& y) { return (t + t * y) * (1 - y); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::tanh, x); }
  static V complex_kernel(KernelBuilder& b, V z) { return complex_tanh(b, z); }
};
struct Asinh : Unary<Asinh> {
  static constexpr std::string_view name = "asinh", doc = "Inverse hyperbolic sine.";
  static constexpr unsigned dtypes = kInexact;
  static constexpr Domain domain{-0.9, 0.9};
  static auto ref(auto x) { return std::asinh(x); }
  static Array partial(const Array& t, const Array& x, const Array&) { return t * rsqrt(square(x) + 1); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::asinh, x); }
};
struct Acosh : Unary<Acosh> {
  static constexpr std::string_view name = "acosh", doc = "Inverse hyperbolic cosine.";
  static constexpr unsigned dtypes = kInexact;
  static constexpr Domain domain{1.2, 4};
  static auto ref(auto x) { return std::acosh(x); }
  static Array partial(const Array& t, const Array& x, const Array&) {
    // Two roots, as the branch of the root of their product would be a wrong one for complex x.
    if (x.dtype().is_complex()) return t * (rsqrt(x - 1) * rsqrt(x + 1));
    return t * rsqrt((x - 1) * (x + 1));
  }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::acosh, x); }
};
struct Atanh : Unary<Atanh> {
  static constexpr std::string_view name = "atanh", doc = "Inverse hyperbolic tangent.";
  static constexpr unsigned dtypes = kInexact;
  static constexpr Domain domain{-0.9, 0.9};
  static auto ref(auto x) { return std::atanh(x); }
  static Array partial(const Array& t, const Array& x, const Array&) { return 1 / (1 + x) * (t / (1 - x)); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::atanh, x); }
};

}  // namespace

std::vector<ElementwiseInfo> trigonometric_infos() {
  return elementwise_info_list<Acos, Acosh, Asin, Asinh, Atan, Atan2, Atanh, Cos, Cosh, Sin, Sinh, Tan, Tanh>();
}

}  // namespace detail

using namespace detail;

Array sin(Arg x) { return unary_inexact<Sin>(x); }
Array cos(Arg x) { return unary_inexact<Cos>(x); }
Array tan(Arg x) { return unary_inexact<Tan>(x); }
Array asin(Arg x) { return unary_inexact<Asin>(x); }
Array acos(Arg x) { return unary_inexact<Acos>(x); }
Array atan(Arg x) { return unary_inexact<Atan>(x); }
Array sinh(Arg x) { return unary_inexact<Sinh>(x); }
Array cosh(Arg x) { return unary_inexact<Cosh>(x); }
Array tanh(Arg x) { return unary_inexact<Tanh>(x); }
Array asinh(Arg x) { return unary_inexact<Asinh>(x); }
Array acosh(Arg x) { return unary_inexact<Acosh>(x); }
Array atanh(Arg x) { return unary_inexact<Atanh>(x); }
Array atan2(Arg y, Arg x) { return binary_inexact<Atan2>(y, x); }

}  // namespace weft
