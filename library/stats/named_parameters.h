// Parameters of distributions by name, as in JAX: `stats::gamma::logpdf(x, {.a = 2, .scale = 3})`.
#pragma once
#include "weft/core/array/array.h"
#include "weft/library/stats/distributions.h"
#include "weft/library/stats/stats.h"

namespace weft::stats {

namespace truncnorm {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg a;          ///< the lower bound, in standard deviations from loc
  Arg b;          ///< the upper bound, likewise
  Arg loc = 0;    ///< added to the variable
  Arg scale = 1;  ///< times the variable
};
inline Array pdf(Arg x, Parameters p) { return pdf(x, p.a, p.b, p.loc, p.scale); }
inline Array logpdf(Arg x, Parameters p) { return logpdf(x, p.a, p.b, p.loc, p.scale); }
inline Array cdf(Arg x, Parameters p) { return cdf(x, p.a, p.b, p.loc, p.scale); }
inline Array logcdf(Arg x, Parameters p) { return logcdf(x, p.a, p.b, p.loc, p.scale); }
inline Array sf(Arg x, Parameters p) { return sf(x, p.a, p.b, p.loc, p.scale); }
inline Array logsf(Arg x, Parameters p) { return logsf(x, p.a, p.b, p.loc, p.scale); }
}  // namespace truncnorm
namespace t {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg df;         ///< degrees of freedom
  Arg loc = 0;    ///< added to the variable
  Arg scale = 1;  ///< times the variable
};
inline Array pdf(Arg x, Parameters p) { return pdf(x, p.df, p.loc, p.scale); }
inline Array logpdf(Arg x, Parameters p) { return logpdf(x, p.df, p.loc, p.scale); }
}  // namespace t
namespace gamma {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg a;          ///< the shape
  Arg loc = 0;    ///< added to the variable
  Arg scale = 1;  ///< times the variable
};
inline Array pdf(Arg x, Parameters p) { return pdf(x, p.a, p.loc, p.scale); }
inline Array logpdf(Arg x, Parameters p) { return logpdf(x, p.a, p.loc, p.scale); }
inline Array cdf(Arg x, Parameters p) { return cdf(x, p.a, p.loc, p.scale); }
inline Array logcdf(Arg x, Parameters p) { return logcdf(x, p.a, p.loc, p.scale); }
inline Array sf(Arg x, Parameters p) { return sf(x, p.a, p.loc, p.scale); }
inline Array logsf(Arg x, Parameters p) { return logsf(x, p.a, p.loc, p.scale); }
}  // namespace gamma
namespace chi2 {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg df;         ///< degrees of freedom
  Arg loc = 0;    ///< added to the variable
  Arg scale = 1;  ///< times the variable
};
inline Array pdf(Arg x, Parameters p) { return pdf(x, p.df, p.loc, p.scale); }
inline Array logpdf(Arg x, Parameters p) { return logpdf(x, p.df, p.loc, p.scale); }
inline Array cdf(Arg x, Parameters p) { return cdf(x, p.df, p.loc, p.scale); }
inline Array logcdf(Arg x, Parameters p) { return logcdf(x, p.df, p.loc, p.scale); }
inline Array sf(Arg x, Parameters p) { return sf(x, p.df, p.loc, p.scale); }
inline Array logsf(Arg x, Parameters p) { return logsf(x, p.df, p.loc, p.scale); }
}  // namespace chi2
namespace beta {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg a;          ///< the exponent of x, plus 1
  Arg b;          ///< the exponent of 1 - x, plus 1
  Arg loc = 0;    ///< added to the variable
  Arg scale = 1;  ///< times the variable
};
inline Array pdf(Arg x, Parameters p) { return pdf(x, p.a, p.b, p.loc, p.scale); }
inline Array logpdf(Arg x, Parameters p) { return logpdf(x, p.a, p.b, p.loc, p.scale); }
inline Array cdf(Arg x, Parameters p) { return cdf(x, p.a, p.b, p.loc, p.scale); }
inline Array logcdf(Arg x, Parameters p) { return logcdf(x, p.a, p.b, p.loc, p.scale); }
inline Array sf(Arg x, Parameters p) { return sf(x, p.a, p.b, p.loc, p.scale); }
inline Array logsf(Arg x, Parameters p) { return logsf(x, p.a, p.b, p.loc, p.scale); }
}  // namespace beta
namespace pareto {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg b;          ///< the exponent
  Arg loc = 0;    ///< added to the variable
  Arg scale = 1;  ///< times the variable
};
inline Array pdf(Arg x, Parameters p) { return pdf(x, p.b, p.loc, p.scale); }
inline Array logpdf(Arg x, Parameters p) { return logpdf(x, p.b, p.loc, p.scale); }
inline Array cdf(Arg x, Parameters p) { return cdf(x, p.b, p.loc, p.scale); }
inline Array logcdf(Arg x, Parameters p) { return logcdf(x, p.b, p.loc, p.scale); }
inline Array sf(Arg x, Parameters p) { return sf(x, p.b, p.loc, p.scale); }
inline Array logsf(Arg x, Parameters p) { return logsf(x, p.b, p.loc, p.scale); }
inline Array ppf(Arg q, Parameters p) { return ppf(q, p.b, p.loc, p.scale); }
}  // namespace pareto
namespace bernoulli {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg p;        ///< the probability of 1
  Arg loc = 0;  ///< added to the variable
};
inline Array pmf(Arg k, Parameters p) { return pmf(k, p.p, p.loc); }
inline Array logpmf(Arg k, Parameters p) { return logpmf(k, p.p, p.loc); }
}  // namespace bernoulli
namespace binom {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg n;        ///< the number of trials
  Arg p;        ///< the probability of success
  Arg loc = 0;  ///< added to the variable
};
inline Array pmf(Arg k, Parameters p) { return pmf(k, p.n, p.p, p.loc); }
inline Array logpmf(Arg k, Parameters p) { return logpmf(k, p.n, p.p, p.loc); }
}  // namespace binom
namespace nbinom {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg n;        ///< the number of successes
  Arg p;        ///< the probability of success
  Arg loc = 0;  ///< added to the variable
};
inline Array pmf(Arg k, Parameters p) { return pmf(k, p.n, p.p, p.loc); }
inline Array logpmf(Arg k, Parameters p) { return logpmf(k, p.n, p.p, p.loc); }
}  // namespace nbinom
namespace geom {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg p;        ///< the probability of success
  Arg loc = 0;  ///< added to the variable
};
inline Array pmf(Arg k, Parameters p) { return pmf(k, p.p, p.loc); }
inline Array logpmf(Arg k, Parameters p) { return logpmf(k, p.p, p.loc); }
}  // namespace geom
namespace poisson {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg mu;       ///< the mean
  Arg loc = 0;  ///< added to the variable
};
inline Array pmf(Arg k, Parameters p) { return pmf(k, p.mu, p.loc); }
inline Array logpmf(Arg k, Parameters p) { return logpmf(k, p.mu, p.loc); }
inline Array cdf(Arg k, Parameters p) { return cdf(k, p.mu, p.loc); }
}  // namespace poisson
namespace betabinom {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg n;        ///< the number of trials
  Arg a;        ///< of the beta distribution of the probability
  Arg b;        ///< likewise
  Arg loc = 0;  ///< added to the variable
};
inline Array pmf(Arg k, Parameters p) { return pmf(k, p.n, p.a, p.b, p.loc); }
inline Array logpmf(Arg k, Parameters p) { return logpmf(k, p.n, p.a, p.b, p.loc); }
}  // namespace betabinom
namespace vonmises {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg kappa;  ///< how concentrated it is
};
inline Array pdf(Arg x, Parameters p) { return pdf(x, p.kappa); }
inline Array logpdf(Arg x, Parameters p) { return logpdf(x, p.kappa); }
}  // namespace vonmises
namespace wrapcauchy {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg c;  ///< how concentrated it is, between 0 and 1
};
inline Array pdf(Arg x, Parameters p) { return pdf(x, p.c); }
inline Array logpdf(Arg x, Parameters p) { return logpdf(x, p.c); }
}  // namespace wrapcauchy
namespace gennorm {
/// The distribution's parameters by name.
struct Parameters {
  detail::NamedFields named = detail::NamedFields();
  Arg beta;  ///< the exponent
};
inline Array pdf(Arg x, Parameters p) { return pdf(x, p.beta); }
inline Array logpdf(Arg x, Parameters p) { return logpdf(x, p.beta); }
inline Array cdf(Arg x, Parameters p) { return cdf(x, p.beta); }
}  // namespace gennorm

}  // namespace weft::stats
