// Special functions and distributions where JAX has no derivative, and results that can be taken apart. Their values stand beside JAX's in
// tests/expressions.
#include <doctest/doctest.h>
#include <weft/jnp.h>
#include <weft/linalg.h>
#include <weft/stats.h>
#include <weft/testing.h>
#include <weft/weft.h>

#include <cmath>
#include <string>

using namespace weft;

namespace {

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

}  // namespace

TEST_CASE("derivatives of the incomplete beta function in a and b are those of its integral") {
  const Array a = array(2.5, float64), b = array(0.7, float64), x = array(0.4, float64);
  check_laws([](Array p, Array q, Array v) { return betainc(p, q, v); }, a, b, x);
  check_laws([](Array p, Array q) { return stats::beta::logcdf(array({0.1, 0.4, 0.9}, float64), p, q); }, a, b);
}

TEST_CASE("the entropy of Poisson's distribution is that of its probabilities, with the derivative; so is the one beyond 100") {
  const Array mu = array({0.3, 5.0, 60.0}, float64), k = arange(400, float64);
  const auto summed = [&](const Array& m) { return -sum(stats::poisson::pmf(k, m) * stats::poisson::logpmf(k, m)); };
  CHECK(allclose(stats::poisson::entropy(mu), vmap(summed)(mu), 1e-12).item<bool>());
  check_laws([](Array m) { return stats::poisson::entropy(m); }, mu);
  CHECK(allclose(stats::poisson::entropy(array(150., float64)), summed(array(150., float64)), 1e-6).item<bool>());
  CHECK(array_equal(stats::poisson::entropy(array({0.f, 1.f})), array({0.f, stats::poisson::entropy(1.f).item<float>()})).item<bool>());
  CHECK(isnan(stats::poisson::entropy(-1.f)).item<bool>());
}

TEST_CASE("multinomial: batches of outcomes, each with its own number of trials") {
  const Array x = array({{1, 2}, {0, 1}}), p = array({0.25f, 0.75f});
  CHECK(allclose(stats::multinomial::pmf(x, array({3, 1}), p), array({3 * 0.25f * 0.5625f, 0.75f})).item<bool>());
  CHECK(array_equal(stats::multinomial::pmf(x, 3, p)[1], 0.f).item<bool>());
  CHECK(message_of([&] { stats::multinomial::pmf(array({1.f, 2.f}), 3, p); }).find("multinomial") != std::string::npos);
}

TEST_CASE("derivatives of the incomplete gamma functions in a are the same for one number as for many") {
  const Array a = array({0.5, 1.0, 2.0, 10.0}, float64);
  const auto f = [](Array p) { return gammainc(p, array(2.0, float64)); };
  const Array many = jit(grad([&](Array p) { return sum(f(p)); }))(a);
  for (int i = 0; i < 4; ++i) {
    const double p = a[i].item<double>(), h = 1e-5;
    const double by_differences = (f(array(p + h, float64)).item<double>() - f(array(p - h, float64)).item<double>()) / (2 * h);
    CHECK(many[i].item<double>() == doctest::Approx(by_differences).epsilon(1e-7));
    CHECK(grad(f)(a[i]).item<double>() == doctest::Approx(by_differences).epsilon(1e-7));
  }
  check_laws([](Array p, Array x) { return gammaincc(p, x); }, array({0.5, 3.0}, float64), array({2.0, 1.0}, float64));
}

TEST_CASE("the laws hold for Bessel functions and the normal distribution's inverse") {
  check_laws([](Array x) { return i0(x) + i1e(x); }, array({-2.0, 0.5, 9.0, 20.0}, float64));
  CHECK(i0(0.f).item<float>() == 1);
  CHECK(i0e(array({0.0, -0.0}, float64)).to_vector<double>() == std::vector<double>{1, 1});
  check_laws([](Array p) { return ndtri(p); }, array({0.05, 0.2, 0.4, 0.9}, float64));
  check_laws([](Array x) { return log_ndtr(x); }, array({-25.0, -3.0, 0.1, 4.0}, float64));
}

TEST_CASE("ndtri undoes ndtr, far into the tails") {
  for (double x : {-37.0, -20.0, -8.0, -2.3, -0.4})
    CHECK(ndtri(exp(log_ndtr(array(x, float64)))).item<double>() == doctest::Approx(x).epsilon(1e-12));
}

TEST_CASE("results of a known number of arrays are taken apart") {
  const Array x = array({{1, 7, 2}, {0, 3, 4}});
  const auto [row, column] = unravel_index<2>(argmax(x), x.shape());
  CHECK(row.item<int>() == 0);
  CHECK(column.item<int>() == 1);
  const auto [i, j] = nonzero<2>(x > 2);
  CHECK(array_equal(j, array({1, 1, 2})).item<bool>());
  CHECK(i.size() == 3);
  const auto [first, second] = split<2>(arange(6));
  CHECK(second[0].item<int>() == 3);
  CHECK(first.size() == 3);
  CHECK(message_of([&] { nonzero<3>(x); }) == "elements: there are 2 arrays, one for each dimension or piece, not 3");
}

TEST_CASE("shapes that fit no distribution are refused") {
  CHECK(message_of([] { stats::multivariate_normal::logpdf(ones(3), zeros(3), eye(2)); }) ==
        "multivariate_normal: the mean is f32[3], the covariance f32[2,2]; it must be a number or a matrix of 3 by 3");
  CHECK(message_of([] { stats::dirichlet::pdf(ones(2), ones(4)); }) ==
        "dirichlet: x is f32[2] and alpha f32[4]; alpha must be a vector, and x's first axis as long or shorter by one");
  CHECK(message_of([] { gammainc(ones({}, complex64), 1.f); }).starts_with("gammainc: "));
  CHECK(message_of([] { polyadd(ones({2, 2}), ones(2)); }) == "polyadd: f32[2,2] is not a vector of coefficients");
  CHECK(message_of([] { convolve2d(ones({2, 2}), ones(2)); }) == "convolve2d: f32[2] is not a matrix; it must have two dimensions");
  CHECK(message_of([] { convolve2d(ones({2, 2}), ones({1, 3}), "valid"); }) ==
        "convolve2d: neither of f32[2,2] and f32[1,3] lies inside of the other, as mode valid needs");
  CHECK(message_of([] { cov(ones(3), ones(4)); }) == "cov: f32[3] has 3 samples and f32[4] has 4; they must be as many");
}

TEST_CASE("Bessel functions of integer order: small arguments in float32, 0, and their recurrence; orders that are too high") {
  const Array x = array({0.5f, 0.01f, 12.f, -3.f}), j = bessel_jn(x, {.v = 3});
  CHECK(allclose(j[0] + j[2], 2 * j[1] / x, 1e-5, 1e-6).item<bool>());
  CHECK(allclose(j[0], array({0.93846981f, 0.999975f, 0.04768931f, -0.26005195f}), 2e-6, 1e-6).item<bool>());
  CHECK(array_equal(bessel_jn(0.f, {.v = 2}), array({1.f, 0.f, 0.f})).item<bool>());
  check_laws([](Array v) { return bessel_jn(v, {.v = 2}); }, array({0.5, -3.0}, float64));
  CHECK(message_of([] { bessel_jn(1.f, {.v = 60}); }).find("order v is 60") != std::string::npos);
}

TEST_CASE("spherical harmonics are orthonormal, and 0 where the order is above the degree") {
  // Trapezoidal in the azimuth, Simpson's rule in the polar angle.
  const Array theta = linspace(0, constants::pi, 201).astype(float64), phi = (arange(16, float64) * (2 * constants::pi / 16));
  const Array simpson = where(arange(201) % 2 == 1, 4., 2.).at(array({0, 200})).set(1.) * (constants::pi / 600);
  const Array weights = (simpson * sin(theta))(slice(), newaxis) * (2 * constants::pi / 16) * ones({1, 16}, float64);
  const Array n = array({0, 1, 1, 2, 3, 3}), m = array({0, 0, -1, 2, -3, 1});
  const Array y = sph_harm_y(n(slice(), newaxis, newaxis), m(slice(), newaxis, newaxis), theta(slice(), newaxis), phi);
  const Array products = einsum("aij,bij,ij->ab", conj(y), y, weights);
  CHECK(allclose(products, eye(6), 1e-5, 1e-5).item<bool>());
  CHECK(array_equal(sph_harm_y(1, 2, 0.3f, 0.1f), 0.f).item<bool>());
  CHECK(message_of([] { sph_harm_y(1.5f, 1, 0.3f, 0.1f); }).find("integers") != std::string::npos);
  CHECK(message_of([] { jit([](Array k) { return sph_harm_y(k, 1, 0.3f, 0.1f); })(array({1, 2})); }).find("traced") != std::string::npos);
}

TEST_CASE("Owen's T function: its integral, its symmetries, and its derivatives") {
  const Array h = array({0.0, 0.3, 1.0, 2.5, -0.7}, float64), a = array({1.0, 0.5, 2.0, -0.8, 30.0}, float64),
              u = linspace(0, 1, 4001).astype(float64);
  const auto integral = [&](const Array& p, const Array& q) {
    const Array t = q * u;
    return trapezoid(exp(-square(p) * (1 + square(t)) / 2) / (1 + square(t)), t) / (2 * constants::pi);
  };
  CHECK(allclose(owens_t(h, a), vmap(integral)(h, a), 1e-4, 1e-9).item<bool>());
  CHECK(allclose(owens_t(0., array(0.6, float64)), atan(array(0.6, float64)) / (2 * constants::pi), 1e-14).item<bool>());
  check_laws([](Array p, Array q) { return owens_t(p, q); }, array({0.3, 1.2}, float64), array({0.5, 2.0}, float64));
}

TEST_CASE("parameters of distributions by name are those in order") {
  namespace s = stats;
  const Array x = array({0.3f, 0.9f, 1.7f}), k = array({0, 1, 2});
  const auto same = [](const Array& a, const Array& b) { return a.dtype() == b.dtype() && array_equal(a, b).item<bool>(); };
  CHECK(same(s::gamma::logpdf(x, {.a = 2, .scale = 3}), s::gamma::logpdf(x, 2, 0, 3)));
  CHECK(same(s::beta::cdf(x, {.a = 2, .b = 0.5, .scale = 4}), s::beta::cdf(x, 2, 0.5, 0, 4)));
  CHECK(same(s::t::pdf(x, {.df = 4, .loc = 1}), s::t::pdf(x, 4, 1)));
  CHECK(same(s::chi2::sf(x, {.df = 4, .loc = 1, .scale = 2}), s::chi2::sf(x, 4, 1, 2)));
  CHECK(same(s::pareto::ppf(x / 2, {.b = 2, .loc = 1, .scale = 3}), s::pareto::ppf(x / 2, 2, 1, 3)));
  CHECK(same(s::truncnorm::logsf(x, {.a = -1, .b = 2, .loc = 0.5, .scale = 2}), s::truncnorm::logsf(x, -1, 2, 0.5, 2)));
  CHECK(same(s::bernoulli::pmf(k, {.p = 0.3}), s::bernoulli::pmf(k, 0.3)));
  CHECK(same(s::binom::logpmf(k, {.n = 4, .p = 0.3, .loc = 1}), s::binom::logpmf(k, 4, 0.3, 1)));
  CHECK(same(s::nbinom::pmf(k, {.n = 4, .p = 0.3}), s::nbinom::pmf(k, 4, 0.3)));
  CHECK(same(s::geom::pmf(k, {.p = 0.3}), s::geom::pmf(k, 0.3)));
  CHECK(same(s::poisson::cdf(k, {.mu = 2.5}), s::poisson::cdf(k, 2.5)));
  CHECK(same(s::betabinom::pmf(k, {.n = 4, .a = 2, .b = 3}), s::betabinom::pmf(k, 4, 2, 3)));
  CHECK(same(s::vonmises::logpdf(x, {.kappa = 2}), s::vonmises::logpdf(x, 2)));
  CHECK(same(s::wrapcauchy::pdf(x, {.c = 0.3}), s::wrapcauchy::pdf(x, 0.3)));
  CHECK(same(s::gennorm::cdf(x, {.beta = 1.5}), s::gennorm::cdf(x, 1.5)));
  const auto fit = [&](Array a) { return sum(s::gamma::logpdf(x, {.a = a})); };
  CHECK(same(grad(fit)(2.f), grad([&](Array a) { return sum(s::gamma::logpdf(x, a)); })(2.f)));
}

TEST_CASE("jax.numpy.linalg's names of functions of arrays") {
  const Array a = reshape(arange(12, float32), {2, 2, 3}), v = array({1.f, 2.f, 3.f}), u = array({0.5f, 0.f, -1.f});
  const auto same = [](const Array& p, const Array& q) { return array_equal(p, q).item<bool>(); };
  CHECK(same(linalg::outer(v, u), outer(v, u)));
  CHECK(same(linalg::cross(v, u), cross(v, u)));
  CHECK(linalg::vecdot(v, u).item<float>() == -2.5f);
  CHECK(same(linalg::matmul(a, v), matmul(a, v)));
  CHECK(same(linalg::tensordot(a, v, 1), matmul(a, v)));
  CHECK(linalg::matrix_transpose(a).shape() == Shape{2, 3, 2});
  CHECK(same(linalg::diagonal(a, 1), array({{1.f, 5.f}, {7.f, 11.f}})));
  CHECK(same(linalg::trace(a, -1), array({3.f, 9.f})));
}
