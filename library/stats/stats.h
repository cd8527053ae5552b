// Probability distributions, as jax.scipy.stats has them.
#pragma once
#include "weft/core/array/array.h"

namespace weft {

/// Probability distributions, with jax.scipy.stats' names, parameters and values: densities (pdf) or probabilities (pmf), distribution
/// functions (cdf), 1 - cdf (sf), the inverse of cdf (ppf) and of sf (isf), and the logarithms of the first ones. The arguments broadcast
/// together; `loc` moves a distribution, `scale` stretches it. Parameters for which there is no such distribution give NaN.
namespace stats {

/// How a distribution is moved and stretched, by name: `stats::gamma::logpdf(x, a, {.scale = 1 / b})`.
struct LocScale {
  detail::NamedFields named = detail::NamedFields();
  Arg loc = 0;    ///< added to the variable
  Arg scale = 1;  ///< times the variable
};

namespace norm {
/// The normal distribution, with mean `loc` and standard deviation `scale`.
Array pdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array pdf(Arg x, LocScale p) { return pdf(x, p.loc, p.scale); }
Array logpdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array logpdf(Arg x, LocScale p) { return logpdf(x, p.loc, p.scale); }
Array cdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array cdf(Arg x, LocScale p) { return cdf(x, p.loc, p.scale); }
Array logcdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array logcdf(Arg x, LocScale p) { return logcdf(x, p.loc, p.scale); }
Array sf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array sf(Arg x, LocScale p) { return sf(x, p.loc, p.scale); }
Array logsf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array logsf(Arg x, LocScale p) { return logsf(x, p.loc, p.scale); }
Array ppf(Arg q, Arg loc = 0, Arg scale = 1);
inline Array ppf(Arg q, LocScale p) { return ppf(q, p.loc, p.scale); }
Array isf(Arg q, Arg loc = 0, Arg scale = 1);
inline Array isf(Arg q, LocScale p) { return isf(q, p.loc, p.scale); }
}  // namespace norm
namespace truncnorm {
/// The normal distribution between loc + a * scale and loc + b * scale only.
Array pdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
inline Array pdf(Arg x, Arg a, Arg b, LocScale p) { return pdf(x, a, b, p.loc, p.scale); }
Array logpdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
inline Array logpdf(Arg x, Arg a, Arg b, LocScale p) { return logpdf(x, a, b, p.loc, p.scale); }
Array cdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
inline Array cdf(Arg x, Arg a, Arg b, LocScale p) { return cdf(x, a, b, p.loc, p.scale); }
}  // namespace truncnorm
namespace uniform {
/// The uniform distribution between loc and loc + scale.
Array pdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array pdf(Arg x, LocScale p) { return pdf(x, p.loc, p.scale); }
Array logpdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array logpdf(Arg x, LocScale p) { return logpdf(x, p.loc, p.scale); }
Array cdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array cdf(Arg x, LocScale p) { return cdf(x, p.loc, p.scale); }
Array ppf(Arg q, Arg loc = 0, Arg scale = 1);
inline Array ppf(Arg q, LocScale p) { return ppf(q, p.loc, p.scale); }
}  // namespace uniform
namespace expon {
/// The exponential distribution, with mean loc + scale.
Array pdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array pdf(Arg x, LocScale p) { return pdf(x, p.loc, p.scale); }
Array logpdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array logpdf(Arg x, LocScale p) { return logpdf(x, p.loc, p.scale); }
Array cdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array cdf(Arg x, LocScale p) { return cdf(x, p.loc, p.scale); }
Array logcdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array logcdf(Arg x, LocScale p) { return logcdf(x, p.loc, p.scale); }
Array sf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array sf(Arg x, LocScale p) { return sf(x, p.loc, p.scale); }
Array logsf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array logsf(Arg x, LocScale p) { return logsf(x, p.loc, p.scale); }
Array ppf(Arg q, Arg loc = 0, Arg scale = 1);
inline Array ppf(Arg q, LocScale p) { return ppf(q, p.loc, p.scale); }
}  // namespace expon
namespace laplace {
/// The Laplace distribution: exp(-abs(x)) / 2.
Array pdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array pdf(Arg x, LocScale p) { return pdf(x, p.loc, p.scale); }
Array logpdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array logpdf(Arg x, LocScale p) { return logpdf(x, p.loc, p.scale); }
Array cdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array cdf(Arg x, LocScale p) { return cdf(x, p.loc, p.scale); }
}  // namespace laplace
namespace logistic {
/// The logistic distribution, whose distribution function is sigmoid.
Array pdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array pdf(Arg x, LocScale p) { return pdf(x, p.loc, p.scale); }
Array logpdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array logpdf(Arg x, LocScale p) { return logpdf(x, p.loc, p.scale); }
Array cdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array cdf(Arg x, LocScale p) { return cdf(x, p.loc, p.scale); }
Array sf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array sf(Arg x, LocScale p) { return sf(x, p.loc, p.scale); }
Array ppf(Arg q, Arg loc = 0, Arg scale = 1);
inline Array ppf(Arg q, LocScale p) { return ppf(q, p.loc, p.scale); }
Array isf(Arg q, Arg loc = 0, Arg scale = 1);
inline Array isf(Arg q, LocScale p) { return isf(q, p.loc, p.scale); }
}  // namespace logistic
namespace cauchy {
/// Cauchy's distribution: 1 / (pi (1 + x^2)).
Array pdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array pdf(Arg x, LocScale p) { return pdf(x, p.loc, p.scale); }
Array logpdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array logpdf(Arg x, LocScale p) { return logpdf(x, p.loc, p.scale); }
Array cdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array cdf(Arg x, LocScale p) { return cdf(x, p.loc, p.scale); }
Array sf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array sf(Arg x, LocScale p) { return sf(x, p.loc, p.scale); }
Array ppf(Arg q, Arg loc = 0, Arg scale = 1);
inline Array ppf(Arg q, LocScale p) { return ppf(q, p.loc, p.scale); }
Array isf(Arg q, Arg loc = 0, Arg scale = 1);
inline Array isf(Arg q, LocScale p) { return isf(q, p.loc, p.scale); }
}  // namespace cauchy
namespace t {
/// Student's distribution with df degrees of freedom.
Array pdf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
inline Array pdf(Arg x, Arg df, LocScale p) { return pdf(x, df, p.loc, p.scale); }
Array logpdf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
inline Array logpdf(Arg x, Arg df, LocScale p) { return logpdf(x, df, p.loc, p.scale); }
}  // namespace t
namespace gamma {
/// The gamma distribution of shape a.
Array pdf(Arg x, Arg a, Arg loc = 0, Arg scale = 1);
inline Array pdf(Arg x, Arg a, LocScale p) { return pdf(x, a, p.loc, p.scale); }
Array logpdf(Arg x, Arg a, Arg loc = 0, Arg scale = 1);
inline Array logpdf(Arg x, Arg a, LocScale p) { return logpdf(x, a, p.loc, p.scale); }
Array cdf(Arg x, Arg a, Arg loc = 0, Arg scale = 1);
inline Array cdf(Arg x, Arg a, LocScale p) { return cdf(x, a, p.loc, p.scale); }
Array logcdf(Arg x, Arg a, Arg loc = 0, Arg scale = 1);
inline Array logcdf(Arg x, Arg a, LocScale p) { return logcdf(x, a, p.loc, p.scale); }
Array sf(Arg x, Arg a, Arg loc = 0, Arg scale = 1);
inline Array sf(Arg x, Arg a, LocScale p) { return sf(x, a, p.loc, p.scale); }
Array logsf(Arg x, Arg a, Arg loc = 0, Arg scale = 1);
inline Array logsf(Arg x, Arg a, LocScale p) { return logsf(x, a, p.loc, p.scale); }
}  // namespace gamma
namespace chi2 {
/// The chi-squared distribution with df degrees of freedom.
Array pdf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
inline Array pdf(Arg x, Arg df, LocScale p) { return pdf(x, df, p.loc, p.scale); }
Array logpdf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
inline Array logpdf(Arg x, Arg df, LocScale p) { return logpdf(x, df, p.loc, p.scale); }
Array cdf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
inline Array cdf(Arg x, Arg df, LocScale p) { return cdf(x, df, p.loc, p.scale); }
Array logcdf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
inline Array logcdf(Arg x, Arg df, LocScale p) { return logcdf(x, df, p.loc, p.scale); }
Array sf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
inline Array sf(Arg x, Arg df, LocScale p) { return sf(x, df, p.loc, p.scale); }
Array logsf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
inline Array logsf(Arg x, Arg df, LocScale p) { return logsf(x, df, p.loc, p.scale); }
}  // namespace chi2
namespace beta {
/// The beta distribution, between loc and loc + scale.
Array pdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
inline Array pdf(Arg x, Arg a, Arg b, LocScale p) { return pdf(x, a, b, p.loc, p.scale); }
Array logpdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
inline Array logpdf(Arg x, Arg a, Arg b, LocScale p) { return logpdf(x, a, b, p.loc, p.scale); }
Array cdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
inline Array cdf(Arg x, Arg a, Arg b, LocScale p) { return cdf(x, a, b, p.loc, p.scale); }
Array logcdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
inline Array logcdf(Arg x, Arg a, Arg b, LocScale p) { return logcdf(x, a, b, p.loc, p.scale); }
Array sf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
inline Array sf(Arg x, Arg a, Arg b, LocScale p) { return sf(x, a, b, p.loc, p.scale); }
Array logsf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
inline Array logsf(Arg x, Arg a, Arg b, LocScale p) { return logsf(x, a, b, p.loc, p.scale); }
}  // namespace beta
namespace pareto {
/// Pareto's distribution: b / x^(b + 1) from 1 on.
Array pdf(Arg x, Arg b, Arg loc = 0, Arg scale = 1);
inline Array pdf(Arg x, Arg b, LocScale p) { return pdf(x, b, p.loc, p.scale); }
Array logpdf(Arg x, Arg b, Arg loc = 0, Arg scale = 1);
inline Array logpdf(Arg x, Arg b, LocScale p) { return logpdf(x, b, p.loc, p.scale); }
}  // namespace pareto
namespace multivariate_normal {
/// The normal distribution of vectors, which are in the last axis of x, with a mean vector and a covariance matrix.
Array pdf(Arg x, Arg mean, Arg cov);
Array logpdf(Arg x, Arg mean, Arg cov);
}  // namespace multivariate_normal
namespace dirichlet {
/// Dirichlet's distribution of probabilities, in the first axis of x: all of them, or all but the last one.
Array pdf(Arg x, Arg alpha);
Array logpdf(Arg x, Arg alpha);
}  // namespace dirichlet

namespace bernoulli {
/// 1 with probability p, else 0.
Array pmf(Arg k, Arg p, Arg loc = 0);
Array logpmf(Arg k, Arg p, Arg loc = 0);
Array cdf(Arg k, Arg p);
}  // namespace bernoulli
namespace binom {
/// The number of successes in n trials.
Array pmf(Arg k, Arg n, Arg p, Arg loc = 0);
Array logpmf(Arg k, Arg n, Arg p, Arg loc = 0);
}  // namespace binom
namespace nbinom {
/// The number of failures before the n-th success.
Array pmf(Arg k, Arg n, Arg p, Arg loc = 0);
Array logpmf(Arg k, Arg n, Arg p, Arg loc = 0);
}  // namespace nbinom
namespace geom {
/// The number of the trial that first succeeds.
Array pmf(Arg k, Arg p, Arg loc = 0);
Array logpmf(Arg k, Arg p, Arg loc = 0);
}  // namespace geom
namespace poisson {
/// Poisson's distribution, with mean mu.
Array pmf(Arg k, Arg mu, Arg loc = 0);
Array logpmf(Arg k, Arg mu, Arg loc = 0);
Array cdf(Arg k, Arg mu, Arg loc = 0);
}  // namespace poisson

}  // namespace stats
}  // namespace weft
