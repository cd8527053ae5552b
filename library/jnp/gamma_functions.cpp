// Functions of the gamma family, and of the normal distribution.
#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/series.h"
#include "weft/library/jnp/special.h"
#include "weft/transforms/autodiff/custom.h"
#include "weft/transforms/autodiff/jvp.h"
#include "weft/transforms/control/control_flow.h"

namespace weft {

using detail::continued_fraction;
using detail::LocScope;
using detail::polynomial;
using detail::real_operands;
using detail::RealOperands;
using detail::series;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double log_sqrt_two_pi = 0.91893853320467274178;
constexpr int kDerivativeTerms = 40;  // of fractions: as many as their derivatives in the parameters need where the fractions end

/// Stirling's series: log(gamma(x)) less (x - 1/2) log(x) - x + log(2 pi) / 2, for x of 8 and more.
Array stirling_remainder(const Array& x) {
  constexpr double coefficients[] = {1. / 12, -1. / 360, 1. / 1260, -1. / 1680, 1. / 1188, -691. / 360360, 1. / 156};
  const Array r = 1 / x, r2 = r * r;
  Array sum = detail::scalar_like(x, coefficients[6]);
  for (int k = 5; k >= 0; --k) sum = sum * r2 + coefficients[k];
  return sum * r;
}
/// log(gamma(b) / gamma(a + b)) for b of 8 and more and a between 0 and b, without loss where both are large.
Array log_gamma_quotient(const Array& a, const Array& b) {
  return stirling_remainder(b) - stirling_remainder(a + b) - (a + b - .5) * log1p(a / b) - a * (log(b) - 1);
}
/// x^a exp(-x) / gamma(a), without loss where both are large.
Array gamma_density(const Array& a, const Array& x) {
  const Array large = a >= 8, u = where(large, 1, a), v = where(large, a, 8), m = where(large, (x - v) / v, 0);
  const Array far = exp(-v * (m - log1p(m)) - stirling_remainder(v)) * sqrt(v / (2 * std::numbers::pi));
  return where(large, far, exp(u * log(where(large, 1, x)) - where(large, 1, x) - lgamma(u)));
}

/// The sum 1 + x / (a + 1) + x^2 / ((a + 1) (a + 2)) + ..., of positive a and x < a + 1.
Array gamma_series(const Array& a, const Array& x) {
  return series(Array(x * 0 + 1 + a * 0), [=](const Array& term, const Array& n) { return Array(term * x / (a + n)); });
}
/// The regularised incomplete gamma function, the lower or the upper one, of finite positive a and x.
Array incomplete_gamma_inside(const Array& a, const Array& x, bool upper) {
  const Array by_series = x < a + 1, scale = gamma_density(a, x);
  const Array lower_value = scale * gamma_series(where(by_series, a, 1), where(by_series, x, 1)) / a;
  const Array u = where(by_series, 1, a), v = where(by_series, 3, x);
  const Array upper_value = scale / continued_fraction(
                                        Array(v + 1 - u), [=](const Array& n) { return Array(-n * (n - u)); },
                                        [=](const Array& n) { return Array(v + 2 * n + 1 - u); }, kDerivativeTerms);
  return upper ? where(by_series, 1 - lower_value, upper_value) : where(by_series, lower_value, 1 - upper_value);
}
/// The same everywhere: 0 and 1 at the ends, NaN outside.
Array incomplete_gamma_value(const Array& a, const Array& x, bool upper) {
  const Array inside = (a > 0) & (x > 0) & (a < infinity) & (x < infinity);
  const Array value = incomplete_gamma_inside(where(inside, a, 1), where(inside, x, 1), upper);
  const Array zero = (x == 0) & (a > 0), one = (a == 0) & (x > 0), end = ((x == infinity) & (a >= 0) & (a < infinity)) | one;
  const double at_zero = upper ? 1 : 0;
  return where(inside, value, where(zero | ((a == infinity) & (x >= 0) & (x < infinity)), at_zero, where(end, 1 - at_zero, not_a_number)));
}
using Two = std::tuple<Array, Array>;
using Three = std::tuple<Array, Array, Array>;
Array incomplete_gamma(const char* operation, const Arg& a, const Arg& x, bool upper) {
  LocScope scope(a.where());
  const RealOperands both = real_operands(operation, {a, x});
  const auto value = [upper](const Array& p, const Array& v) { return incomplete_gamma_value(p, v, upper); };
  // The derivative in a is that of the series and of the fraction.
  return both.result(custom_jvp(value, [=](Two at, Two along) {
    const auto& [p, v] = at;
    const auto& [dp, dv] = along;
    const auto [y, by_p] = jvp([&](const Array& q) { return value(q, std::get<1>(at)); }, std::tuple{p}, std::tuple{ones_like(p)});
    // A power at 0, where a logarithm would leave no further derivative.
    const Array at_zero = v == 0, u = where(at_zero, 1, v), power = pow(where(at_zero & (p != 1), v, 1), p - 1);
    const Array density = where(at_zero, power * exp(-v - lgamma(p)), exp((p - 1) * log(u) - u - lgamma(p)));
    return std::pair{y, Array(by_p * dp + (upper ? -density : density) * dv)};
  })(both.xs[0], both.xs[1]));
}

/// The regularised incomplete beta function of a, b > 0 and x inside of (0, 1).
Array incomplete_beta_inside(const Array& a, const Array& b, const Array& x) {
  const Array mirrored = x > (a + 1) / (a + b + 2);
  const Array p = where(mirrored, b, a), q = where(mirrored, a, b), v = where(mirrored, 1 - x, x);
  const Array w = where(mirrored, x, 1 - x);
  const auto numerator = [=](const Array& n) {  // of the fraction's n-th step, from 1 on
    const Array m = floor(n / 2), even = n - 2 * m == 0;
    const Array odd_value = -(p + m) * (p + q + m) * v / ((p + 2 * m) * (p + 2 * m + 1));
    return Array(where(even, m * (q - m) * v / ((p + 2 * m - 1) * (p + 2 * m)), odd_value));
  };
  const Array fraction = continued_fraction(Array(0 * v + 1), numerator, [=](const Array&) { return Array(0 * v + 1); }, kDerivativeTerms);
  const Array value = exp(p * log(v) + q * log(w) - betaln(p, q)) / (p * fraction);
  return where(mirrored, 1 - value, value);
}
Array incomplete_beta_value(const Array& a, const Array& b, const Array& x) {
  const Array inside = (a > 0) & (b > 0) & (a < infinity) & (b < infinity) & (x > 0) & (x < 1);
  const Array value = incomplete_beta_inside(where(inside, a, 1), where(inside, b, 1), where(inside, x, .5));
  const Array fits = (a > 0) & (b > 0);
  return where(inside, value, where(fits & (x == 0), 0, where(fits & (x == 1), 1, not_a_number)));
}

/// Below it log(ndtr(x)) is computed by the asymptotic series.
double log_ndtr_limit(const Array& x) { return x.dtype() == float64 ? -20 : -10; }
/// log(ndtr(x)) above the limit.
Array log_ndtr_near(const Array& x) {
  // The upper tail's complement, by which log(1 - p) loses nothing.
  const Array positive = x > 0, tail = erfc(abs(x) * std::sqrt(.5)) * .5;
  return where(positive, log1p(-tail), log(tail));
}
Array log_ndtr_near_with_derivative(const Array& x) {
  return custom_jvp(log_ndtr_near, [](std::tuple<Array> at, std::tuple<Array> along) {
    const auto& [v] = at;
    const auto& [dv] = along;
    const Array y = log_ndtr_near_with_derivative(v);
    return std::pair{y, Array(dv * exp(-v * v / 2 - y - log_sqrt_two_pi))};
  })(x);
}
/// log(ndtr(x)) below the limit; its derivatives are sums of terms of which one is by far the largest.
Array log_ndtr_far(const Array& x) {
  // erfc's asymptotic series: its n-th term is -(2n - 1) / x^2 times the one before.
  const Array r = 1 / (x * x);
  Array term = detail::scalar_like(x, 1), sum = term;
  for (int n = 1; n <= 8; ++n) {
    term = -term * r * (2 * n - 1);
    sum = sum + term;
  }
  return log(sum) - x * x / 2 - log(-x) - log_sqrt_two_pi;
}
/// log(ndtr(x)) of float32 or float64.
Array log_ndtr_of(const Array& x) {
  const double limit = log_ndtr_limit(x);
  const Array far = x < limit;
  return where(far, log_ndtr_far(where(far, x, limit)), log_ndtr_near_with_derivative(where(far, limit, x)));
}
/// -ndtri(q) for q below .02, in r = sqrt(-log(q)), in which it is nearly linear: a quotient of polynomials of the least largest relative
/// error in each interval (float32: 5e-9; float64: 4e-18 and 4e-17). float32 has a single one, for all of its numbers.
Array upper_quantile(const Array& q) {
  const Array r = sqrt(-log(q));
  constexpr double from_low = 1.9, from_high = 5;  // where an interval begins
  const Array low = r - from_low;
  if (q.dtype() != float64) {
    constexpr double top[] = {1.92600545625793545, 3.28893113951479187, 1.72782408584350017, .336534619899070994, .019602498886233513};
    constexpr double bottom[] = {1, .852734822681353259, .211861423866196808, .0138584938903332757};
    return polynomial(low, top) / polynomial(low, bottom);
  }
  constexpr double low_top[] = {1.92600544685060953, 5.36403980877228307, 5.99673870936763437,  3.50586721491770088,
                                1.148898060701273,   .206964531345410157, .0183576885552700368, .000586541590492910519},
                   low_bottom[] = {1,
                                   1.93015035285326117,
                                   1.50723133557545789,
                                   .599136399420135186,
                                   .124286171823001628,
                                   .0121976525642149987,
                                   .000414686172630495081,
                                   6.54622865444577803e-10};
  constexpr double high_top[] = {6.65790464350110383,  5.46171315039128577,   1.78327166076588876,     .296108951028489885,
                                 .0264682601500634176, .00123812561778863292, .0000269686149694659875, 1.99435982375847777e-7},
                   high_bottom[] = {1,
                                    .599521033464088175,
                                    .136765053517979106,
                                    .0148435191603685694,
                                    .000784149786700408343,
                                    .000018364924173965608,
                                    1.41021618057962152e-7,
                                    1.99885244456776638e-15};
  const Array high = r - from_high, is_low = r < from_high;
  return where(is_low, polynomial(low, low_top), polynomial(high, high_top)) /
         where(is_low, polynomial(low, low_bottom), polynomial(high, high_bottom));
}
/// The inverse of ndtr, of float32 or float64.
Array ndtri_value(const Array& p) {
  const Array inside = (p > 0) & (p < 1), upper = p > .5, given = where(upper, 1 - p, p), q = where(inside, given, .25);
  const Array tail = q < .02, middle = where(tail, .25, q), small = where(tail, q, .01);
  const Array value = where(tail, -upper_quantile(small), std::numbers::sqrt2 * erf_inv(2 * middle - 1));
  return where(inside, where(upper, -value, value), where(p == 0, -infinity, where(p == 1, infinity, not_a_number)));
}
Array ndtri_of(const Array& p) {
  return custom_jvp(ndtri_value, [](std::tuple<Array> at, std::tuple<Array> along) {
    const auto& [q] = at;
    const auto& [dq] = along;
    const Array x = ndtri_of(q);
    return std::pair{x, Array(dq * exp(x * x / 2 + log_sqrt_two_pi))};
  })(p);
}
/// gamma(z + m) / gamma(z).
Array rising_factorial_value(const Array& z, const Array& m) {
  const Array end = z + m, least = minimum(z, end), large = least >= 8, b = where(large, least, 8), a = where(large, abs(m), 0);
  const Array quotient = exp(where(m < 0, 1, -1) * log_gamma_quotient(a, b));
  return where(m == 0, 1, where(large, quotient, gamma(end) / gamma(z)));
}
Array rising_factorial(const Array& z, const Array& m) {
  return custom_jvp(rising_factorial_value, [](Two at, Two along) {
    const auto& [u, v] = at;
    const auto& [du, dv] = along;
    const Array y = rising_factorial(u, v), above = digamma(u + v);
    return std::pair{y, Array(y * ((above - digamma(u)) * du + above * dv))};
  })(z, m);
}
/// (exp(l v) - 1) / l, next to l v = 0 by a series, whose derivatives are those of the limit.
Array power_of_exp(const Array& v, const Array& l) {
  constexpr int kTerms = 14;
  const Array product = l * v, near = abs(product) < .5, t = where(near, product, 0);
  Array sum = detail::scalar_like(t, 1);
  for (int k = kTerms; k > 1; --k) sum = 1 + t * sum / k;
  const Array far = where(l == 0, v, expm1(where(near, 1, product)) / where(near | (l == 0), 1, l));
  return where(near, where(near, v, 0) * sum, far);
}
template <class F>
Array of_one(const char* operation, const Arg& x, F f) {
  LocScope scope(x.where());
  const RealOperands one = real_operands(operation, {x});
  return one.result(f(one.xs[0]));
}

}  // namespace

Array gamma(Arg x) {
  return of_one("gamma", x, [](const Array& v) { return Array(gammasgn(v) * exp(lgamma(v))); });
}
Array gammasgn(Arg x) {
  return of_one("gammasgn", x, [](const Array& v) {
    const Array below = floor(v), negative = v < 0;
    const Array minus = (negative & (remainder(below, 2) != 0)) | ((v == 0) & signbit(v));
    return where((negative & (v == below)) | isnan(v), not_a_number, where(minus, -1, where(v == v, 1, v)));
  });
}
Array betaln(Arg a, Arg b) {
  LocScope scope(a.where());
  const RealOperands both = real_operands("betaln", {a, b});
  const Array p = minimum(both.xs[0], both.xs[1]), q = maximum(both.xs[0], both.xs[1]), large = q >= 8;
  const Array u = where(large, 1, q), v = where(large, q, 8);
  return both.result(lgamma(p) + where(large, log_gamma_quotient(p, v), lgamma(u) - lgamma(p + u)));
}
Array beta(Arg a, Arg b) {
  LocScope scope(a.where());
  const RealOperands both = real_operands("beta", {a, b});
  const Array &p = both.xs[0], &q = both.xs[1];
  return both.result(gammasgn(p) * gammasgn(q) * gammasgn(p + q) * exp(betaln(p, q)));
}
Array factorial(Arg n) {
  return of_one("factorial", n, [](const Array& v) { return where(v < 0, 0, exp(lgamma(v + 1))); });
}
Array comb(Arg n, Arg k) {
  LocScope scope(n.where());
  const RealOperands both = real_operands("comb", {n, k});
  const Array &N = both.xs[0], &K = both.xs[1], outside = (K > N) | (N < 0) | (K < 0), m = where(outside, 0, N), j = where(outside, 0, K);
  return both.result(where(outside, 0, exp(lgamma(m + 1) - lgamma(j + 1) - lgamma(m - j + 1))));
}
Array multigammaln(Arg a, Int d) {
  return of_one("multigammaln", a, [d](const Array& v) {
    Array sum = 0 * v + .25 * static_cast<double>(d) * static_cast<double>(d - 1) * std::log(std::numbers::pi);
    // Few terms are added one by one; many are one sum, so that the program's size does not depend on d.
    constexpr std::int64_t kFew = 32;
    if (d > kFew) return Array(sum + weft::sum(lgamma(expand_dims(v, -1) - arange(d, v.dtype()) / 2), -1));
    for (std::int64_t i = 0; i < d; ++i) sum = sum + lgamma(v - static_cast<double>(i) / 2);
    return sum;
  });
}
Array poch(Arg z, Arg m) {
  LocScope scope(z.where());
  const RealOperands both = real_operands("poch", {z, m});
  return both.result(rising_factorial(both.xs[0], both.xs[1]));
}
Array gammainc(Arg a, Arg x) { return incomplete_gamma("gammainc", a, x, false); }
Array gammaincc(Arg a, Arg x) { return incomplete_gamma("gammaincc", a, x, true); }
Array betainc(Arg a, Arg b, Arg x) {
  LocScope scope(a.where());
  const RealOperands all = real_operands("betainc", {a, b, x});
  return all.result(custom_jvp(incomplete_beta_value, [](Three at, Three along) {
    const auto& [p, q, v] = at;
    const auto& [dp, dq, dv] = along;
    const Array one = ones_like(p), none_of_it = zeros_like(p);
    const auto along_p = jvp(incomplete_beta_value, at, std::tuple{one, none_of_it, none_of_it});
    const auto along_q = jvp(incomplete_beta_value, at, std::tuple{none_of_it, one, none_of_it});
    const Array inside = (v > 0) & (v < 1), u = where(inside, v, .5);
    const Array density = where(inside, exp((p - 1) * log(u) + (q - 1) * log1p(-u) - betaln(p, q)), 0);
    return std::pair{along_p.first, Array(along_p.second * dp + along_q.second * dq + density * dv)};
  })(all.xs[0], all.xs[1], all.xs[2]));
}
Array boxcox(Arg x, Arg lambda) {
  LocScope scope(x.where());
  const RealOperands both = real_operands("boxcox", {x, lambda});
  return both.result(power_of_exp(log(both.xs[0]), both.xs[1]));
}
Array boxcox1p(Arg x, Arg lambda) {
  LocScope scope(x.where());
  const RealOperands both = real_operands("boxcox1p", {x, lambda});
  return both.result(power_of_exp(log1p(both.xs[0]), both.xs[1]));
}
Array log_ndtr(Arg x) { return of_one("log_ndtr", x, log_ndtr_of); }
Array ndtri(Arg p) { return of_one("ndtri", p, ndtri_of); }

}  // namespace weft
