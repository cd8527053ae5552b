// Gamma variates and their derivative by the shape parameter.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/partition_rule.h"
#include "weft/core/ops/elementwise/elementwise.h"
#include "weft/core/ops/elementwise/special_functions.h"
#include "weft/core/ops/random/random.h"
#include "weft/core/ops/random/threefry.h"
#include "weft/core/ops/registry.h"

namespace weft::detail {
namespace {

/// Of a floating format: how many bits are drawn for a number, and how many of them become its mantissa.
template <class T>
struct Format;
template <>
struct Format<float> {
  static constexpr int bits = 32, mantissa = 23;
};
template <>
struct Format<double> {
  static constexpr int bits = 64, mantissa = 52;
};
template <>
struct Format<Float16> {
  static constexpr int bits = 16, mantissa = 10;
};
template <>
struct Format<BFloat16> {
  static constexpr int bits = 8, mantissa = 7;
};

/// One variate after another, each operation rounded to T, so that the numbers are those of a program in that dtype.
template <class T>
struct GammaSampler {
  static double r(double v) { return static_cast<double>(T(v)); }

  /// In [0, 1).
  static double uniform(Words key) {
    const std::uint64_t bits = bits_of_block(threefry_block(key, 0), Format<T>::bits);
    return std::ldexp(static_cast<double>(bits >> (Format<T>::bits - Format<T>::mantissa)), -Format<T>::mantissa);
  }
  static double normal(Words key) {
    const double low = std::ldexp(1., -Format<T>::mantissa - 1) - 1;  // the next number after -1
    const double u = std::max(low, r(r(uniform(key) * r(1 - low)) + low));
    return r(r(std::sqrt(2.)) * r(erf_inv(u)));
  }

  /// G. Marsaglia and W. Tsang, A Simple Method for Generating Gamma Variables, ACM TOMS 26 (2000). For alpha < 1, a variate for alpha + 1
  /// times u^(1 / alpha). The draws are those of jax.random.gamma.
  static double sample(Words key, double alpha, bool log_space) {
    const double third = r(1. / 3), squeeze = r(0.0331);
    const bool boosted = !(alpha >= 1);
    const double d = r((boosted ? r(alpha + 1) : alpha) - third), c = r(third / r(std::sqrt(d)));
    const Words boost_key = threefry_block(key, 1);
    key = threefry_block(key, 0);
    double x2 = 0, v = 1, u = 2;
    while (u >= r(1 - r(squeeze * r(x2 * x2))) && r(std::log(u)) >= r(r(x2 * 0.5) + r(d * r(r(1 - v) + r(std::log(v)))))) {
      Words x_key = threefry_block(key, 1);
      const Words u_key = threefry_block(key, 2);
      key = threefry_block(key, 0);
      double x = 0, root = -1;
      while (root <= 0) {
        x = normal(threefry_block(x_key, 1));
        x_key = threefry_block(x_key, 0);
        root = r(1 + r(x * c));
      }
      x2 = r(x * x), v = r(r(root * root) * root), u = uniform(u_key);
    }
    if (log_space) {
      const double log_u = r(std::log1p(-uniform(boost_key)));
      const double boost = boosted && log_u != 0 ? r(log_u * r(1 / alpha)) : 0;
      return r(r(r(std::log(d)) + r(std::log(v))) + boost);
    }
    const double boost = boosted ? r(std::pow(r(1 - uniform(boost_key)), r(1 / alpha))) : 1;
    return r(r(d * v) * boost);
  }
};

/// The derivative of a variate x by alpha at a fixed value of the distribution function P: -(dP/dalpha) / (dP/dx) (M. Figurnov, S. Mohamed
/// and A. Mnih, Implicit Reparameterization Gradients, 2018).
double gamma_derivative(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || a <= 0 || x < 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return 0;
  if (std::isinf(x)) return x;
  if (x <= 1 || x <= a) {
    // P = x^a exp(-x) / Gamma(a + 1) * sum of x^n / ((a + 1) ... (a + n))
    double term = 1, slope = 0, sum = 1, sum_slope = 0;
    for (int n = 1; n < 1000000; ++n) {
      const double step = x / (a + n);
      slope = slope * step - term * step / (a + n);
      term *= step;
      sum += term, sum_slope += slope;
      if (term < 1e-17 * sum && std::abs(slope) <= 1e-17 * std::abs(sum_slope)) break;
    }
    return -(sum_slope + sum * (std::log(x) - digamma(a + 1))) * x / a;
  }
  // 1 - P = x^a exp(-x) / Gamma(a) * 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...)))
  const int depth = static_cast<int>(std::min(1e5, 200 + 10 * std::sqrt(a)));
  double f = x + 2 * depth + 1 - a, slope = -1;
  for (int n = depth; n >= 1; --n) {
    const double top = n * (n - a);
    slope = -1 - (-n / f - top * slope / (f * f));
    f = x + 2 * n - 1 - a - top / f;
  }
  const double fraction = 1 / f, fraction_slope = -slope / (f * f);
  return (fraction_slope + fraction * (std::log(x) - digamma(a))) * x;
}

struct RandomGammaGrad : Elementwise<RandomGammaGrad, 2> {
  static constexpr std::string_view name = "random_gamma_grad",
                                    doc = "The derivative of a gamma variate (operand 1) by its shape parameter.";
  static constexpr unsigned dtypes = kFloating;
  static constexpr std::string_view not_differentiable = "the second derivative of a gamma variate by its shape parameter is not known";
  static double ref(double a, double x) { return gamma_derivative(a, x); }
  static KernelValue kernel(KernelBuilder&, KernelValue, KernelValue) { return {}; }
};

struct RandomGamma {
  static constexpr std::string_view name = "random_gamma", doc = "A gamma variate for each shape parameter.";
  static constexpr Kind kind = Kind::library;
  static constexpr bool not_linear = true;
  struct Params {
    bool log_space = false;
    friend bool operator==(const Params&, const Params&) = default;
  };
  static Aval abstract_eval(const OpContext& c) {
    if (c.in.size() != 2) c.fail<Error>(fmt::format("takes keys and shape parameters, not {} operands", c.in.size()));
    if (!c.in[0].dtype.is_key()) c.fail<DTypeError>(fmt::format("{} is not a key", to_string(c.in[0])), "make one with random::key(seed)");
    if (!c.in[1].dtype.is_floating())
      c.fail<DTypeError>("the shape parameters are " + std::string(c.in[1].dtype.name()), "they must be floats");
    bool prefix = c.in[0].ndim() <= c.in[1].ndim();
    for (int d = 0; prefix && d < c.in[0].ndim(); ++d) prefix = c.in[0].shape[d] == c.in[1].shape[d];
    if (!prefix) c.fail<ShapeError>("the keys' dimensions must be the first ones of the shape parameters");
    return {c.in[1].shape, c.in[1].dtype, false};
  }
  static std::vector<Tangent> jvp(const JvpContext& c) {
    if (!c.tangents[1]) return {std::nullopt};
    if (!c.get<Params>().log_space) return {*c.tangents[1] * bind_one<RandomGammaGrad>({}, {c.in[1], c.out[0]}, c.loc)};
    // The logarithm of a variate x has the derivative (dx/dalpha) / x, where x may have been too small for its dtype.
    const Array x = weft::exp(c.out[0]);
    const Array tiny = make_literal(Number(smallest_normal(x.dtype())), x.dtype());
    const Array sample = where(x == 0, tiny, x);
    return {*c.tangents[1] * (bind_one<RandomGammaGrad>({}, {c.in[1], sample}, c.loc) / sample)};
  }
  static double smallest_normal(DType t) { return t == float64 ? 0x1p-1022 : t == float16 ? 0x1p-14 : 0x1p-126; }
  static BatchResult batch(const BatchContext& c) {
    const Array keys = materialize_batch_dim(c.in[0], c.dims[0], c.axis.size, 0, c.loc);
    const Array alpha = materialize_batch_dim(c.in[1], c.dims[1], c.axis.size, 0, c.loc);
    return {{bind_one<RandomGamma>(c.get<Params>(), {keys, alpha}, c.loc)}, {0}};
  }
  static void reference(const ReferenceContext& c) {
    const bool log_space = c.get<Params>().log_space;
    const std::int64_t keys = c.in[0].aval.size(), each = keys ? c.in[1].aval.size() / keys : 0;
    with_storage(c.in[1].aval.dtype, [&]<class T>() {
      if constexpr (is_floating_storage<T>)
        for (std::int64_t i = 0; i < keys * each; ++i) {
          const Words key = threefry_block(c.in[0].as<Words>()[i / each], static_cast<std::uint64_t>(i % each));
          c.out[0].as<T>()[i] = T(GammaSampler<T>::sample(key, static_cast<double>(c.in[1].as<T>()[i]), log_space));
        }
    });
  }
};

const PartitionRule<RandomGamma> gamma_partition([](const PartitionContext& c) { return partition_batched(c, c.in[0].whole.size()); });

}  // namespace

Array random_gamma(const Array& keys, const Array& alpha, bool log_space, SourceLoc loc) {
  return bind_one<RandomGamma>({log_space}, {keys, alpha}, loc);
}

PrimitiveList random_gamma_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<RandomGamma>, &primitive_of<RandomGammaGrad>};
  return list;
}

}  // namespace weft::detail
