// What distributions and special functions of several arguments give where an argument is NaN, and their derivatives where formulas meet.
#include <doctest/doctest.h>
#include <weft/stats.h>
#include <weft/testing.h>
#include <weft/weft.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

using namespace weft;

namespace {

using Values = std::vector<double>;

struct Function {
  std::string name;
  Values at;  ///< arguments for which it is a number
  std::function<Array(const std::vector<Array>&)> of;
};

#define OF(f, n, ...)                                                                                           \
  Function {                                                                                                    \
    #f, {__VA_ARGS__}, [](const std::vector<Array>& a) { return of_##n([](auto... x) { return f(x...); }, a); } \
  }
template <class F>
Array of_2(F f, const std::vector<Array>& a) {
  return f(a[0], a[1]);
}
template <class F>
Array of_3(F f, const std::vector<Array>& a) {
  return f(a[0], a[1], a[2]);
}
template <class F>
Array of_4(F f, const std::vector<Array>& a) {
  return f(a[0], a[1], a[2], a[3]);
}
template <class F>
Array of_5(F f, const std::vector<Array>& a) {
  return f(a[0], a[1], a[2], a[3], a[4]);
}

std::vector<Function> located() {
  using namespace stats;
#define THREE(d, f) OF(d::f, 3, .5, .25, 2)
  return {THREE(norm, logpdf),    THREE(norm, cdf),        THREE(norm, logcdf),     THREE(norm, sf),         THREE(norm, logsf),
          THREE(norm, ppf),       THREE(norm, isf),        THREE(uniform, logpdf),  THREE(uniform, cdf),     THREE(uniform, ppf),
          THREE(expon, logpdf),   THREE(expon, cdf),       THREE(expon, logcdf),    THREE(expon, logsf),     THREE(expon, ppf),
          THREE(laplace, logpdf), THREE(laplace, cdf),     THREE(logistic, logpdf), THREE(logistic, cdf),    THREE(logistic, sf),
          THREE(logistic, ppf),   THREE(logistic, isf),    THREE(cauchy, logpdf),   THREE(cauchy, cdf),      THREE(cauchy, sf),
          THREE(cauchy, ppf),     THREE(cauchy, isf),      THREE(cauchy, logcdf),   THREE(cauchy, logsf),    THREE(gumbel_r, logpdf),
          THREE(gumbel_r, cdf),   THREE(gumbel_r, logcdf), THREE(gumbel_r, sf),     THREE(gumbel_r, logsf),  THREE(gumbel_r, ppf),
          THREE(gumbel_l, cdf),   THREE(gumbel_l, logpdf), THREE(gumbel_l, sf),     THREE(gumbel_l, logcdf), THREE(gumbel_l, logsf),
          THREE(gumbel_l, ppf)};
#undef THREE
}
std::vector<Function> shaped() {
  using namespace stats;
#define FOUR(d, f) OF(d::f, 4, 2.5, 1.5, .25, 2)
  return {FOUR(t, logpdf),
          FOUR(gamma, logpdf),
          FOUR(gamma, cdf),
          FOUR(gamma, sf),
          FOUR(gamma, logcdf),
          FOUR(gamma, logsf),
          FOUR(chi2, logpdf),
          FOUR(chi2, cdf),
          FOUR(chi2, sf),
          FOUR(chi2, logcdf),
          FOUR(chi2, logsf),
          FOUR(pareto, logpdf),
          FOUR(pareto, cdf),
          FOUR(pareto, logcdf),
          FOUR(pareto, sf),
          FOUR(pareto, logsf),
          OF(pareto::ppf, 4, .5, 1.5, .25, 2)};
#undef FOUR
}
std::vector<Function> further() {
  using namespace stats;
#define FIVE(d, f) OF(d::f, 5, .5, -1, 2, .25, 2)
#define BETA(f) OF(beta::f, 5, .5, 1.5, 2, .25, 2)
  return {FIVE(truncnorm, logpdf),
          FIVE(truncnorm, cdf),
          FIVE(truncnorm, logcdf),
          FIVE(truncnorm, sf),
          FIVE(truncnorm, logsf),
          BETA(logpdf),
          BETA(cdf),
          BETA(sf),
          BETA(logcdf),
          BETA(logsf),
          OF(vonmises::logpdf, 2, .5, 2),
          OF(wrapcauchy::logpdf, 2, .5, .25),
          OF(gennorm::logpdf, 2, .5, 2),
          OF(gennorm::cdf, 2, .5, 2),
          OF(bernoulli::logpmf, 3, 1, .25, 0),
          OF(bernoulli::cdf, 2, 1, .25),
          OF(bernoulli::ppf, 2, .5, .25),
          OF(binom::logpmf, 4, 2, 5, .25, 0),
          OF(nbinom::logpmf, 4, 2, 5, .25, 0),
          OF(geom::logpmf, 3, 2, .25, 0),
          OF(poisson::logpmf, 3, 2, 1.5, 0),
          OF(poisson::cdf, 3, 2, 1.5, 0),
          OF(betabinom::logpmf, 5, 2, 5, 1.5, 2, 0)};
#undef FIVE
#undef BETA
}
std::vector<Function> special() {
  return {OF(xlogy, 2, 0, 2),      OF(xlog1py, 2, 0, 2),     OF(gammainc, 2, 2, 1),      OF(gammaincc, 2, 2, 1), OF(betaln, 2, 2, 1),
          OF(comb, 2, 5, 2),       OF(poch, 2, 2, 1),        OF(boxcox, 2, 2, 0),        OF(boxcox1p, 2, 2, 0),  OF(zeta, 2, 2, 1),
          OF(logaddexp2, 2, 2, 1), OF(heaviside, 2, 0, 2),   OF(hypot, 2, 2, 1),         OF(beta, 2, 2, 1),      OF(logaddexp, 2, 2, 1),
          OF(kl_div, 2, 2, 1),     OF(betainc, 3, 2, 1, .5), OF(float_power, 2, 2, 1.5), OF(remainder, 2, 5, 3), OF(fmod, 2, 5, 3)};
}

void check_nan(const std::vector<Function>& functions) {
  for (const Function& f : functions) {
    const auto with = [&](std::size_t k) {
      std::vector<Array> args;
      for (std::size_t i = 0; i < f.at.size(); ++i) args.push_back(array({i == k ? std::nan("") : f.at[i]}, float64));
      return args;
    };
    CAPTURE(f.name);
    CHECK(isfinite(f.of(with(f.at.size()))[0]).item<bool>());
    for (std::size_t k = 0; k < f.at.size(); ++k) {
      CAPTURE(k);
      CHECK(isnan(f.of(with(k))[0]).item<bool>());
    }
  }
}

/// First and second derivatives of a function of one number.
std::pair<double, double> derivatives(const std::function<Array(Array)>& f, double x) {
  const auto first = grad(f);
  return {first(array(x, float64)).item<double>(), grad(first)(array(x, float64)).item<double>()};
}
void check_derivatives(const std::function<Array(Array)>& f, double x, double first, double second) {
  const auto [d, dd] = derivatives(f, x);
  CHECK(d == doctest::Approx(first).epsilon(1e-9));
  CHECK(dd == doctest::Approx(second).epsilon(1e-9));
}

}  // namespace

TEST_CASE("a distribution's function of NaN is NaN, whichever argument it is") {
  check_nan(located());
  check_nan(shaped());
  check_nan(further());
}

TEST_CASE("a special function of several arguments is NaN where one is") { check_nan(special()); }

TEST_CASE("outside of where a density is it is 0, with derivatives of 0") {
  for (const auto& [f, x] :
       std::vector<std::pair<std::function<Array(Array)>, double>>{{[](Array v) { return stats::gamma::pdf(v, 2.5); }, -1},
                                                                   {[](Array v) { return stats::gamma::cdf(v, 0.5); }, -1},
                                                                   {[](Array v) { return stats::beta::pdf(v, 0.5, 2.5); }, 1.5},
                                                                   {[](Array v) { return stats::pareto::pdf(v, 2.5); }, .5},
                                                                   {[](Array v) { return stats::pareto::cdf(v, 2.5); }, .5},
                                                                   {[](Array v) { return stats::expon::cdf(v); }, -1},
                                                                   {[](Array v) { return stats::truncnorm::cdf(v, -1, 2); }, -3}}) {
    CHECK(f(array(x, float64)).item<double>() == 0);
    CHECK(jit(f)(array(x, float64)).item<double>() == 0);
    check_derivatives(f, x, 0, 0);
  }
}

TEST_CASE("derivatives where formulas meet are those of the function, not of a kink in one of the formulas") {
  check_derivatives([](Array v) { return logaddexp2(v, 0.75); }, .75, .5, std::log(2.) / 4);
  check_derivatives([](Array v) { return logaddexp2(0.75, v); }, .75, .5, std::log(2.) / 4);
  CHECK(grad([](Array v) { return stats::laplace::cdf(v, 1, 2); })(array(1., float64)).item<double>() == .25);
  CHECK(grad([](Array v) { return stats::expon::cdf(v, 1, 2); })(array(1., float64)).item<double>() == .5);
  check_derivatives([](Array v) { return gammainc(1, v); }, 0, 1, -1);
  check_derivatives([](Array v) { return gammainc(2, v); }, 0, 0, 1);
  check_derivatives([](Array v) { return gammaincc(3, v); }, 0, 0, 0);
  check_derivatives([](Array v) { return stats::gamma::cdf(v, 1); }, 0, 1, -1);
  check_derivatives([](Array v) { return spence(v); }, 1, -1, .5);
}

TEST_CASE("derivatives at removable singularities are those of the limit") {
  const double l = std::log(3.);
  check_derivatives([](Array v) { return boxcox(3., v); }, 0, l * l / 2, l * l * l / 3);
  check_derivatives([](Array v) { return boxcox1p(2., v); }, 0, l * l / 2, l * l * l / 3);
  const double digamma_3 = digamma(array(3., float64)).item<double>(), trigamma_3 = polygamma(1, array(3., float64)).item<double>();
  check_derivatives([](Array v) { return poch(3., v); }, 0, digamma_3, digamma_3 * digamma_3 + trigamma_3);
  CHECK(
      allclose(poch(array({20.f, 40.f, 23.f}), array({20.f, 1.f, -3.f})), array({1.6768355e29f, 40.f, 1.0822511e-4f}), 1e-4).item<bool>());
  CHECK(boxcox(array(0., float64), 0).item<double>() == -constants::inf);
}
