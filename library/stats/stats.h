// Probability distributions, as jax.scipy.stats has them.
#pragma once
#include "weft/core/array/array.h"

namespace weft {

/// Probability distributions, with jax.scipy.stats' names, parameters and values: densities (pdf) or probabilities (pmf), distribution
/// functions (cdf), 1 - cdf (sf), the inverse of cdf (ppf) and of sf (isf), and the logarithms of the first ones. The arguments broadcast
/// together; `loc` moves a distribution, `scale` stretches it. Parameters for which there is no such distribution give NaN.
namespace stats {

namespace norm {
/// The normal distribution, with mean `loc` and standard deviation `scale`.
Array pdf(Arg x, Arg loc = 0, Arg scale = 1);
Array logpdf(Arg x, Arg loc = 0, Arg scale = 1);
Array cdf(Arg x, Arg loc = 0, Arg scale = 1);
Array logcdf(Arg x, Arg loc = 0, Arg scale = 1);
Array sf(Arg x, Arg loc = 0, Arg scale = 1);
Array logsf(Arg x, Arg loc = 0, Arg scale = 1);
Array ppf(Arg q, Arg loc = 0, Arg scale = 1);
Array isf(Arg q, Arg loc = 0, Arg scale = 1);
}  // namespace norm
namespace truncnorm {
/// The normal distribution between loc + a * scale and loc + b * scale only.
Array pdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
Array logpdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
Array cdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
}  // namespace truncnorm
namespace uniform {
/// The uniform distribution between loc and loc + scale.
Array pdf(Arg x, Arg loc = 0, Arg scale = 1);
Array logpdf(Arg x, Arg loc = 0, Arg scale = 1);
Array cdf(Arg x, Arg loc = 0, Arg scale = 1);
Array ppf(Arg q, Arg loc = 0, Arg scale = 1);
}  // namespace uniform
namespace expon {
/// The exponential distribution, with mean loc + scale.
Array pdf(Arg x, Arg loc = 0, Arg scale = 1);
Array logpdf(Arg x, Arg loc = 0, Arg scale = 1);
Array cdf(Arg x, Arg loc = 0, Arg scale = 1);
Array logcdf(Arg x, Arg loc = 0, Arg scale = 1);
Array sf(Arg x, Arg loc = 0, Arg scale = 1);
Array logsf(Arg x, Arg loc = 0, Arg scale = 1);
Array ppf(Arg q, Arg loc = 0, Arg scale = 1);
}  // namespace expon
namespace laplace {
/// The Laplace distribution: exp(-abs(x)) / 2.
Array pdf(Arg x, Arg loc = 0, Arg scale = 1);
Array logpdf(Arg x, Arg loc = 0, Arg scale = 1);
Array cdf(Arg x, Arg loc = 0, Arg scale = 1);
}  // namespace laplace
namespace logistic {
/// The logistic distribution, whose distribution function is sigmoid.
Array pdf(Arg x, Arg loc = 0, Arg scale = 1);
Array logpdf(Arg x, Arg loc = 0, Arg scale = 1);
Array cdf(Arg x, Arg loc = 0, Arg scale = 1);
Array sf(Arg x, Arg loc = 0, Arg scale = 1);
Array ppf(Arg q, Arg loc = 0, Arg scale = 1);
Array isf(Arg q, Arg loc = 0, Arg scale = 1);
}  // namespace logistic
namespace cauchy {
/// Cauchy's distribution: 1 / (pi (1 + x^2)).
Array pdf(Arg x, Arg loc = 0, Arg scale = 1);
Array logpdf(Arg x, Arg loc = 0, Arg scale = 1);
Array cdf(Arg x, Arg loc = 0, Arg scale = 1);
Array sf(Arg x, Arg loc = 0, Arg scale = 1);
Array ppf(Arg q, Arg loc = 0, Arg scale = 1);
Array isf(Arg q, Arg loc = 0, Arg scale = 1);
}  // namespace cauchy
namespace t {
/// Student's distribution with df degrees of freedom.
Array pdf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
Array logpdf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
}  // namespace t
namespace gamma {
/// The gamma distribution of shape a.
Array pdf(Arg x, Arg a, Arg loc = 0, Arg scale = 1);
Array logpdf(Arg x, Arg a, Arg loc = 0, Arg scale = 1);
Array cdf(Arg x, Arg a, Arg loc = 0, Arg scale = 1);
Array logcdf(Arg x, Arg a, Arg loc = 0, Arg scale = 1);
Array sf(Arg x, Arg a, Arg loc = 0, Arg scale = 1);
Array logsf(Arg x, Arg a, Arg loc = 0, Arg scale = 1);
}  // namespace gamma
namespace chi2 {
/// The chi-squared distribution with df degrees of freedom.
Array pdf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
Array logpdf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
Array cdf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
Array logcdf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
Array sf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
Array logsf(Arg x, Arg df, Arg loc = 0, Arg scale = 1);
}  // namespace chi2
namespace beta {
/// The beta distribution, between loc and loc + scale.
Array pdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
Array logpdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
Array cdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
Array logcdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
Array sf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
Array logsf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
}  // namespace beta
namespace pareto {
/// Pareto's distribution: b / x^(b + 1) from 1 on.
Array pdf(Arg x, Arg b, Arg loc = 0, Arg scale = 1);
Array logpdf(Arg x, Arg b, Arg loc = 0, Arg scale = 1);
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
