// Functions of jax.numpy that are made of others; the numbers wanted are JAX's.
#include <doctest/doctest.h>
#include <weft/testing.h>
#include <weft/weft.h>

#include <cmath>
#include <limits>
#include <numbers>

using namespace weft;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

/// Throws where values, shapes or dtypes differ.
void same(const Array& got, const Array& want) {
  CHECK(got.dtype() == want.dtype());
  CHECK_NOTHROW(check_close(got, want));
}

Array matrix() { return array({{3.f, 1.f, 2.f}, {9.f, 5.f, 4.f}}); }

}  // namespace

TEST_CASE("numpy: diagonals") {
  const Array x = matrix();
  same(eye(2, float64), array({{1, 0}, {0, 1}}, float64));
  same(identity(2, int32), array({{1, 0}, {0, 1}}));
  same(diag(array({1, 2}), -1), array({{0, 0, 0}, {1, 0, 0}, {0, 2, 0}}));
  same(diag(array({1.f, 2.f}), 1), array({{0.f, 1.f, 0.f}, {0.f, 0.f, 2.f}, {0.f, 0.f, 0.f}}));
  same(diag(x, 1), array({1.f, 4.f}));
  same(diag(x, -1), array({9.f}));
  same(diag(x, 5), zeros(0));
  same(diagonal(reshape(arange(24), {2, 3, 4}), 1, 1, 2), array({{1, 6, 11}, {13, 18, 23}}));
  same(trace(reshape(arange(9), {3, 3}), 1), array(6));
  same(trace(ones({2, 2, 3})), array({2.f, 2.f, 2.f}));
  CHECK_THROWS_AS(diag(ones({2, 2, 2})), ShapeError);
  CHECK_THROWS_AS(diagonal(ones(2)), ShapeError);
  CHECK_THROWS_AS(diagonal(ones({2, 2}), 0, 1, 1), ShapeError);
  CHECK_THROWS_AS(trace(ones({2, 2}), 0, 0, 2), AxisError);
}

TEST_CASE("numpy: products and grids") {
  const Array x = matrix();
  same(cross(array({{1.f, 2.f, 3.f}, {0.f, 1.f, 0.f}}), array({4.f, 5.f, 6.f})), array({{-3.f, 6.f, -3.f}, {6.f, 0.f, -4.f}}));
  same(cross(reshape(array({1.f, 0.f, 0.f}), {3, 1}), reshape(array({0.f, 1.f, 0.f}), {3, 1}), 0), reshape(array({0.f, 0.f, 1.f}), {3, 1}));
  same(kron(array({1, 2}), array({{1, 1}, {0, 1}})), array({{1, 1, 2, 2}, {0, 1, 0, 2}}));
  same(inner(x, x), array({{14.f, 40.f}, {40.f, 122.f}}));
  same(inner(2.f, x), 2.f * x);
  const auto xy = meshgrid({array({1, 2, 3}), array({4, 5})});
  same(xy[0], array({{1, 2, 3}, {1, 2, 3}}));
  same(xy[1], array({{4, 4, 4}, {5, 5, 5}}));
  const auto ij = meshgrid({array({1, 2, 3}), array({4, 5}), array(6)}, {.indexing = "ij"});
  CHECK(ij[2].shape() == Shape{3, 2, 1});
  same(ij[0](slice(), 1, 0), array({1, 2, 3}));
  same(vstack({array({1, 2}), array({{3, 4}})}), array({{1, 2}, {3, 4}}));
  same(hstack({array({1, 2}), array(3)}), array({1, 2, 3}));
  same(hstack({array({{1}, {2}}), array({{3}, {4}})}), array({{1, 3}, {2, 4}}));
  CHECK_THROWS_AS(cross(ones(4), ones(4)), ShapeError);
  CHECK_THROWS_AS(inner(ones(2), ones(3)), ShapeError);
  CHECK_THROWS_AS(meshgrid({ones({2, 2})}), ShapeError);
  CHECK_THROWS_AS(meshgrid({ones(2)}, {.indexing = "yx"}), Error);
}

TEST_CASE("numpy: sampled functions") {
  const Array x = matrix();
  same(diff(array({1, 4, 9, 16}), 2), array({2, 2}));
  same(diff(x, 1, 0), array({{6.f, 4.f, 2.f}}));
  same(diff(array({true, false, false})), array({true, false}));
  same(diff(zeros(0)), zeros(0));
  same(trapezoid(array({1.f, 2.f, 4.f}), 0.5), array(2.25f));
  same(trapezoid(array({1.f, 2.f, 4.f}), array({0.f, 1.f, 3.f})), array(7.5f));
  same(trapezoid(transpose(x), array({0.f, 2.f, 3.f}), 0), trapezoid(x, array({0.f, 2.f, 3.f})));
  same(interp(array({-1.f, 0.5f, 1.5f, 9.f}), array({0.f, 1.f, 2.f}), array({0.f, 10.f, 0.f})), array({0.f, 5.f, 5.f, 0.f}));
  same(interp(array({{0, 1}}, float64), array({0., 4.}, float64), array({0., 1.}, float64)), array({{0., 0.25}}, float64));
  same(polyval(array({1, 2, 3}), array({2, 3})), array({11, 18}));
  same(polyval(array({1., 2.}, float64), 3.f), array(5., float64));
  CHECK_THROWS_AS(interp(1.f, ones(2), ones(3)), ShapeError);
  CHECK_THROWS_AS(trapezoid(ones(3), ones(4)), ShapeError);
  CHECK_THROWS_AS(polyval(x, 1.f), ShapeError);
}

TEST_CASE("numpy: statistics") {
  const Array x = matrix();
  const Array q = array({.1f, .5f, .8f});
  same(quantile(x, q, 1), array({{1.2f, 4.2f}, {2.f, 5.f}, {2.6f, 7.4f}}));
  same(quantile(x, q, 1, {.method = "lower"}), array({{1.f, 4.f}, {2.f, 5.f}, {2.f, 5.f}}));
  same(quantile(x, q, 1, {.method = "higher"}), array({{2.f, 5.f}, {2.f, 5.f}, {3.f, 9.f}}));
  same(quantile(x, q, 1, {.method = "midpoint"}), array({{1.5f, 4.5f}, {2.f, 5.f}, {2.5f, 7.f}}));
  same(quantile(x, q, 1, {.method = "nearest"}), array({{1.f, 4.f}, {2.f, 5.f}, {3.f, 9.f}}));
  CHECK(quantile(x, q, 1, {.keepdims = true}).shape() == Shape{3, 2, 1});
  CHECK(quantile(ones({2, 3, 4}), .5f, {0, 2}).shape() == Shape{3});
  same(percentile(x, 30.f), array(2.5f));
  same(median(x), array(3.5f));
  same(median(x, 0), array({6.f, 3.f, 3.f}));
  same(median(array({1, 2})), array(1.5f));
  CHECK(std::isnan(median(array({1.f, kNaN})).item<float>()));
  same(nansum(array({1.f, kNaN, 2.f})), array(3.f));
  same(nanmean(array({{1.f, kNaN}, {3.f, 5.f}}), 0), array({2.f, 5.f}));
  same(cov(x), array({{1.f, 2.f}, {2.f, 7.f}}));
  same(cov(x, {.rowvar = false}), array({{18.f, 12.f, 6.f}, {12.f, 8.f, 4.f}, {6.f, 4.f, 2.f}}));
  same(cov(x[0]), array(1.f));
  same(corrcoef(x), array({{1.f, 0.75592893f}, {0.75592893f, 1.f}}));
  const Array v = array({3.5f, 1.25f, 7.f, 2.f, 9.5f, 4.f, 4.f, 1.f});
  CHECK(max(abs(corrcoef(v, -v))).item<float>() == 1);  // rounding doesn't lead beyond
  CHECK_THROWS_AS(quantile(zeros(0), .5f), ShapeError);
  CHECK_THROWS_AS(quantile(x, .5f, none, {.method = "best"}), Error);
  CHECK_THROWS_AS(quantile(x, .5f, 2), AxisError);
}

TEST_CASE("numpy: comparison and elements") {
  const Array a = array({1.f, kNaN, kInf, 1.f}), b = array({1.000001f, kNaN, kInf, 2.f});
  same(isclose(a, b), array({true, false, true, false}));
  same(isclose(a, b, {.equal_nan = true}), array({true, true, true, false}));
  same(isclose(kInf, -kInf), array(false));
  same(allclose(array({1, 2}), array({1, 2})), array(true));
  same(array_equal(ones(2), ones(3)), array(false));
  same(array_equal(ones(2), ones(2)), array(true));
  same(angle(complex(array({0.f, -1.f}), array({1.f, 0.f}))), array({1.5707964f, 3.1415927f}));
  same(angle(array({-1.f, 2.f})), array({3.1415927f, 0.f}));
  same(deg2rad(180.f), array(3.1415927f));
  same(rad2deg(array(std::numbers::pi, float64)), array(180., float64));
  same(nan_to_num(array({kNaN, kInf, -kInf, 1.f})), array({0.f, 3.4028235e38f, -3.4028235e38f, 1.f}));
  same(nan_to_num(array({kNaN, kInf}), {.nan = 7, .posinf = 8.}), array({7.f, 8.f}));
  CHECK(isfinite(nan_to_num(array({kInf}, bfloat16))).at(0).get().item<bool>());
  same(nan_to_num(array({1, 2})), array({1, 2}));
}

TEST_CASE("numpy: what is made of others is differentiated, batched and compiled") {
  const Array v = array({0.3, -1.2, 2.}, float64), m = array({{0.3, 1.7, -0.4}, {1.1, -0.6, 0.9}, {2., 0.1, 0.5}}, float64);
  check_laws([](Array a) { return diag(a, 1) + diag(a, -1); }, v);
  check_laws([](Array a) { return diagonal(a) * trace(a, 1); }, m);
  check_laws([](Array a, Array b) { return cross(a, b); }, v, m(0));
  check_laws([](Array a, Array b) { return kron(a, b); }, v, m);
  check_laws([](Array a) { return diff(a, 2, 0) * trapezoid(a, 0.1); }, m);
  check_laws([](Array a, Array f) { return interp(a, array({-3., 0., 1., 3.}, float64), f); }, v, array({1., 4., 2., -1.}, float64));
  check_laws([](Array p, Array a) { return polyval(p, a); }, v, m);
  check_laws([](Array a) { return quantile(a, array({.2, .7}, float64), 0) + median(a); }, m);
  check_laws([](Array a) { return cov(a); }, m);
}

TEST_CASE("numpy: frequencies in float64, trees by the seven") {
  same(fft::fftfreq(5, 0.1), array({0.f, 2.f, 4.f, -4.f, -2.f}));
  const Array k = fft::fftfreq(3, 1., float64);
  CHECK(k(1).item<double>() == 1. / 3);
  CHECK(fft::rfftfreq(3, 1., float64)(1).item<double>() == 1. / 3);
  CHECK_THROWS_AS(fft::fftfreq(3, 1., int32), DTypeError);
  struct Two {
    Array a, b;
  };
  const Two t{1.f, 2.f};
  CHECK(tree::map([](Array p, Array q, Array r, Array s, Array u) { return p + q + r + s + u; }, t, t, t, t, t).b.item<float>() == 10);
  const Two seven = tree::map([](Array p, Array q, Array r, Array s, Array u, Array v, Array w) { return p + q + r + s + u + v - w; }, t, t,
                              t, t, t, t, t);
  CHECK(seven.a.item<float>() == 5);
}
