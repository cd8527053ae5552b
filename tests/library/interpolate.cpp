// RegularGridInterpolator against interpolation written out, its derivatives, and what it refuses.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>

#include "tests/messages.h"

using namespace weft;
using test::has, test::message_of;

namespace {

const Array kX = array({0., 1., 3.}, float64), kY = array({-1., 0., .5, 2.}, float64);

/// Of a function that is linear in each coordinate, linear interpolation is exact.
Array bilinear(const Array& x, const Array& y) { return 2 + 3 * x - y + .5 * x * y; }
RegularGridInterpolator interpolator(RegularGridOptions options = {}) {
  return {{kX, kY}, bilinear(kX(slice(), newaxis), kY(newaxis, slice())), std::move(options)};
}
bool near(const Array& a, const Array& b) { return a.shape() == b.shape() && allclose(a, b, {.rtol = 1e-12, .atol = 1e-12}); }

}  // namespace

TEST_CASE("RegularGridInterpolator: linear, inside, on lines and outside") {
  const Array at = random::uniform(random::key(1), {7, 5, 2}, float64) * array({3., 3.}, float64) + array({0., -1.}, float64);
  const Array want = bilinear(at(ellipsis, 0), at(ellipsis, 1));
  const RegularGridInterpolator f = interpolator();
  CHECK(near(f(at), want));
  CHECK(near(jit([&](Array x) { return f(x); })(at), want));
  CHECK(near(jit(vmap([&](Array x) { return f(x); }))(at), want));
  // The lines themselves belong to the grid; a place beyond them doesn't.
  CHECK(f(array({3., 2.}, float64)).item<double>() == bilinear(array(3., float64), array(2., float64)).item<double>());
  CHECK(std::isnan(f(array({3.01, 0.}, float64)).item<double>()));
  CHECK(std::isnan(f(array({1., -1.01}, float64)).item<double>()));
  CHECK(interpolator({.fill_value = -7})(array({4., 0.}, float64)).item<double>() == -7);
  // Without a value for outside the outermost cells go on.
  const Array beyond = array({{-1., 0.}, {5., 3.}, {1., -4.}}, float64);
  CHECK(near(interpolator({.fill_value = none})(beyond), bilinear(beyond(slice(), 0), beyond(slice(), 1))));
  // Derivatives by the place.
  const Array place = array({.5, 1.}, float64);
  CHECK(near(grad([&](Array x) { return f(x); })(place), array({3 + .5 * 1, -1 + .5 * .5}, float64)));
}

TEST_CASE("RegularGridInterpolator: nearest, further dimensions, one dimension, derivatives by the values") {
  const RegularGridInterpolator nearest = interpolator({.method = "nearest"});
  CHECK(nearest(array({1.9, .3}, float64)).item<double>() == bilinear(array(1., float64), array(.5, float64)).item<double>());
  CHECK(nearest(array({2.1, .2}, float64)).item<double>() == bilinear(array(3., float64), array(0., float64)).item<double>());
  const Array values = random::normal(random::key(2), {3, 4, 2, 5}, float64);
  const RegularGridInterpolator fields({kX, kY}, values);
  const Array at = array({{2., 1.}, {.25, -.5}, {9., 9.}}, float64), got = fields(at);
  CHECK(got.shape() == Shape{3, 2, 5});
  // x = 2 is halfway from 1 to 3, y = 1 a third of the way from 0.5 to 2.
  const Array want = .5 * (values(1, 2) * (2. / 3) + values(1, 3) / 3.) + .5 * (values(2, 2) * (2. / 3) + values(2, 3) / 3.);
  CHECK(near(got(0), want));
  CHECK(all(isnan(got(2))).item<bool>());
  const RegularGridInterpolator line({kX}, array({1., 2., 10.}, float64));
  CHECK(near(line(array({{.5}, {2.}}, float64)), array({1.5, 6.}, float64)));
  const Array weights = grad([&](Array v) { return RegularGridInterpolator({kX}, v)(array({2.5}, float64)); })(zeros(3, float64));
  CHECK(near(weights, array({0., .25, .75}, float64)));
}

TEST_CASE("RegularGridInterpolator refuses what is no grid") {
  CHECK(has(message_of<ShapeError>([] { RegularGridInterpolator({kX, kX}, zeros({3, 4})); }),
            {"dimension 1", "f64[3]", "f32[3,4]", "vector of 4"}));
  CHECK(has(message_of<ShapeError>([] { RegularGridInterpolator({kX, kY}, zeros(3)); }), {"2 dimensions", "f32[3]"}));
  CHECK(has(message_of<ShapeError>([] { RegularGridInterpolator({zeros(1)}, zeros(1)); }), {"1 line in dimension 0", "it takes two"}));
  CHECK(has(message_of<Error>([] { RegularGridInterpolator({kX}, zeros(3), {.method = "cubic"}); }), {"cubic", "nearest"}));
  CHECK(has(message_of<ShapeError>([] { interpolator()(zeros(3, float64)); }), {"f64[3]", "2 coordinates"}));
}
