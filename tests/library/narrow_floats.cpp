// Functions of many 16-bit floats: their counts, positions, sums and squares are beyond what the dtype holds, but not their results.
#include <doctest/doctest.h>
#include <weft/jnp.h>
#include <weft/optim.h>
#include <weft/scipy.h>
#include <weft/stats.h>
#include <weft/weft.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "weft/library/optim/further_losses.h"

using namespace weft;

namespace {

using OfDType = std::function<Array(DType)>;

/// The same numbers, which 16-bit floats hold, in any dtype.
Array wave(DType narrow, std::int64_t n, DType dtype) {
  return convert(convert(sin(arange(n, float32) * 0.37F) * 1.5F + 0.2F, narrow), dtype);
}
/// Whether f gives in the narrow dtype what it gives in float32, but for roundings of the result.
bool agrees(const char* name, DType narrow, const OfDType& f) {
  const Array result = f(narrow), wide = f(float32);
  bool good = result.dtype() == (wide.dtype() == float32 ? narrow : wide.dtype()) && result.shape() == wide.shape();
  const auto a = convert(ravel(result), float64).to_vector<double>(), b = convert(ravel(wide), float64).to_vector<double>();
  double largest = 0;
  for (const double v : b) largest = std::max(largest, std::abs(v));
  const double rounding = narrow == float16 ? 0x1p-10 : 0x1p-7;
  for (std::size_t i = 0; good && i < a.size(); ++i) {
    // Subnormal numbers of float16 have fewer digits.
    good = std::abs(a[i] - b[i]) <= 8 * rounding * (std::abs(b[i]) + 0.1 * largest) + 0x1p-24;
    if (!good) MESSAGE(std::string(name), " of ", narrow.name(), ": element ", i, " is ", a[i], ", in float32 ", b[i]);
  }
  return good;
}

}  // namespace

TEST_CASE("functions of many 16-bit floats give what they give in float32") {
  for (const DType d : {float16, bfloat16}) {
    constexpr std::int64_t many = 70'001, few = 3'001;
    const auto x = [d](DType t) { return wave(d, many, t); };
    const auto y = [d](DType t) { return wave(d, few, t); };
    const auto weights = [&](DType t) { return Array(abs(x(t)) + 1); };
    const auto check = [&](const char* name, const OfDType& f) { CHECK(agrees(name, d, f)); };

    check("softmax", [&](DType t) { return nn::softmax(zeros({many}, t)); });
    check("softmax, where", [&](DType t) { return nn::softmax(x(t) * 0, -1, {.where = x(t) > -10}); });
    check("log_softmax", [&](DType t) { return nn::log_softmax(zeros({many}, t)); });
    check("log_softmax, where", [&](DType t) { return nn::log_softmax(x(t), -1, {.where = x(t) > -10}); });
    check("logsumexp", [&](DType t) { return logsumexp(x(t)); });
    check("logsumexp with factors", [&](DType t) { return logsumexp(x(t), none, LogsumexpOptions{.b = weights(t)}); });
    check("logmeanexp", [&](DType t) { return nn::logmeanexp(x(t)); });
    check("cross entropy", [&](DType t) { return optim::softmax_cross_entropy_with_integer_labels(zeros({2, many}, t), array({1, 2})); });
    check("standardize", [&](DType t) { return nn::standardize(x(t) * 200); });

    check("norm", [&](DType t) { return linalg::norm(x(t) * 2); });
    check("norm of order 3", [&](DType t) { return linalg::norm(x(t), 3); });
    check("norm of a matrix", [&](DType t) { return linalg::norm(reshape(x(t)(slice(0, 70'000)), {7'000, 10}) * 5, 2); });
    check("norm of a tree", [&](DType t) { return tree::norm(std::vector{x(t) * 3, y(t)}); });
    check("clip_by_global_norm", [&](DType t) {
      const std::vector grads{x(t) * 300, y(t)};
      const auto clip = optim::clip_by_global_norm(1.);
      return clip.update(grads, clip.init(grads), grads).first[0] * 100;
    });
    check("cosine_similarity", [&](DType t) { return optim::cosine_similarity(x(t) * 3, x(t)); });
    check("projection_simplex", [&](DType t) { return optim::projections::projection_simplex(y(t)); });
    check("projection_l2_ball", [&](DType t) { return optim::projections::projection_l2_ball(x(t) * 3, 100.); });

    check("average", [&](DType t) { return average(x(t), none, {.weights = weights(t)}); });
    check("cov", [&](DType t) { return cov(stack({x(t), x(t) + 1})); });
    check("cov with weights", [&](DType t) { return cov(stack({x(t), x(t) + 1}), {.aweights = weights(t)}); });
    check("corrcoef", [&](DType t) { return corrcoef(stack({x(t) * 300, roll(x(t), 1) * 200})); });
    check("var around a mean", [&](DType t) { return var(x(t), VarOptions{.mean = zeros({1}, t)}); });
    check("sem", [&](DType t) { return stats::sem(x(t)) * 1000; });

    const Array parts = array({0.1, 0.5, 0.9}, float64);
    check("quantile", [&](DType t) { return quantile(x(t), {0.1, 0.5, 0.9}); });
    check("quantile of an array", [&](DType t) { return quantile(x(t), convert(convert(parts, d), t)); });
    check("nanquantile", [&](DType t) { return nanquantile(x(t), convert(convert(parts, d), t)); });
    check("nanmedian", [&](DType t) { return nanmedian(y(t)); });
    check("nanpercentile", [&](DType t) { return nanpercentile(where(x(t) > 1, std::nan(""), x(t)), 30.); });

    check("histogram", [&](DType t) { return histogram(x(t), 10).counts; });
    check("histogram, density", [&](DType t) { return histogram(x(t), 10, {.density = true}).counts; });
    check("histogram, weights", [&](DType t) { return histogram(y(t), 10, {.weights = abs(y(t))}).counts; });
    check("bincount", [&](DType t) { return bincount(arange(many) % 7, {.weights = abs(x(t))}); });
    check("segment_sum", [&](DType t) { return segment_sum(ones({many}, t), arange(many) % 7, {.num_segments = 7}); });
    check("fftfreq", [&](DType t) { return fft::fftfreq(many, 1, t); });
    check("rfftfreq", [&](DType t) { return fft::rfftfreq(many, 1, t); });

    check("poisson::entropy", [&](DType t) { return stats::poisson::entropy(abs(y(t)) * 32); });
    check("bessel_jn", [&](DType t) { return bessel_jn(convert(convert(abs(y(float32)) * 8 + 1, d), t), {.v = 2}); });

    check("gradient of log_softmax", [&](DType t) { return grad([](Array v) { return nn::log_softmax(v)(3); })(x(t)); });
    check("gradient of logsumexp", [&](DType t) { return grad([](Array v) { return logsumexp(v); })(zeros({many}, t)); });
    check("gradient of norm", [&](DType t) { return grad([](Array v) { return linalg::norm(v); })(x(t) * 2); });
    check("gradient of max at ties", [&](DType t) { return grad([](Array v) { return 1000 * max(v); })(ones({many}, t)); });
  }
}
