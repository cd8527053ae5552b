// Distributions made of others, against JAX 0.10.2's numbers for key(3).
#include <limits>

#include "checks.h"

namespace weft::test {

TEST_CASE("compound distributions draw JAX's numbers") {
  const Array k = random::key(3);
  CHECK(near(random::generalized_normal(k, 1.5, 3), {0.08286304, -0.99000067, 0.75378847}));
  const Array points = random::ball(k, 3, 2., 2);
  CHECK(points.shape() == Shape{2, 3});
  CHECK(near(points[0], {0.68552756, 0.59226161, 0.40163434}));
  CHECK(near(random::f(k, 3., array({4.f, 5.f})), {3.92318797, 0.85920024}));
  CHECK(near(random::wald(k, array({1.f, 2.f, 3.f})), {0.13291526, 0.26001024, 1.31165040}, 1e-5));
  CHECK(near(random::maxwell(k, 3), {2.14654708, 2.06709290, 1.51224458}));
  const Array two_sided = random::double_sided_maxwell(k, array({1.f, 2.f}), array({.5f, 2.f}), 2);
  CHECK(two_sided.shape() == Shape{2, 2});
  CHECK(near(ravel(two_sided), {2.48399591, -0.96955705, 2.66176724, -4.15485430}));
  CHECK(near(random::double_sided_maxwell(k, 1., 2., 3), {6.93598366, -1.96955705, 7.64706898}));
}

TEST_CASE("multivariate_normal and orthogonal") {
  const Array k = random::key(3), mean = array({1.f, 2.f}), cov = array({{2.f, .5f}, {.5f, 1.f}});
  CHECK(near(ravel(random::multivariate_normal(k, mean, cov, 2)), {-1.04531622, 2.92863011, 1.54094553, 3.97865915}));
  CHECK(near(ravel(random::multivariate_normal(k, ones({3, 2}), cov))(slice(0, 4)), {-1.04531622, 1.92863011, 1.54094553, 2.97865915}));
  for (const char* method : {"cholesky", "eigh", "svd"}) {
    const Array x = random::multivariate_normal(k, mean, cov, 20000, float64, {.method = method});
    const Array centred = x - weft::mean(x, 0);
    CHECK(near(ravel(matmul(transpose(centred), centred) / 20000.), {2, .5, .5, 1}, .05));
  }
  const Array q = random::orthogonal(k, 3);
  CHECK(near(q[0], {-0.52717948, 0.75919205, -0.38171905}, 1e-5));
  CHECK(near(ravel(matmul(q, transpose(q))), {1, 0, 0, 0, 1, 0, 0, 0, 1}));
  const Array wide = random::orthogonal(k, 2, 2, float32, 3);
  CHECK(wide.shape() == Shape{2, 2, 3});
  CHECK(near(wide(0, 0), {-0.89982092, 0.23798478, -0.36563033}, 1e-5));
  CHECK(has(message_of<Error>([&] { random::multivariate_normal(k, mean, cov, none, float32, {.method = "lu"}); }), {"lu", "cholesky"}));
  CHECK(has(message_of<ShapeError>([&] { random::multivariate_normal(k, mean, eye(3)); }), {"f32[2]", "f32[3,3]"}));
}

TEST_CASE("binomial and multinomial") {
  const Array k = random::key(3);
  CHECK(near(random::binomial(k, array({3.f, 8.f, 20.f, 100.f, 1000.f, 5e5f, 7.f}), array({.2f, .5f, .9f, .3f, .02f, .7f, 0.f})),
             {0, 5, 19, 27, 24, 350400, 0}));
  CHECK(near(random::binomial(k, 30, .4f, 12), {15, 11, 14, 11, 14, 9, 8, 12, 16, 7, 10, 14}));
  const Array several = random::binomial(k, array({3, 40}), array({{.2f}, {.8f}}), {3, 2, 2});
  CHECK(several.shape() == Shape{3, 2, 2});
  CHECK(near(ravel(several), {0, 6, 3, 30, 1, 10, 2, 34, 1, 8, 3, 31}));
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Array odd = random::binomial(k, array({nan, -1.f, infinity, 4.f, 4.f, 4.f, infinity}), array({.2f, .2f, .2f, nan, -.1f, 1.f, .9f}));
  CHECK(near(where(isnan(odd), -1, where(isinf(odd), -2, odd)), {-1, -1, -2, -1, -1, 4, -2}));
  CHECK(near(random::binomial(k, array({3., 40., 1e6}, float64), array({.2, .7, .5}, float64), none, float64), {0, 29, 500343}));
  CHECK(near(random::multinomial(k, 100.f, array({.2f, .3f, .5f})), {19, 28, 53}));
  CHECK(near(ravel(random::multinomial(k, array({5.f, 1000.f}), array({{.25f, .25f, .5f, 0.f}, {.1f, .2f, .3f, .4f}}))),
             {1, 0, 4, 0, 100, 198, 292, 410}));
  CHECK(near(ravel(random::multinomial(k, 50.f, array({.2f, .3f, .5f}), {2, 3})), {10, 14, 26, 12, 17, 21}));
  // Under transforms, and by their moments.
  const Array ks = random::split(k, 4);
  auto draw = [](Array q) { return random::binomial(q, 12.f, .3f, 3); };
  CHECK(near(ravel(jit(vmap(draw))(ks)), ravel(stack({draw(ks(0)), draw(ks(1)), draw(ks(2)), draw(ks(3))})).to_vector<double>()));
  const Array many = jit([](Array q) { return random::binomial(q, 40.f, .3f, 20000); })(k);
  CHECK(mean(many).item<double>() == doctest::Approx(12).epsilon(.01));
  CHECK(var(many).item<double>() == doctest::Approx(8.4).epsilon(.05));
  CHECK(has(message_of<DTypeError>([&] { random::binomial(k, 3, .5f, 2, int32); }), {"binomial", "int32"}));
  CHECK(has(message_of<ShapeError>([&] { random::binomial(k, ones(3), .5f, 2); }), {"binomial", "f32[3]", "(2,)"}));
  CHECK(has(message_of<ShapeError>([&] { random::multinomial(k, 3.f, .5f); }), {"multinomial", "last axis"}));
}

}  // namespace weft::test
