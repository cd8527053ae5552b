// Statistics of samples (jax.scipy.stats): ranks, the mode, the error of a mean, and densities estimated by Gaussian kernels.
#pragma once
#include <optional>
#include <string>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"

namespace weft::stats {

/// The rank of each element, from 1, of the flattened array or along an axis; equal elements by method "average", "min", "max", "dense" or
/// "ordinal", which counts them in order. Ranks are floats, as in JAX.
Array rankdata(Arg x, TextArg method = "average", std::optional<AxisNumber> axis = {});
/// Result of mode.
struct Mode {
  Array mode;   ///< the value that occurs most often, the least of several
  Array count;  ///< how often it does, int32
};
/// Options of mode.
struct ModeOptions {
  std::optional<AxisNumber> axis = AxisNumber(0);  ///< along which; absent: of all elements
  bool keepdims = false;                           ///< the axis stays, with size 1
};
/// The most frequent value.
Mode mode(Arg x, ModeOptions options = {});
/// Options of sem.
struct SemOptions {
  std::optional<AxisNumber> axis = AxisNumber(0);  ///< along which; absent: of all elements
  Int ddof = 1;                                    ///< the divisor of the variance is the number of samples less ddof
  bool keepdims = false;                           ///< the axis stays, with size 1
};
/// The standard error of the mean.
Array sem(Arg x, SemOptions options = {});

/// Options of gaussian_kde.
struct KdeOptions {
  std::string bw_method = "scott";       ///< the kernels' width by the rule "scott" or "silverman"
  std::optional<double> bandwidth = {};  ///< a factor in place of the rule's
  std::optional<Array> weights = {};     ///< of the samples; absent: all count alike
};
/// A density estimated by a normal distribution around each sample: result of gaussian_kde.
class GaussianKde {
 public:
  GaussianKde(Arg samples, const KdeOptions& options);
  /// The density at points: a matrix with a column for each, or a vector of them for one variable.
  Array operator()(Arg points) const;
  Array pdf(Arg points) const { return (*this)(std::move(points)); }
  Array evaluate(Arg points) const { return (*this)(std::move(points)); }
  /// The density's logarithm, without loss where the density is small.
  Array logpdf(Arg points) const;
  const Array& covariance() const { return covariance_; }

 private:
  Array samples_, log_weights_, covariance_, factor_;
};
/// The density of which these are samples: a matrix with a column for each, or a vector of them for one variable.
GaussianKde gaussian_kde(Arg samples, KdeOptions options = {});

}  // namespace weft::stats
