// More probability distributions of jax.scipy.stats, and rarer functions of those in stats.h.
#pragma once
#include "weft/core/array/array.h"
#include "weft/library/stats/stats.h"

namespace weft::stats {

namespace gumbel_r {
/// Gumbel's distribution of maxima: exp(-z - exp(-z)) / scale, z = (x - loc) / scale.
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
}  // namespace gumbel_r
namespace gumbel_l {
/// Gumbel's distribution of minima: exp(z - exp(z)) / scale, z = (x - loc) / scale.
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
}  // namespace gumbel_l
namespace vonmises {
/// Von Mises' distribution of angles: exp(kappa cos(x)) / (2 pi i0(kappa)).
Array pdf(Arg x, Arg kappa);
Array logpdf(Arg x, Arg kappa);
}  // namespace vonmises
namespace wrapcauchy {
/// Cauchy's distribution wrapped around the circle, on 0 to 2 pi; c is between 0 and 1.
Array pdf(Arg x, Arg c);
Array logpdf(Arg x, Arg c);
}  // namespace wrapcauchy
namespace gennorm {
/// The generalised normal distribution: density proportional to exp(-abs(x)^beta).
Array pdf(Arg x, Arg beta);
Array logpdf(Arg x, Arg beta);
Array cdf(Arg x, Arg beta);
}  // namespace gennorm
namespace betabinom {
/// The number of successes in n trials whose probability has a beta distribution.
Array pmf(Arg k, Arg n, Arg a, Arg b, Arg loc = 0);
Array logpmf(Arg k, Arg n, Arg a, Arg b, Arg loc = 0);
}  // namespace betabinom
namespace multinomial {
/// The number of times that each outcome occurs in n trials; outcomes, of probabilities p, are along the last axis. Throws DTypeError
/// where x or n are no integers.
Array pmf(Arg x, Arg n, Arg p);
Array logpmf(Arg x, Arg n, Arg p);
}  // namespace multinomial

namespace cauchy {
/// The logarithms of cdf and sf.
Array logcdf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array logcdf(Arg x, LocScale p) { return logcdf(x, p.loc, p.scale); }
Array logsf(Arg x, Arg loc = 0, Arg scale = 1);
inline Array logsf(Arg x, LocScale p) { return logsf(x, p.loc, p.scale); }
}  // namespace cauchy
namespace truncnorm {
/// The logarithm of cdf, 1 - cdf, and its logarithm.
Array logcdf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
inline Array logcdf(Arg x, Arg a, Arg b, LocScale p) { return logcdf(x, a, b, p.loc, p.scale); }
Array sf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
inline Array sf(Arg x, Arg a, Arg b, LocScale p) { return sf(x, a, b, p.loc, p.scale); }
Array logsf(Arg x, Arg a, Arg b, Arg loc = 0, Arg scale = 1);
inline Array logsf(Arg x, Arg a, Arg b, LocScale p) { return logsf(x, a, b, p.loc, p.scale); }
}  // namespace truncnorm
namespace pareto {
/// The distribution function 1 - x^-b, 1 minus it, their logarithms and its inverse.
Array cdf(Arg x, Arg b, Arg loc = 0, Arg scale = 1);
inline Array cdf(Arg x, Arg b, LocScale p) { return cdf(x, b, p.loc, p.scale); }
Array logcdf(Arg x, Arg b, Arg loc = 0, Arg scale = 1);
inline Array logcdf(Arg x, Arg b, LocScale p) { return logcdf(x, b, p.loc, p.scale); }
Array sf(Arg x, Arg b, Arg loc = 0, Arg scale = 1);
inline Array sf(Arg x, Arg b, LocScale p) { return sf(x, b, p.loc, p.scale); }
Array logsf(Arg x, Arg b, Arg loc = 0, Arg scale = 1);
inline Array logsf(Arg x, Arg b, LocScale p) { return logsf(x, b, p.loc, p.scale); }
Array ppf(Arg q, Arg b, Arg loc = 0, Arg scale = 1);
inline Array ppf(Arg q, Arg b, LocScale p) { return ppf(q, b, p.loc, p.scale); }
}  // namespace pareto
namespace bernoulli {
/// The inverse of cdf: 0 up to 1 - p, else 1; NaN where q or p is no probability.
Array ppf(Arg q, Arg p);
}  // namespace bernoulli
namespace poisson {
/// The entropy in nats: the sum of -pmf log(pmf), for mu of 100 and more by an asymptotic series.
Array entropy(Arg mu);
}  // namespace poisson

}  // namespace weft::stats
