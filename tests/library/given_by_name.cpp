// Arguments that are given by name, as in JAX's programs: each call beside the same one with its arguments in order.
#include <doctest/doctest.h>
#include <weft/optim.h>
#include <weft/weft.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/messages.h"

using namespace weft;
using test::has, test::message_of;

namespace {

bool same(const Array& a, const Array& b) { return a.dtype() == b.dtype() && array_equal(a, b).item<bool>(); }
const Array x = array({{0.5f, -1.f, 2.f}, {3.f, 0.25f, 1.f}}), w = array({{1.f, 2.f, 3.f}, {0.5f, 1.f, 4.f}});

struct Params {
  Array w, b;
};
Params after(const optim::GradientTransformation& optimizer) {
  Params p{array({{0.5f, -1.f}, {2.f, 0.25f}}), array({1.f, -2.f})};
  optim::OptState state = optimizer.init(p);
  for (int i = 0; i < 3; ++i) {
    const Params g = grad([](const Params& q) { return sum(sin(q.w)) + sum(square(q.b)); })(p);
    const auto [updates, next] = optimizer.update(g, state, p);
    p = optim::apply_updates(p, updates), state = next;
  }
  return p;
}
bool equal_steps(const optim::GradientTransformation& a, const optim::GradientTransformation& b) {
  const Params p = after(a), q = after(b);
  return same(p.w, q.w) && same(p.b, q.b);
}

}  // namespace

TEST_CASE("optimisers take the learning rate by name, and a schedule in its place") {
  CHECK(equal_steps(optim::sgd({.learning_rate = 0.1, .momentum = 0.9}), optim::sgd(0.1, {.momentum = 0.9})));
  CHECK(equal_steps(optim::adam({.learning_rate = 1e-2}), optim::adam(1e-2)));
  CHECK(equal_steps(optim::adam({.learning_rate = 1e-2, .b1 = 0.8, .eps = 1e-6}), optim::adam(1e-2, {.b1 = 0.8, .eps = 1e-6})));
  CHECK(equal_steps(optim::nadam({.learning_rate = 1e-2}), optim::nadam(1e-2)));
  CHECK(equal_steps(optim::amsgrad({.learning_rate = 1e-2}), optim::amsgrad(1e-2)));
  CHECK(equal_steps(optim::adamax({.learning_rate = 1e-2}), optim::adamax(1e-2)));
  CHECK(equal_steps(optim::radam({.learning_rate = 1e-2}), optim::radam(1e-2)));
  CHECK(equal_steps(optim::adabelief({.learning_rate = 1e-2}), optim::adabelief(1e-2)));
  CHECK(equal_steps(optim::yogi({.learning_rate = 1e-2}), optim::yogi(1e-2)));
  CHECK(equal_steps(optim::adamw({.learning_rate = 1e-2, .weight_decay = 0.1}), optim::adamw(1e-2, {.weight_decay = 0.1})));
  CHECK(equal_steps(optim::nadamw({.learning_rate = 1e-2}), optim::nadamw(1e-2)));
  CHECK(equal_steps(optim::lamb({.learning_rate = 1e-2}), optim::lamb(1e-2)));
  CHECK(equal_steps(optim::lion({.learning_rate = 1e-2}), optim::lion(1e-2)));
  CHECK(equal_steps(optim::lars({.learning_rate = 1e-2}), optim::lars(1e-2)));
  CHECK(equal_steps(optim::novograd({.learning_rate = 1e-2}), optim::novograd(1e-2)));
  CHECK(equal_steps(optim::adagrad({.learning_rate = 1e-2}), optim::adagrad(1e-2)));
  CHECK(equal_steps(optim::adadelta({.learning_rate = 0.5, .rho = 0.95}), optim::adadelta(0.5, {.rho = 0.95})));
  CHECK(equal_steps(optim::adadelta({.rho = 0.95}), optim::adadelta(1, {.rho = 0.95})));
  CHECK(equal_steps(optim::rmsprop({.learning_rate = 1e-2, .decay = 0.8}), optim::rmsprop(1e-2, {.decay = 0.8})));
  CHECK(equal_steps(optim::adafactor({.learning_rate = 1e-2}), optim::adafactor(1e-2)));
  const auto halved = [](const Array& count) { return Array(0.1 / (count + 1)); };
  CHECK(equal_steps(optim::adam({.learning_rate = halved}), optim::adam(halved)));
  CHECK(equal_steps(optax::adam({.learning_rate = optax::exponential_decay(0.1, 10, 0.5)}),
                    optax::adam(optax::exponential_decay(0.1, 10, 0.5))));
}

TEST_CASE("an optimiser's defaults stay its own where another option is named") {
  CHECK(equal_steps(optim::adabelief(1e-2, {.b1 = 0.9}), optim::adabelief(1e-2)));
  CHECK(equal_steps(optim::yogi(1e-2, {.b1 = 0.9}), optim::yogi(1e-2)));
  CHECK(equal_steps(optim::chain(optim::scale_by_belief({.b1 = 0.9}), optim::scale(-0.1)),
                    optim::chain(optim::scale_by_belief(), optim::scale(-0.1))));
  CHECK(equal_steps(optim::lamb(1e-2, {.b1 = 0.9}), optim::lamb(1e-2, {.eps = 1e-6, .weight_decay = 0})));
}

TEST_CASE("a learning rate that is missing, or one too many, is an error") {
  CHECK(has(message_of<Error>([] { optim::adam({.b1 = 0.8}); }), {"adam", "learning rate is missing", "{.learning_rate = 1e-3}"}));
  CHECK(has(message_of<Error>([] { optim::adamw(1e-3, {.learning_rate = 1e-2}); }), {"adamw", "one too many"}));
  CHECK(has(message_of<Error>([] { optim::adam(1e-3, {0.9, 0.99}); }), {"adam", "one too many", "by name"}));
  CHECK(has(message_of<Error>([] { optim::scale_by_adam({.learning_rate = 1e-2}); }), {"adam", "one too many"}));
  CHECK(has(message_of<Error>([] { optim::lamb({.learning_rate = 1e-2, .nesterov = true}); }), {"lamb", "nesterov"}));
}

TEST_CASE("distributions take loc and scale by name") {
  CHECK(same(stats::norm::logpdf(x, {.loc = 1.f, .scale = w}), stats::norm::logpdf(x, 1.f, w)));
  CHECK(same(stats::norm::cdf(x, {.scale = 2.f}), stats::norm::cdf(x, 0, 2.f)));
  CHECK(same(stats::norm::ppf(0.3f, {.loc = w}), stats::norm::ppf(0.3f, w)));
  CHECK(same(stats::gamma::logpdf(w, 2., {.scale = 0.5f}), stats::gamma::logpdf(w, 2., 0, 0.5f)));
  CHECK(same(stats::beta::pdf(0.3f, 2., 3., {.scale = 2.f}), stats::beta::pdf(0.3f, 2., 3., 0, 2.f)));
  CHECK(same(stats::expon::sf(w, {.scale = 2.f}), stats::expon::sf(w, 0, 2.f)));
  CHECK(same(stats::t::logpdf(x, 4., {.loc = 1.f, .scale = 3.f}), stats::t::logpdf(x, 4., 1.f, 3.f)));
  CHECK(same(grad([](Array m) { return stats::norm::logpdf(1.f, {.loc = m, .scale = 2.f}); })(0.f), 0.25f));
}

TEST_CASE("orders, axes and weights by name") {
  CHECK(same(median(x, {.axis = 0}), median(x, 0)));
  CHECK(same(quantile(x, 0.3, {.axis = 1, .keepdims = true}), quantile(x, 0.3, 1, {.keepdims = true})));
  CHECK(same(quantile(x, {0.3, 0.7}, {.axis = 1}), quantile(x, {0.3, 0.7}, 1)));
  CHECK(same(quantile(x, {.q = 0.3, .axis = 1}), quantile(x, 0.3, 1)));
  CHECK(same(percentile(x, {.q = array({30.f, 60.f})}), percentile(x, array({30.f, 60.f}))));
  CHECK(same(percentile(x, 30, {.axis = 0, .method = "lower"}), percentile(x, 30, 0, {.method = "lower"})));
  CHECK(same(percentile(x, {30, 60}, {.axis = {0, 1}}), percentile(x, {30, 60})));
  CHECK(same(nanquantile(x, 0.3, {.axis = 0}), nanquantile(x, 0.3, 0)));
  CHECK(same(nanpercentile(x, 30, {.axis = 0}), nanpercentile(x, 30, 0)));
  CHECK(same(average(x, {.axis = 0, .weights = w}), average(x, 0, {.weights = w})));
  CHECK(same(average(x, 0, w), average(x, 0, {.weights = w})));
  CHECK(same(jnp::std(x, {.axis = 0, .ddof = 1}), std_(x, 0, {.ddof = 1})));
  CHECK(same(linalg::norm(x, 1, {.axis = 1, .keepdims = true}), linalg::norm(x, 1, 1, true)));
  CHECK(same(linalg::norm(x, "nuc", {.axis = {0, 1}}), linalg::norm(x, "nuc")));
  CHECK(same(linalg::norm(x, none, {0, 1}), linalg::norm(x)));
  CHECK(same(diag(array({1.f, 2.f}), {.k = 1}), diag(array({1.f, 2.f}), 1)));
  CHECK(has(message_of<AxisError>([] { median(x, 0, {.axis = 1}); }), {"quantile", "give it once"}));
  CHECK(has(message_of<AxisError>([] { average(x, 0, {.axis = 1}); }), {"average", "give it once"}));
  CHECK(has(message_of<Error>([] { quantile(x, {.axis = 1}); }), {"quantile", "q is missing", "{.q = q}"}));
  CHECK(has(message_of<Error>([] { quantile(x, 0.5, {.q = 0.3}); }), {"quantile", "give it once"}));
  CHECK(has(message_of<Error>([] { median(x, {.q = 0.3}); }), {"median", "no order"}));
  CHECK(has(message_of<Error>([] { median(x, {.method = "lower"}); }), {"median", "no method", "quantile"}));
  CHECK(has(message_of<Error>([] { pad(x, {{1, 1}, {0, 0}}, {.mode = "edge", .constant_values = 7}); }), {"pad", "`constant`", "`edge`"}));
  CHECK(has(message_of<Error>([] { linalg::norm(x, 2, {.ord = 1}); }), {"norm", "give it once"}));
}

TEST_CASE("products, convolutions, classes and minima by name") {
  const Array a = random::normal(random::key(0), {2, 3, 4}), b = random::normal(random::key(1), {2, 4, 5});
  CHECK(same(lax::dot_general(a, b, {{{2}, {1}}, {{0}, {0}}}), matmul(a, b)));
  CHECK(same(lax::dot_general(a[0], b[0], {{{1}, {0}}, {{}, {}}}), matmul(a[0], b[0])));
  CHECK(same(lax::dot_general(a, b, {{{0, 2}, {0, 1}}, {{}, {}}}), tensordot(a, b, {{0, 2}, {0, 1}})));
  CHECK(has(message_of<Error>([&] { lax::dot_general(a, b, {{{2}, {1}}, {{0}}}); }), {"dot_general", "two pairs of lists"}));
  CHECK(same(tensordot(a[0], b[0], {.axes = 1}), matmul(a[0], b[0])));
  const Array image = random::normal(random::key(2), {1, 6, 6, 2}), kernel = random::normal(random::key(3), {3, 3, 2, 4});
  CHECK(same(lax::conv_general_dilated(image, kernel,
                                       {.window_strides = {1, 2}, .padding = "SAME", .dimension_numbers = {"NHWC", "HWIO", "NHWC"}}),
             conv_general_dilated(image, kernel, {1, 2}, "SAME", {.dimension_numbers = {"NHWC", "HWIO", "NHWC"}})));
  CHECK(same(
      lax::conv_general_dilated(
          image, kernel,
          {.window_strides = {1, 1}, .padding = {{1, 1}, {0, 2}}, .rhs_dilation = {2, 1}, .dimension_numbers = {"NHWC", "HWIO", "NHWC"}}),
      conv_general_dilated(image, kernel, {1, 1}, {{1, 1}, {0, 2}},
                           {.rhs_dilation = {2, 1}, .dimension_numbers = {"NHWC", "HWIO", "NHWC"}})));
  const Array labels = array({0, 2, 1});
  CHECK(same(nn::one_hot(labels, {.num_classes = 3}), nn::one_hot(labels, 3)));
  CHECK(same(nn::one_hot(labels, {.num_classes = 3, .dtype = int32, .axis = 0}), nn::one_hot(labels, 3, {.dtype = int32, .axis = 0})));
  CHECK(has(message_of<Error>([&] { nn::one_hot(labels, {.axis = 0}); }), {"one_hot", "num_classes is missing"}));
  CHECK(has(message_of<Error>([&] { nn::one_hot(labels, 3, {.num_classes = 4}); }), {"one_hot", "give it once"}));
  CHECK(same(lax::select(x > 0.5f, x, w), where(x > 0.5f, x, w)));
  CHECK(same(lax::select({x > 1, x > 0}, {x, w}, 0), select({x > 1, x > 0}, {x, w}, 0)));
  const auto bowl = [](const Array& v) { return sum(square(v - 3)); };
  const auto found = optimize::minimize(bowl, array({0.f, 1.f}), {.method = "BFGS", .tol = 1e-3});
  CHECK(allclose(found.x, array({3.f, 3.f}), 1e-3).item<bool>());
  CHECK(optimize::minimize(bowl, array({0.f, 1.f}), {.tol = 1e6}).nit.item<int>() == 0);
}

TEST_CASE("draws take shape and dtype by name; a shape in braces stays a shape") {
  const Array key = random::key(7);
  CHECK(same(random::normal(key, {.shape = {3}}), random::normal(key, {3})));
  CHECK(same(random::normal(key, {.shape = {2, 3}, .dtype = float64}), random::normal(key, {2, 3}, float64)));
  CHECK(same(random::normal(key, {.dtype = float64}), random::normal(key, {}, float64)));
  CHECK(random::normal(key, {}).shape() == Shape{});
  CHECK(same(random::bernoulli(key, .5, {.shape = {9}}), random::bernoulli(key, .5, {9})));
  CHECK(same(random::bernoulli(key, .5, {.shape = {9}, .dtype = float32}), random::bernoulli(key, .5, {9}).astype(float32)));
  CHECK(same(random::uniform(key, {.shape = {3}, .minval = -1, .maxval = 1}), random::uniform(key, {3}, -1, 1)));
  CHECK(same(random::uniform(key, {.minval = 5, .maxval = 6}), random::uniform(key, {}, 5, 6)));
  CHECK(same(random::uniform(key, {2}, {.minval = 5, .maxval = 6}), random::uniform(key, {2}, 5, 6)));
  CHECK(same(random::randint(key, {.shape = {4}, .minval = 2, .maxval = 9}), random::randint(key, {4}, 2, 9)));
  CHECK(same(random::choice(key, arange(9), {.shape = {4}, .replace = false}), random::choice(key, arange(9), {4}, {.replace = false})));
  CHECK(same(random::exponential(key, {.shape = {3}}), random::exponential(key, {3})));
  CHECK(same(random::gumbel(key, {.shape = {3}}), random::gumbel(key, {3})));
  CHECK(same(random::laplace(key, {.shape = {3}}), random::laplace(key, {3})));
  CHECK(same(random::logistic(key, {.shape = {3}}), random::logistic(key, {3})));
  CHECK(same(random::cauchy(key, {.shape = {3}}), random::cauchy(key, {3})));
  CHECK(same(random::maxwell(key, {.shape = {3}}), random::maxwell(key, {3})));
  CHECK(same(random::rademacher(key, {.shape = {3}}), random::rademacher(key, {3})));
  CHECK(same(random::chisquare(key, 3., {.shape = {3}}), random::chisquare(key, 3., {3})));
  CHECK(same(random::pareto(key, 3., {.shape = {3}}), random::pareto(key, 3., {3})));
  CHECK(same(random::rayleigh(key, 3., {.shape = {3}}), random::rayleigh(key, 3., {3})));
  CHECK(same(random::geometric(key, 0.3, {.shape = {3}}), random::geometric(key, 0.3, {3})));
  CHECK(same(random::gamma(key, 2., {.shape = {3}, .dtype = float64}), random::gamma(key, 2., {3}, float64)));
  const Array mean = array({1.f, 2.f}), covariance = array({{2.f, 0.5f}, {0.5f, 1.f}});
  CHECK(same(random::multivariate_normal(key, mean, covariance, {.shape = {3}, .method = "svd"}),
             random::multivariate_normal(key, mean, covariance, {3}, float32, {.method = "svd"})));
  CHECK(has(message_of<Error>([&] { random::uniform(key, {3}, {.shape = {4}}); }), {"uniform", "give it once"}));
  CHECK(has(message_of<Error>([&] { random::randint(key, {3}, {.shape = {4}, .maxval = 5}); }), {"randint", "give it once"}));
  CHECK(has(message_of<Error>([&] { random::choice(key, arange(9), {3}, {.shape = {4}}); }), {"choice", "give it once"}));
}

TEST_CASE("given by name: probabilities, limits, parameters of activations, points and numbers of keys") {
  const Array key = random::key(3), line = linspace(-2, 2, 9), rows = reshape(sin(arange(12.f)), {3, 4});
  CHECK(same(random::bernoulli(key, {.p = .3, .shape = {9}}), random::bernoulli(key, .3, {9})));
  CHECK(same(random::bernoulli(key, {.shape = {9}}), random::bernoulli(key, .5, {9})));
  CHECK(same(random::truncated_normal(key, {.lower = -1, .upper = 2, .shape = {3}}), random::truncated_normal(key, -1, 2, {3})));
  CHECK(same(random::permutation(key, rows, {.axis = 1, .independent = true}), random::permutation(key, rows, 1, true)));
  CHECK(same(random::split(key, {.num = 3}), random::split(key, 3)));
  CHECK(same(nn::leaky_relu(line, {.negative_slope = .3}), nn::leaky_relu(line, .3)));
  CHECK(same(nn::elu(line, {.alpha = 2}), nn::elu(line, 2.)));
  CHECK(same(nn::celu(line, {.alpha = 2}), nn::celu(line, 2.)));
  CHECK(same(nn::glu(rows, {.axis = 1}), nn::glu(rows, 1)));
  CHECK(same(optim::huber_loss(line, 0., {.delta = .5}), optim::huber_loss(line, 0., .5)));
  CHECK(same(linspace(0, 1, {.num = 5, .endpoint = false}), linspace(0, 1, 5, false)));
  CHECK(same(linspace(0, 1, {.dtype = float64}), linspace(0, 1, 50, float64)));
  CHECK(same(trapezoid(rows, {.dx = .5}), trapezoid(rows, .5)));
  CHECK(same(trapezoid(rows, {.x = arange(3.f), .axis = 0}), trapezoid(rows, arange(3.f), 0)));
  CHECK(same(trapezoid(rows, arange(3.f), {.axis = 0}), trapezoid(rows, arange(3.f), 0)));
  const auto area = [&](Array dx) { return trapezoid(line * line, {.dx = dx}); };
  CHECK(same(grad(area)(.5f), trapezoid(line * line, 1.)));
  CHECK(same(gradient(rows, {.axis = 1}), gradient(rows, 1., 1)));
  CHECK(same(slice_in_dim(rows, 1, 3, {.axis = 1}), slice_in_dim(rows, 1, 3, 1, 1)));
  CHECK(same(dynamic_slice_in_dim(rows, 1, 2, {.axis = 1}), dynamic_slice_in_dim(rows, 1, 2, 1)));
}

TEST_CASE("the dtype of a product's sums is given by name") {
  const Array a = array({{100, 100, 27}, {-128, 1, 2}}, int8), b = array({{100, 3}, {100, -4}, {1, 5}}, int8),
              v = array({100, 100, 100}, int8);
  const DotOptions wide{.preferred_element_type = int32};
  const Array want = matmul(a.astype(int32), b.astype(int32));
  CHECK(same(dot(a, b, {.preferred_element_type = int32}), want));
  CHECK(same(matmul(a, b, {.preferred_element_type = int32}), want));
  CHECK(same(jit([=](Array x) { return matmul(x, b, wide); })(a), want));
  CHECK(same(vmap([=](Array x) { return dot(x, b, wide); })(a), want));
  CHECK(same(dot(a, v, wide), array({22700, -12500})));
  CHECK(same(dot(v, v, wide), array(30000, int32)));
  CHECK(same(dot(array(100, int8), v, wide), array({10000, 10000, 10000})));
  CHECK(same(matmul(stack({a, a}), b, wide), stack({want, want})));
  const Array half = full({2, 3}, 300.f, float16);
  CHECK(same(dot(half, half.T(), {.preferred_element_type = float32}), full({2, 2}, 270000.f)));
  CHECK(same(dot(a, b), matmul(a, b)));
  CHECK(same(vmap(dot)(a, stack({v, v})), dot(a, v)));  // by its name, as a function of two arrays
  CHECK(same(jit(matmul)(a, b), matmul(a, b)));
}

TEST_CASE("windows and sequences of equal ratios in double precision") {
  const auto cosines = [](double a, double b, double c) {
    const Array t = 2 * constants::pi * linspace(0, 1, 7, float64);
    return a - b * cos(t) + c * cos(2 * t);
  };
  const auto near = [](const Array& x, const Array& y) { return x.dtype() == float64 && allclose(x, y, 1e-14, 1e-14).item<bool>(); };
  CHECK(near(hanning(7, float64), cosines(0.5, 0.5, 0)));
  CHECK(near(hamming(7, float64), cosines(0.54, 0.46, 0)));
  CHECK(near(blackman(7, float64), cosines(0.42, 0.5, 0.08)));
  CHECK(near(bartlett(5, float64), array({0., 0.5, 1., 0.5, 0.}, float64)));
  CHECK(near(kaiser(3, 8.6, float64), stack({1 / i0(array(8.6, float64)), array(1., float64), 1 / i0(array(8.6, float64))})));
  CHECK(near(kaiser(1, 8.6, float64), ones(1, float64)));
  CHECK(same(hanning(7), hanning(7, float64).astype(float32)));
  CHECK(hamming(3, bfloat16).dtype() == bfloat16);
  CHECK(near(geomspace(1e-4, 1e4, 3, float64), array({1e-4, 1., 1e4}, float64)));
  CHECK(near(logspace(-1, 1, 3, float64), array({0.1, 1., 10.}, float64)));
}

TEST_CASE("jvp of a function of one number takes the number and its tangent") {
  const auto cube = [](Array x) { return x * x * x; };
  const auto [y, dy] = jvp(cube, 2.f, 1);
  CHECK(y.item<float>() == 8);
  CHECK(dy.item<float>() == 12);
  CHECK(jvp(cube, array(2., float64), 0.5).second.item<double>() == 6);
  CHECK(jvp(sin, 0.f, 2.f).second.item<float>() == 2);
}

TEST_CASE("periods, weights, axes and equal NaN by name") {
  const Array degrees = array({0.f, 350.f, 10.f, 181.f, 5.f});
  CHECK(same(unwrap(degrees, {.period = 360}), array({0.f, -10.f, 10.f, 181.f, 5.f})));
  CHECK(same(unwrap(degrees, {.discont = 355, .period = 360}), degrees));
  const Array radians = array({{0.f, 6.f}, {3.f, 0.f}, {6.f, 1.f}});
  CHECK(same(unwrap(radians, {.axis = 0}), unwrap(radians, 0)));
  CHECK_THROWS_AS(unwrap(degrees, {.period = 0}), Error);
  const Array x = arange(4.f), y = array({1.f, 3.f, 2.f, 5.f}), w = array({1.f, 2.f, 0.f, 1.f});
  CHECK(allclose(polyfit(x, y, 1, {.w = w}), array({1.2413795f, 1.5517241f}), 1e-5).item<bool>());
  CHECK(allclose(polyfit(x, stack({y, 2 * y}, 1), 1, {.w = w})(slice(), 1), array({2.482759f, 3.1034482f}), 1e-5).item<bool>());
  CHECK_THROWS_AS(polyfit(x, y, 1, {.w = ones({3})}), ShapeError);
  const Array a = arange(6.f).reshape({2, 3});
  CHECK(same(vecdot(a, a + 1, 0), array({12.f, 22.f, 36.f})));
  const Array unknown = array({1.f, std::numeric_limits<float>::quiet_NaN()});
  CHECK(array_equal(unknown, unknown, {.equal_nan = true}).item<bool>());
  CHECK_FALSE(array_equal(unknown, unknown).item<bool>());
  CHECK_FALSE(array_equal(unknown, array({1.f, 2.f}), {.equal_nan = true}).item<bool>());
  CHECK(same(tensordot(ones({2}, int8), ones({2}, int8), {.axes = 1, .preferred_element_type = int32}), array(2)));
}

TEST_CASE("a std::vector<bool> is an array of bools") {
  const std::vector<bool> mask{true, false, true};
  CHECK(same(array(mask), array({true, false, true})));
  CHECK(array(std::vector<bool>{}).shape() == Shape{0});
  CHECK(same(array({true, false}), array(std::vector<bool>{true, false})));
}
