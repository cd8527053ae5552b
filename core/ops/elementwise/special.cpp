// The error function's family and the gamma function's.
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/elementwise/elementwise.h"
#include "weft/core/ops/elementwise/special_functions.h"
#include "weft/core/ops/promotion.h"

#include <numbers>

namespace weft {
namespace detail {
namespace {

using V = KernelValue;
const double kTwoOverRootPi = 2 * std::numbers::inv_sqrtpi;

struct Erf : Unary<Erf> {
  static constexpr std::string_view name = "erf", doc = "The error function.";
  static constexpr unsigned dtypes = kFloating;
  static double ref(double x) { return std::erf(x); }
  static Array partial(const Array& t, const Array& x, const Array&) { return kTwoOverRootPi * (t * weft::exp(-square(x))); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::erf, x); }
};
struct Erfc : Unary<Erfc> {
  static constexpr std::string_view name = "erfc", doc = "1 - erf(x), accurate where it is small.";
  static constexpr unsigned dtypes = kFloating;
  static double ref(double x) { return static_cast<double>(std::erfc(static_cast<long double>(x))); }  // of double it loses 3 units
  static Array partial(const Array& t, const Array& x, const Array&) { return -kTwoOverRootPi * (t * weft::exp(-square(x))); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::erfc, x); }
};
struct ErfInv : Unary<ErfInv> {
  static constexpr std::string_view name = "erf_inv", doc = "The inverse of erf.";
  static constexpr unsigned dtypes = kFloating;
  static constexpr Domain domain{-0.9, 0.9};
  static double ref(double x) { return detail::erf_inv(x); }
  static Array partial(const Array& t, const Array&, const Array& y) { return 1 / kTwoOverRootPi * (t * weft::exp(square(y))); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::erf_inv, x); }
};

struct Lgamma : Unary<Lgamma> {
  static constexpr std::string_view name = "lgamma", doc = "The logarithm of the gamma function's modulus.";
  static constexpr unsigned dtypes = kFloating;
  static constexpr Domain domain{0.2, 5};
  static double ref(double x) { return precise_lgamma(x); }
  static Array partial(const Array& t, const Array& x, const Array&) { return t * weft::digamma(x); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::lgamma, x); }
};
struct Digamma : Unary<Digamma> {
  static constexpr std::string_view name = "digamma", doc = "The derivative of lgamma.";
  static constexpr unsigned dtypes = kFloating;
  static constexpr Domain domain{0.2, 5};
  static double ref(double x) { return detail::digamma(x); }
  static Array partial(const Array& t, const Array& x, const Array&) { return t * weft::polygamma(1, x); }
  static V kernel(KernelBuilder& b, V x) { return b.math(MathFunction::digamma, x); }
};
struct Polygamma : Binary<Polygamma> {
  static constexpr std::string_view name = "polygamma", doc = "The derivative of digamma of the order that the first operand gives.";
  static constexpr unsigned dtypes = kFloating;
  static constexpr unsigned values = kParticular;
  static constexpr Domain domain{1, 1};
  static constexpr bool partly_differentiable = true;
  static double ref(double n, double x) { return detail::polygamma(n, x); }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    if (c.tangents[0]) throw DTypeError("polygamma: has no derivative by its order; stop_gradient(order) says that none is wanted", c.loc);
    if (!c.tangents[1]) return {std::nullopt};
    return {broadcast_tangent(*c.tangents[1] * weft::polygamma(c.in[0] + 1, c.in[1]), c.out[0], c.loc)};
  }
  static V kernel(KernelBuilder&, V, V) { return {}; }
};

}  // namespace

const Primitive& polygamma_primitive() { return primitive_of<Polygamma>; }
std::vector<ElementwiseInfo> special_infos() { return elementwise_info_list<Digamma, Erf, ErfInv, Erfc, Lgamma, Polygamma>(); }

}  // namespace detail

using namespace detail;

Array erf(Arg x) { return unary_inexact<Erf>(x); }
Array erfc(Arg x) { return unary_inexact<Erfc>(x); }
Array erf_inv(Arg x) { return unary_inexact<ErfInv>(x); }
Array lgamma(Arg x) { return unary_inexact<Lgamma>(x); }
Array digamma(Arg x) { return unary_inexact<Digamma>(x); }
Array polygamma(Arg n, Arg x) { return binary_inexact<Polygamma>(n, x); }

}  // namespace weft
