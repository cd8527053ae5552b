#include "weft/library/stats/distributions.h"

#include <fmt/format.h>

#include "weft/core/errors/error.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/wide.h"
#include "weft/library/jnp/activations.h"
#include "weft/library/stats/operands.h"

namespace weft::stats {

namespace {
/// NaN where there is no such distribution.
Array where_allowed(const Array& allowed, const Array& value) { return where(allowed, value, not_a_number); }
Array positive_scale(const Arg& scale, const Array& value) { return where_allowed(scale.array() > 0, value); }
/// The logarithm of 1 - exp(-exp(-z)), also where exp(-z) is 0 in floats.
Array log_of_rest(const Array& z) {
  const Array far = z > 20;
  return where(far, -z - exp(-z) / 2, nn::log1mexp(exp(-where(far, 20, z))));
}
}  // namespace

namespace gumbel_r {
Array logpdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  const Array z = standard(x, loc, scale);
  return positive_scale(scale, -log(scale) - (z + exp(-z)));
}
Array logcdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return positive_scale(scale, -exp(-standard(x, loc, scale)));
}
Array sf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return positive_scale(scale, -expm1(-exp(-standard(x, loc, scale))));
}
Array logsf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return positive_scale(scale, log_of_rest(standard(x, loc, scale)));
}
Array ppf(Arg q, Arg loc, Arg scale) {
  const Unified scope{q, loc, scale};
  return where_allowed((q.array() > 0) & (q.array() < 1), loc - scale * log(-log(q)));
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg loc, Arg scale), (x, loc, scale), x)
WEFT_EXP_OF(cdf, logcdf, (Arg x, Arg loc, Arg scale), (x, loc, scale), x)
}  // namespace gumbel_r

namespace gumbel_l {
Array logpdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  const Array z = standard(x, loc, scale);
  return positive_scale(scale, -log(scale) + (z - exp(z)));
}
Array logcdf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return positive_scale(scale, log_of_rest(-standard(x, loc, scale)));
}
Array logsf(Arg x, Arg loc, Arg scale) {
  const Unified scope{x, loc, scale};
  return positive_scale(scale, -exp(standard(x, loc, scale)));
}
Array ppf(Arg q, Arg loc, Arg scale) {
  const Unified scope{q, loc, scale};
  return where_allowed((q.array() > 0) & (q.array() < 1), loc + scale * log(-log1p(-detail::to_inexact(q))));
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg loc, Arg scale), (x, loc, scale), x)
WEFT_EXP_OF(cdf, logcdf, (Arg x, Arg loc, Arg scale), (x, loc, scale), x)
WEFT_EXP_OF(sf, logsf, (Arg x, Arg loc, Arg scale), (x, loc, scale), x)
}  // namespace gumbel_l

namespace vonmises {
Array logpdf(Arg x, Arg kappa) {
  const Unified scope{x, kappa};
  const Array k = detail::to_inexact(kappa);
  return where_allowed(k > 0, -2 * k * square(sin(x.array() / 2)) - log(2 * pi * i0e(k)));
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg kappa), (x, kappa), x)
}  // namespace vonmises

namespace wrapcauchy {
Array logpdf(Arg x, Arg c) {
  const Unified scope{x, c};
  const Array angle = detail::to_inexact(x), k = detail::to_inexact(c);
  const Array value = log(1 - k * k) - std::log(2 * pi) - log(1 + k * k - 2 * k * cos(angle));
  return where_allowed((k > 0) & (k < 1), log_density((angle < 0) | (angle > 2 * pi), value));
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg c), (x, c), x)
}  // namespace wrapcauchy

namespace gennorm {
Array logpdf(Arg x, Arg beta) {
  const Unified scope{x, beta};
  const Array b = detail::to_inexact(beta);
  return log(.5 * b) - lgamma(1 / b) - pow(abs(x), b);
}
Array cdf(Arg x, Arg beta) {
  const Unified scope{x, beta};
  const Array b = detail::to_inexact(beta);
  return .5 * (1 + sign(x) * gammainc(1 / b, pow(abs(x), b)));
}
WEFT_EXP_OF(pdf, logpdf, (Arg x, Arg beta), (x, beta), x)
}  // namespace gennorm

namespace betabinom {
Array logpmf(Arg k, Arg n, Arg a, Arg b, Arg loc) {
  const Unified scope{k, n, a, b, loc};
  const Array y = floor(k) - loc, trials = detail::to_inexact(n), p = detail::to_inexact(a), q = detail::to_inexact(b);
  const Array choices = -(log1p(trials) + betaln(trials - y + 1, y + 1));
  const Array value = where((y == 0) & (trials == 0), 0, choices + betaln(y + p, trials - y + q) - betaln(p, q));
  const Array outside = (y < 0) | (y > trials);
  return where_allowed(~((trials < 0) | (p <= 0) | (q <= 0)), log_density(outside, value));
}
WEFT_EXP_OF(pmf, logpmf, (Arg k, Arg n, Arg a, Arg b, Arg loc), (k, n, a, b, loc), k)
}  // namespace betabinom

namespace multinomial {
Array logpmf(Arg x, Arg n, Arg p) {
  LocScope scope(x.where());
  for (const Arg& counts : {x, n})
    if (!counts.array().dtype().is_integer())
      throw DTypeError(
          fmt::format("multinomial: the numbers of outcomes and of trials are integers; one is {}", detail::to_string(counts.aval())),
          detail::effective_loc(x.where()));
  const Array probabilities = detail::to_inexact(p), counts = convert(x, probabilities.dtype()), trials = convert(n, probabilities.dtype());
  const Array value = lgamma(trials + 1) + sum(xlogy(counts, probabilities) - lgamma(counts + 1), -1);
  return log_density(sum(counts, -1) != trials, value);
}
WEFT_EXP_OF(pmf, logpmf, (Arg x, Arg n, Arg p), (x, n, p), x)
}  // namespace multinomial

namespace cauchy {
WEFT_LOG_OF(logcdf, cdf, (Arg x, Arg loc, Arg scale), (x, loc, scale), x)
WEFT_LOG_OF(logsf, sf, (Arg x, Arg loc, Arg scale), (x, loc, scale), x)
}  // namespace cauchy

namespace truncnorm {
Array logcdf(Arg x, Arg a, Arg b, Arg loc, Arg scale) {
  const Unified scope{x, a, b, loc, scale};
  const Array y = standard(x, loc, scale), lower = detail::to_inexact(a), upper = detail::to_inexact(b);
  const Array below = y <= lower, above = y >= upper, v = where(below | above, (lower + upper) / 2, y);
  const Array value = log_normal_mass(lower, v) - log_normal_mass(lower, upper);
  return where(lower >= upper, not_a_number, where(below, -infinity, where(above, 0, value)));
}
Array logsf(Arg x, Arg a, Arg b, Arg loc, Arg scale) {
  const Unified scope{x, a, b, loc, scale};
  return logcdf(negative(x), negative(b), negative(a), negative(loc), scale);
}
WEFT_EXP_OF(sf, logsf, (Arg x, Arg a, Arg b, Arg loc, Arg scale), (x, a, b, loc, scale), x)
}  // namespace truncnorm

namespace pareto {
namespace {
/// What holds of x below loc + scale, and (x - loc) / scale, which is 1 there.
struct Beyond {
  Array outside, y, b;
  Beyond(const Arg& x, const Arg& shape, const Arg& loc, const Arg& scale)
      : outside(detail::to_inexact(x) < detail::to_inexact(loc) + scale),
        y(where(outside, 1, standard(x, loc, scale))),
        b(detail::to_inexact(shape)) {}
};
}  // namespace
Array cdf(Arg x, Arg b, Arg loc, Arg scale) {
  const Unified scope{x, b, loc, scale};
  const Beyond of(x, b, loc, scale);
  return where(of.outside, 0, 1 - pow(of.y, -of.b));
}
Array logcdf(Arg x, Arg b, Arg loc, Arg scale) {
  const Unified scope{x, b, loc, scale};
  const Beyond of(x, b, loc, scale);
  return log_density(of.outside, log1p(-pow(of.y, -of.b)));
}
Array logsf(Arg x, Arg b, Arg loc, Arg scale) {
  const Unified scope{x, b, loc, scale};
  const Beyond of(x, b, loc, scale);
  return where(of.outside, 0, -of.b * log(of.y));
}
Array ppf(Arg q, Arg b, Arg loc, Arg scale) {
  const Unified scope{q, b, loc, scale};
  return of_probability(q, pow(1 - detail::to_inexact(q), -1 / detail::to_inexact(b)) * scale + loc);
}
WEFT_EXP_OF(sf, logsf, (Arg x, Arg b, Arg loc, Arg scale), (x, b, loc, scale), x)
}  // namespace pareto

namespace bernoulli {
Array ppf(Arg q, Arg p) {
  const Unified scope{q, p};
  const Array probability = detail::to_inexact(p);
  const Array value = where(detail::to_inexact(q) <= 1 - probability, 0, 1);
  return where_allowed((probability >= 0) & (probability <= 1), of_probability(q, convert(value, probability.dtype())));
}
}  // namespace bernoulli

namespace poisson {
Array entropy(Arg mu) {
  LocScope scope(mu.where());
  const Array given = detail::to_inexact(mu), m = detail::as_wide(given), few = (m > 0) & (m < 100), small = where(few, m, 1),
              large = where(m >= 100, m, 100);
  // Below 100, ten standard deviations beyond the mean hold all that float64 sees.
  std::vector<std::int64_t> along(static_cast<std::size_t>(m.ndim() + 1), 1);
  along[0] = 250;
  const Array k = reshape(arange(250, m.dtype()), Shape(along));
  const Array summed = -sum(pmf(k, small) * logpmf(k, small), 0);
  const Array series = .5 * log(2 * pi * std::numbers::e * large) - 1 / (12 * large);
  return detail::as_dtype(where_allowed(m >= 0, where(m == 0, 0, where(few, summed, series))), given.dtype());
}
}  // namespace poisson

}  // namespace weft::stats
