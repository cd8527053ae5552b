#include "weft/library/stats/stats.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/array/constructors.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/promote.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/activations.h"
#include "weft/library/jnp/special.h"
#include "weft/library/linalg/linalg.h"
#include "weft/library/numpy/numpy.h"
#include "weft/library/stats/operands.h"

namespace weft::stats {

namespace norm {
Array logpdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return -(log(2 * pi * square(detail::to_inexact(scale))) + square(standard(x, loc, scale))) / 2;
}
Array cdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return ndtr(standard(x, loc, scale));
}
Array logcdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return log_ndtr(standard(x, loc, scale));
}
Array sf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return ndtr(-standard(x, loc, scale));
}
Array logsf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return log_ndtr(-standard(x, loc, scale));
}
Array ppf(Arg q, Arg loc, Arg scale) {
  const Unified scope{q, loc, scale};
  return ndtri(q) * scale + loc;
}
Array isf(Arg q, Arg loc, Arg scale) {
  const Unified scope{q, loc, scale};
  return ndtri(1 - detail::to_inexact(q)) * scale + loc;
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg loc, Arg scale), (x, loc, scale), x)
}  // namespace norm

namespace truncnorm {
Array logpdf(Arg x, Arg a, Arg b, Arg loc, Arg scale) {
  const Unified scope{x, a, b, loc, scale};
  const Array y = standard(x, loc, scale), lower = detail::to_inexact(a), upper = detail::to_inexact(b);
  const Array value = norm::logpdf(x, loc, scale) - log_normal_mass(lower, upper);
  return where(lower >= upper, not_a_number, log_density((y < lower) | (y > upper), value));
}
Array cdf(Arg x, Arg a, Arg b, Arg loc, Arg scale) {
  const Unified scope{x, a, b, loc, scale};
  const Array y = standard(x, loc, scale), lower = detail::to_inexact(a), upper = detail::to_inexact(b);
  const Array below = y <= lower, above = y >= upper, v = where(below | above, (lower + upper) / 2, y);
  const Array value = exp(log_normal_mass(lower, v) - log_normal_mass(lower, upper));
  return where(lower >= upper, not_a_number, where(below, 0, where(above, 1, value)));
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg a, Arg b, Arg loc, Arg scale), (x, a, b, loc, scale), x)
}  // namespace truncnorm

namespace uniform {
Array logpdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  const Array y = standard(x, loc, scale);
  return log_density((y < 0) | (y > 1), -log(detail::to_inexact(scale)) + 0 * y);
}
Array cdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return clip(standard(x, loc, scale), 0, 1);
}
Array ppf(Arg q, Arg loc, Arg scale) {
  const Unified scope{q, loc, scale};
  return of_probability(q, detail::to_inexact(q) * scale + loc);
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg loc, Arg scale), (x, loc, scale), x)
}  // namespace uniform

namespace expon {
Array logpdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  const Array y = standard(x, loc, scale);
  return log_density(y < 0, -(y + log(detail::to_inexact(scale))));
}
Array cdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return -expm1(-from_zero(standard(x, loc, scale)));
}
Array logcdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return nn::log1mexp(from_zero(standard(x, loc, scale)));
}
Array logsf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return -from_zero(standard(x, loc, scale));
}
Array ppf(Arg q, Arg loc, Arg scale) {
  const Unified scope{q, loc, scale};
  return of_probability(q, Array(loc.array()) - scale * log1p(-detail::to_inexact(q)));
}
WEFT_EXP_OF(sf, logsf, (Arg x, Arg loc, Arg scale), (x, loc, scale), x)
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg loc, Arg scale), (x, loc, scale), x)
}  // namespace expon

namespace laplace {
Array logpdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return -(abs(standard(x, loc, scale)) + log(2 * detail::to_inexact(scale)));
}
Array cdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  const Array y = standard(x, loc, scale), left = y <= 0, tail = .5 * exp(where(left, y, -y));
  return where(left, tail, 1 - tail);
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg loc, Arg scale), (x, loc, scale), x)
}  // namespace laplace

namespace logistic {
Array logpdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  const Array half = standard(x, loc, scale) / 2;
  return -2 * logaddexp(half, -half) - log(detail::to_inexact(scale));
}
Array cdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return sigmoid(standard(x, loc, scale));
}
Array sf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return sigmoid(-standard(x, loc, scale));
}
Array ppf(Arg q, Arg loc, Arg scale) {
  const Unified scope{q, loc, scale};
  return logit(q) * scale + loc;
}
Array isf(Arg q, Arg loc, Arg scale) {
  const Unified scope{q, loc, scale};
  return -logit(q) * scale + loc;
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg loc, Arg scale), (x, loc, scale), x)
}  // namespace logistic

namespace cauchy {
Array logpdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return -(log(pi * detail::to_inexact(scale)) + log1p(square(standard(x, loc, scale))));
}
Array cdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return atan2(1, -standard(x, loc, scale)) / pi;
}
Array sf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return atan2(1, standard(x, loc, scale)) / pi;
}
Array ppf(Arg q, Arg loc, Arg scale) {
  const Unified scope{q, loc, scale};
  return of_probability(q, tan(pi * (detail::to_inexact(q) - .5)) * scale + loc);
}
Array isf(Arg q, Arg loc, Arg scale) {
  const Unified scope{q, loc, scale};
  return of_probability(q, tan(pi * (.5 - detail::to_inexact(q))) * scale + loc);
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg loc, Arg scale), (x, loc, scale), x)
}  // namespace cauchy

namespace t {
Array logpdf(Arg x, Arg df, Arg loc, Arg scale) {
  const Unified scope{x, df, loc, scale};
  const Array n = detail::to_inexact(df), s = detail::to_inexact(scale);
  // One function of n, as the two that it is the difference of grow beyond their digits.
  return -(betaln(n / 2, .5) + log(n * square(s)) / 2 + (n / 2 + .5) * log1p(square(standard(x, loc, scale)) / n));
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg df, Arg loc, Arg scale), (x, df, loc, scale), x)
}  // namespace t

namespace gamma {
Array logpdf(Arg x, Arg a, Arg loc, Arg scale) {
  const Unified scope{x, a, loc, scale};
  const Array shape = detail::to_inexact(a), given = standard(x, loc, scale), outside = given < 0, y = where(outside, 1, given);
  return log_density(outside, xlogy(shape - 1, y) - y - lgamma(shape) - log(detail::to_inexact(scale)));
}
Array cdf(Arg x, Arg a, Arg loc, Arg scale) {
  const Unified scope{x, a, loc, scale};
  const Array y = standard(x, loc, scale), below = y < 0;
  return where(below, 0, gammainc(a, where(below, 1, y)));
}
Array sf(Arg x, Arg a, Arg loc, Arg scale) {
  const Unified scope{x, a, loc, scale};
  const Array y = standard(x, loc, scale), below = y < 0;
  return where(below, 1, gammaincc(a, where(below, 1, y)));
}
Array logcdf(Arg x, Arg a, Arg loc, Arg scale) {
  const Unified scope{x, a, loc, scale};
  return log(cdf(x, a, loc, scale));
}
Array logsf(Arg x, Arg a, Arg loc, Arg scale) {
  const Unified scope{x, a, loc, scale};
  return log(sf(x, a, loc, scale));
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg a, Arg loc, Arg scale), (x, a, loc, scale), x)
}  // namespace gamma

namespace chi2 {
#define WEFT_CHI2(name)                                            \
  Array name(Arg x, Arg df, Arg loc, Arg scale) {                  \
    const Unified scope{x, df, loc, scale};                        \
    return gamma::name(x, df.array() / 2, loc, 2 * scale.array()); \
  }
WEFT_CHI2(pdf)
WEFT_CHI2(logpdf)
WEFT_CHI2(cdf)
WEFT_CHI2(logcdf)
WEFT_CHI2(sf)
WEFT_CHI2(logsf)
#undef WEFT_CHI2
}  // namespace chi2

namespace beta {
Array logpdf(Arg x, Arg a, Arg b, Arg loc, Arg scale) {
  const Unified scope{x, a, b, loc, scale};
  const Array p = detail::to_inexact(a), q = detail::to_inexact(b), s = detail::to_inexact(scale), given = standard(x, loc, scale);
  const Array outside = (given < 0) | (given > 1), y = where(outside, .5, given);
  const Array value = xlogy(p - 1, y) + xlog1py(q - 1, -y) - betaln(p, q) - log(s);
  return where((p <= 0) | (q <= 0) | (s <= 0), not_a_number, log_density(outside, value));
}
Array cdf(Arg x, Arg a, Arg b, Arg loc, Arg scale) {
  const Unified scope{x, a, b, loc, scale};
  return betainc(a, b, clip(standard(x, loc, scale), 0, 1));
}
Array sf(Arg x, Arg a, Arg b, Arg loc, Arg scale) {
  const Unified scope{x, a, b, loc, scale};
  return betainc(b, a, 1 - clip(standard(x, loc, scale), 0, 1));
}
Array logcdf(Arg x, Arg a, Arg b, Arg loc, Arg scale) {
  const Unified scope{x, a, b, loc, scale};
  return log(cdf(x, a, b, loc, scale));
}
Array logsf(Arg x, Arg a, Arg b, Arg loc, Arg scale) {
  const Unified scope{x, a, b, loc, scale};
  return log(sf(x, a, b, loc, scale));
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg a, Arg b, Arg loc, Arg scale), (x, a, b, loc, scale), x)
}  // namespace beta

namespace pareto {
Array logpdf(Arg x, Arg b, Arg loc, Arg scale) {
  const Unified scope{x, b, loc, scale};
  const Array shape = detail::to_inexact(b), given = standard(x, loc, scale), outside = given < 1, y = where(outside, 1, given);
  return log_density(outside, log(shape / scale) - (shape + 1) * log(y));
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg b, Arg loc, Arg scale), (x, b, loc, scale), x)
}  // namespace pareto

namespace multivariate_normal {
Array logpdf(Arg x, Arg mean, Arg cov) {
  LocScope scope(x.where());
  if (mean.array().ndim() == 0) {
    Unified{x, mean, cov};
    return norm::logpdf(x, mean, sqrt(cov));
  }
  const std::vector<Array> v = detail::promoted_inexact({x.array(), mean.array(), cov.array()}, x.where());
  const Array &m = v[1], y = v[0] - m, &c = v[2];
  const auto n = m.shape().back();
  const double constant = static_cast<double>(n) / 2 * std::log(2 * pi);
  if (c.ndim() == 0) return -sum(square(y), -1) / (2 * c) - static_cast<double>(n) / 2 * log(c) - constant;
  if (c.ndim() < 2 || c.shape()[-1] != n || c.shape()[-2] != n)
    throw ShapeError(fmt::format("multivariate_normal: the mean is {}, the covariance {}; it must be a number or a matrix of {} by {}",
                                 detail::to_string(m.aval()), detail::to_string(c.aval()), n, n),
                     detail::effective_loc(x.where()));
  const Array lower = linalg::cholesky(c);
  // Vectors are solved for as columns, all at once where there is one matrix.
  const Array columns = c.ndim() == 2 ? reshape(y, {-1, n}) : expand_dims(y, -1);
  const Array solved = c.ndim() == 2 ? reshape(transpose(linalg::triangular_solve(lower, transpose(columns), {.lower = true})), y.shape())
                                     : squeeze(linalg::triangular_solve(lower, columns, {.lower = true}), -1);
  return -sum(square(solved), -1) / 2 - constant - sum(log(weft::diagonal(lower, 0, -2, -1)), -1);
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg mean, Arg cov), (x, mean, cov), x)
}  // namespace multivariate_normal

namespace dirichlet {
Array logpdf(Arg x, Arg alpha) {
  LocScope scope(x.where());
  const std::vector<Array> v = detail::promoted_inexact({x.array(), alpha.array()}, x.where());
  const Array &given = v[0], &a = v[1];
  const auto n = a.ndim() == 1 ? a.shape()[0] : 0;
  if (n == 0 || given.ndim() == 0 || (given.shape()[0] != n && given.shape()[0] != n - 1))
    throw ShapeError(fmt::format("dirichlet: x is {} and alpha {}; alpha must be a vector, and x's first axis as long or shorter by one",
                                 detail::to_string(given.aval()), detail::to_string(a.aval())),
                     detail::effective_loc(x.where()));
  const Array y = given.shape()[0] == n ? given : concatenate({given, 1 - sum(given, 0, keepdims)});
  Shape column(static_cast<std::int64_t>(n));
  for (int i = 1; i < y.ndim(); ++i) column.push_back(1);
  const Array value = sum(xlogy(reshape(a, column) - 1, y), 0) - (sum(lgamma(a)) - lgamma(sum(a)));
  return log_density(any(y <= 0, 0) | (abs(sum(y, 0) - 1) >= 1e-6), value);
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg alpha), (x, alpha), x)
}  // namespace dirichlet

namespace bernoulli {
Array logpmf(Arg k, Arg p, Arg loc) {
  const Unified scope{k, p, loc};
  const Array y = detail::to_inexact(k) - loc, q = detail::to_inexact(p);
  return log_density((y < 0) | (y > 1), xlogy(y, q) + xlog1py(1 - y, -q));
}
Array cdf(Arg k, Arg p) {
  const Unified scope{k, p};
  const Array y = detail::to_inexact(k), q = detail::to_inexact(p);
  return where((q >= 0) & (q <= 1) & (y == y), where(y < 0, 0, where(y < 1, 1 - q, 1)), not_a_number);
}
WEFT_EXP_OF(pmf, logpmf, (Arg k, Arg p, Arg loc), (k, p, loc), k)
}  // namespace bernoulli

namespace binom {
Array logpmf(Arg k, Arg n, Arg p, Arg loc) {
  const Unified scope{k, n, p, loc};
  const Array y = detail::to_inexact(k) - loc, m = detail::to_inexact(n), q = detail::to_inexact(p);
  const Array outside = (y < 0) | (y >= m + 1), v = where(outside, 0, y);
  const Array ways = lgamma(m + 1) - lgamma(v + 1) - lgamma(m - v + 1);
  return log_density(outside, ways + xlogy(v, q) + xlog1py(m - v, -q));
}
WEFT_EXP_OF(pmf, logpmf, (Arg k, Arg n, Arg p, Arg loc), (k, n, p, loc), k)
}  // namespace binom

namespace nbinom {
Array logpmf(Arg k, Arg n, Arg p, Arg loc) {
  const Unified scope{k, n, p, loc};
  const Array y = detail::to_inexact(k) - loc, m = detail::to_inexact(n), q = detail::to_inexact(p);
  const Array outside = y < 0, v = where(outside, 0, y);
  return log_density(outside, lgamma(v + m) - lgamma(m) - lgamma(v + 1) + xlogy(m, q) + xlogy(v, 1 - q));
}
WEFT_EXP_OF(pmf, logpmf, (Arg k, Arg n, Arg p, Arg loc), (k, n, p, loc), k)
}  // namespace nbinom

namespace geom {
Array logpmf(Arg k, Arg p, Arg loc) {
  const Unified scope{k, p, loc};
  const Array y = detail::to_inexact(k) - loc, q = detail::to_inexact(p);
  return log_density(y <= 0, xlog1py(y - 1, -q) + log(q));
}
WEFT_EXP_OF(pmf, logpmf, (Arg k, Arg p, Arg loc), (k, p, loc), k)
}  // namespace geom

namespace poisson {
Array logpmf(Arg k, Arg mu, Arg loc) {
  const Unified scope{k, mu, loc};
  const Array given = detail::to_inexact(k), y = given - loc, m = detail::to_inexact(mu);
  const Array outside = (y < 0) | ((round(given) != given) & ~isnan(given)), v = where(outside, 0, y);
  return log_density(outside, xlogy(v, m) - lgamma(v + 1) - m);
}
Array cdf(Arg k, Arg mu, Arg loc) {
  const Unified scope{k, mu, loc};
  const Array y = detail::to_inexact(k) - loc, outside = y < 0;
  return where(outside, 0, gammaincc(floor(1 + where(outside, 0, y)), mu));
}
WEFT_EXP_OF(pmf, logpmf, (Arg k, Arg mu, Arg loc), (k, mu, loc), k)
}  // namespace poisson

}  // namespace weft::stats
