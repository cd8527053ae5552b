// Distributions made of others, against JAX 0.10.2's numbers for key(3).
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
  CHECK(has(message<Error>([&] { random::multivariate_normal(k, mean, cov, none, float32, {.method = "lu"}); }), {"lu", "cholesky"}));
  CHECK(has(message<ShapeError>([&] { random::multivariate_normal(k, mean, eye(3)); }), {"f32[2]", "f32[3,3]"}));
}

}  // namespace weft::test
