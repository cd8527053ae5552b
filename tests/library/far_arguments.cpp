// Special functions and distributions in float32 where a part of their formula leaves the range of floats or loses its digits: beside what
// float64 gives. Functions of several arrays in the dtype that the arrays have together.
#include <doctest/doctest.h>
#include <weft/scipy.h>
#include <weft/stats.h>
#include <weft/weft.h>

#include <cmath>
#include <functional>
#include <limits>

using namespace weft;

namespace {

using Function = std::function<Array(const Array&, const Array&, const Array&)>;
struct Far {
  const char* text;
  Function of;
  std::vector<std::array<float, 3>> at;
};
#define OF(expression)                                                                          \
  #expression, [](const Array& x, const Array& y, const Array& z) {                             \
    return static_cast<void>(x), static_cast<void>(y), static_cast<void>(z), Array(expression); \
  }

/// Where float32 has a value, within 1e-4 of which float32 alone computes it.
std::vector<Far> far() {
  return {{OF(zeta(x, y)), {{300, 1, 0}, {255, 254, 0}, {40, 10, 0}, {1e6, 1, 0}, {185, 1.5, 0}, {1e30F, 1, 0}}},
          {OF(hyp1f1(y, z, x)), {{-126, 1.5, 2.5}, {-1000, 0.5, 1.5}, {-1e6, 2, 7.5}, {-70, 0.25, 3}, {-61, 1.5, 2.5}, {-30, 1.5, 2.5}}},
          {OF(stats::t::logpdf(x, y)), {{0, 1e4, 0}, {1, 1e5, 0}, {2, 2e6, 0}, {0.5, 3, 0}, {-1, 1e8, 0}}},
          {OF(stats::expon::logcdf(x)), {{0.01F, 0, 0}, {5, 0, 0}, {24, 0, 0}, {60, 0, 0}}},
          {OF(stats::cauchy::cdf(x)), {{-2e5, 0, 0}, {-1e9, 0, 0}, {3, 0, 0}, {0, 0, 0}}},
          {OF(stats::cauchy::sf(x)), {{2e5, 0, 0}, {1e9, 0, 0}, {-3, 0, 0}}},
          {OF(stats::cauchy::logcdf(x)), {{-1e9, 0, 0}, {1, 0, 0}}},
          {OF(stats::gumbel_r::logsf(x)), {{120, 0, 0}, {21, 0, 0}, {19, 0, 0}, {-3, 0, 0}}},
          {OF(stats::gumbel_l::logcdf(x)), {{-400, 0, 0}, {-21, 0, 0}, {-19, 0, 0}, {2, 0, 0}}},
          {OF(stats::vonmises::logpdf(x, y)), {{8.5e-5F, 1e7, 0}, {0.03F, 1e3, 0}, {2, 3, 0}}}};
}

}  // namespace

TEST_CASE("special functions far from where their formulas begin have float32's digits") {
  for (const Far& f : far())
    for (const std::array<float, 3>& at : f.at) {
      CAPTURE(f.text);
      CAPTURE(at[0]);
      std::vector<Array> narrow, wide;
      for (const float v : at) narrow.push_back(array({v})), wide.push_back(array({v}, float64));
      const double want = f.of(wide[0], wide[1], wide[2]).item<double>();
      CHECK(std::isfinite(want));
      CHECK(f.of(narrow[0], narrow[1], narrow[2]).item<float>() == doctest::Approx(want).epsilon(1e-4));
      CHECK(jit(f.of)(narrow[0], narrow[1], narrow[2]).item<float>() == doctest::Approx(want).epsilon(1e-4));
    }
  CHECK(zeta(300.F, 1.F).item<float>() == 1);
  CHECK(hyp1f1(1.5, 2.5, array({-126.}, float64)).item<double>() ==
        doctest::Approx(1.5 * std::tgamma(1.5) / std::pow(126, 1.5)).epsilon(1e-9));
}

TEST_CASE("a difference of neighbours does not see what is between them") {
  const Array x = array({0.F, 1e20F, 1.F, INFINITY, 3.F, NAN, 5.F});
  const std::vector<float> d = gradient(x).to_vector<float>();
  CHECK(d[1] == 0.5F);
  CHECK(d[3] == 1);
  CHECK(d[5] == 1);
  CHECK(gradient(array({1.F, 4.F})).to_vector<float>() == std::vector<float>{3, 3});
  CHECK(gradient(x, 0.25F).to_vector<float>()[1] == 2);
}

TEST_CASE("erfcx far below 0 is infinite") {
  for (const float x : {-INFINITY, -1e38F, -1e10F, -31.F, -12.F}) {
    CHECK(erfcx(array({x})).item<float>() == INFINITY);
    CHECK(jit([](Array v) { return erfcx(v); })(array({x})).item<float>() == INFINITY);
  }
  CHECK(erfcx(array({-26.}, float64)).item<double>() == doctest::Approx(2 * std::exp(676.)).epsilon(1e-12));
}

TEST_CASE("ranks of numbers with NaN among them are NaN") {
  const Array x = array({{3.F, 1.F, 2.F}, {0.F, NAN, 1.F}});
  for (const char* method : {"average", "min", "max", "dense", "ordinal"}) {
    const Array r = stats::rankdata(x, method, 1);
    CHECK(r(0).to_vector<float>() == std::vector<float>{3, 1, 2});
    CHECK(all(isnan(r(1))).item<bool>());
    CHECK(all(isnan(stats::rankdata(x, method))).item<bool>());
  }
}

TEST_CASE("a function of several arrays computes in the dtype that they have together") {
  const Array whole = array({{2, 0}, {1, 3}}), half = convert(array({{1.F, 0.5F}, {0.F, 2.F}}), float16);
  const Array v = whole(0), h = half(1);
  CHECK(convolve2d(whole, half).dtype() == float16);
  CHECK(convolve2d(half, whole > 0).dtype() == float16);
  CHECK(fftconvolve(v, convert(h, float32)).dtype() == float32);
  CHECK(stats::chi2::logpdf(h, v + 1).dtype() == float16);
  CHECK(stats::chi2::cdf(v, h).dtype() == float16);
  CHECK(stats::dirichlet::logpdf(convert(array({.25F, .75F}), float16), v + 1).dtype() == float16);
  CHECK(stats::multivariate_normal::logpdf(half, v, 2).dtype() == float16);
  CHECK(linalg::tridiagonal_solve(v, h + 3, v, whole).dtype() == float16);
  CHECK(linalg::lu(convert(whole, complex64)).p.dtype() == float32);
  CHECK(linalg::solve_sylvester(convert(half, bfloat16) + 3, convert(half, bfloat16), convert(half, bfloat16)).dtype() == bfloat16);
}

TEST_CASE("a negative number beside unsigned integers is itself in a distribution's arguments") {
  const Array x = array({0, 1, 200}, uint8), y = convert(x, float32);
  CHECK(tree::all_close(stats::cauchy::logpdf(x, -3, 2), stats::cauchy::logpdf(y, -3, 2)));
  CHECK(tree::all_close(stats::uniform::cdf(x, -3, array({5, 5, 5}, uint8)), stats::uniform::cdf(y, -3, 5.F)));
  CHECK(tree::all_close(stats::truncnorm::cdf(x, -1, 1), stats::truncnorm::cdf(y, -1, 1)));
}

TEST_CASE("an element of a continued fraction doesn't depend on its neighbours, and ends") {
  // Some of many complex fractions never change by less than a rounding.
  const Array x = linspace(-8, 8, 20'001);
  const auto single = [&](std::int64_t i) { return fresnel(x(slice(i, i + 1))); };
  const FresnelIntegrals all = fresnel(x);
  for (const std::int64_t i : {3, 4'000, 7'999, 8'001, 12'003, 12'500, 16'001, 20'000}) {
    CHECK(all.s(i).item<float>() == single(i).s(0).item<float>());
    CHECK(all.c(i).item<float>() == single(i).c(0).item<float>());
  }
}
