// Names of functions beside those of the C library, and what of weft's names reaches a program that says `using namespace weft`.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdlib>

using namespace weft;

// Names that programs have of their own.
struct P {
  int x = 1;
};
struct E {};
const double pi = 3, inf = 1;

namespace {

struct Layer {
  Array w, b;
};
bool close(const Array& a, const Array& b) { return tree::all_close(a, b); }

}  // namespace

TEST_CASE("a program's own one-letter names and constants stay its own") {
  CHECK(P{}.x + pi + inf == 5);
  CHECK(PartitionSpec("x", none) == sharding::P("x", none));
  CHECK(PartitionSpec{{"x", "y"}} == sharding::P({"x", "y"}));
  CHECK(PartitionSpec{{"x", "y"}}.dims().size() == 1);
  CHECK(PartitionSpec("x", "y").dims().size() == 2);
  CHECK(PartitionSpec() == sharding::P());
}

TEST_CASE("constants") {
  CHECK(constants::pi == std::acos(-1.0));
  CHECK(constants::e == std::exp(1.0));
  CHECK(isinf(Array(constants::inf)).item<bool>());
  CHECK(isnan(Array(constants::nan)).item<bool>());
  CHECK(-constants::inf < 0);
  CHECK((ones({}, float64) * constants::pi).item<double>() == constants::pi);
  CHECK((ones({}, float32) * constants::pi).dtype() == float32);
  CHECK(std::abs(constants::euler_gamma + digamma(ones({}, float64)).item<double>()) < 1e-12);
}

TEST_CASE("functions are passed by their names, which are also those of the C library") {
  const Array x = linspace(0.1, 0.9, 5);
  CHECK(close(vmap(sin)(x), weft::sin(x)));
  CHECK(close(jit(sqrt)(x), weft::sqrt(x)));
  CHECK(close(vmap(pow)(x, x), weft::pow(x, x)));
  CHECK(close(jit(atan2)(x, x), weft::atan2(x, x)));
  CHECK(close(jit(pow, {.name = "power"})(x, x), weft::pow(x, x)));
  CHECK(close(jit(exp, {.name = "exponential"})(x), weft::exp(x)));
  CHECK(close(grad(tanh)(0.5f), 1 - square(weft::tanh(Array(0.5f)))));
  CHECK(value_and_grad(cos)(0.f).first.item<float>() == 1);
  CHECK(close(jacfwd(exp)(x), diag(weft::exp(x))));
  CHECK(close(jacrev(log)(x), diag(1 / x)));
  CHECK(hessian(cosh)(0.f).item<float>() == 1);
  CHECK(close(checkpoint(erf)(x), weft::erf(x)));
  CHECK(close(map(floor, x), weft::floor(x)));
  CHECK(close(associative_scan(multiply, x), cumprod(x)));
  CHECK(close(associative_scan(hypot, x), weft::sqrt(cumsum(x * x))));
  CHECK(make_jaxpr(abs)(x).eqns().size() == 1);
  CHECK(eval_shape(lgamma, x).shape() == x.shape());
  const auto [y, pull] = vjp(sin, x);
  CHECK(close(std::get<0>(pull(ones(5))), weft::cos(x)));
  const auto [power, pull_power] = vjp(pow, x, x);
  CHECK(close(std::get<0>(pull_power(ones(5))), x * weft::pow(x, x - 1)));
  const auto [z, push] = linearize(log, x);
  CHECK(close(push(ones(5)), 1 / x));
  const auto [value, tangent] = jvp(cbrt, std::tuple{8.f}, std::tuple{1.f});
  CHECK(close(tangent, 1 / 12.f));
  CHECK(close(pmap(ceil)(reshape(x[0], {1})), ones(1)));
}

TEST_CASE("functions with further parameters are passed by their names") {
  const Layer layer{full({2, 2}, 3.f), arange(2, float32)};
  const Layer none_left = tree::map(zeros_like, layer);
  CHECK(sum(none_left.w).item<float>() == 0);
  CHECK(none_left.b.shape() == Shape{2});
  CHECK(tree::map(sum, layer).w.item<float>() == 12);
  CHECK(close(tree::map(sqrt, layer).b, layer.b));
  CHECK(close(tree::map(add, layer, layer).w, full({2, 2}, 6.f)));
  CHECK(close(tree::map(pow, layer, layer).w, full({2, 2}, 27.f)));
  CHECK(close(tree::map(linalg::norm, layer).b, 1.f));
  const Array m = reshape(arange(6, float32), {2, 3});
  CHECK(close(vmap(max)(m), array({2.f, 5.f})));
  CHECK(close(grad(sum)(m), ones({2, 3})));
  CHECK(close(jit(nn::softmax)(m), nn::softmax(m, -1)));
  CHECK(close(jit(nn::relu)(m - 3), nn::relu(m - 3)));
  CHECK(close(vmap(cumsum)(m), cumsum(m, 1)));
  CHECK(vmap(argmax)(m).to_vector<int>() == std::vector<int>{2, 2});
  CHECK(close(jit(transpose)(m), transpose(m, {1, 0})));
  CHECK(close(abs(jit(fft::fft)(m)), abs(fft::fft(m, none, -1))));
  CHECK(close(vmap(random::uniform)(random::split(random::key(0), 2))[0], random::uniform(random::split(random::key(0), 2)[0])));
}

TEST_CASE("a function's own lines are named when it is passed by its name") {
  try {
    vmap(transpose)(ones({2}));
    jit(matmul)(ones({2, 3}), ones({2, 3}));
    CHECK(false);
  } catch (const ShapeError& error) {
    CHECK(std::string(error.what()).find("names.cpp:") != std::string::npos);
  }
}

TEST_CASE("options can be given without the parameters between") {
  const Array x = reshape(arange(6, float32), {2, 3});
  CHECK(sum(x, {.keepdims = true}).shape() == Shape{1, 1});
  CHECK(sum(x, keepdims).shape() == Shape{1, 1});
  CHECK(sum(x, {0}).shape() == Shape{3});
  CHECK(close(max(x, {.initial = 9.f}), 9.f));
  CHECK(close(var(x, {.ddof = 1}), 3.5f));  // never the variance along axis 1
  CHECK(close(std_(x, {.ddof = 1}), sqrt(Array(3.5f))));
  CHECK(close(linalg::norm(x, {.ord = 1}), 7.f));
  CHECK(argmax(x, {.keepdims = true}).shape() == Shape{1, 1});
  CHECK(close(cumsum(array({1, 2, 3}), {.reverse = true}), array({6, 5, 3})));
  CHECK(close(sort(array({1, 3, 2}), {.descending = true}), array({3, 2, 1})));
  CHECK(close(median(x, {.keepdims = true}), array({{2.5f}})));
  CHECK(close(quantile(x, 0.5, {.method = "lower"}), 2.f));
  CHECK(close(fft::rfft(ones(4), {.n = 2}), fft::rfft(ones(2))));
  CHECK(linalg::norm(x, {.keepdims = true}).shape() == Shape{1, 1});
  CHECK(linalg::norm(x, none, {0}).shape() == Shape{3});
  CHECK(linalg::norm(x, none, {0, 1}).shape() == Shape{});
  CHECK(median(x, {0}).shape() == Shape{3});
  CHECK(quantile(x, 0.5, {1}).shape() == Shape{2});
  CHECK(random::choice(random::key(0), 5, {3}).shape() == Shape{3});
  CHECK(random::choice(random::key(0), x, {.axis = 1}).shape() == Shape{2});
  CHECK(close(take(x, {7, 0}, {.mode = "clip"}), array({5.f, 0.f})));
  CHECK(close(take_along_axis(x, array({{7}, {0}}), {.mode = "clip"}), array({{2.f}, {3.f}})));
}

TEST_CASE("tolerances of allclose and isclose are options or numbers, in NumPy's order") {
  const Array x = ones(2), y = x + 1e-3f;
  CHECK(allclose(x, y, 1e-2).item<bool>());
  CHECK(!allclose(x, y, 1e-4).item<bool>());
  CHECK(allclose(x, y, 0, 1e-2).item<bool>());
  CHECK(allclose(x, y, {.atol = 1e-2}).item<bool>());
  CHECK(!allclose(x, y, {}).item<bool>());
  CHECK(close(isclose(x, y, 1e-2), array({true, true})));
}

TEST_CASE("a list of integers is an operand") {
  const Array x = reshape(arange(6), {3, 2});
  CHECK(close(take(x, {2, 0}, 0), array({{4, 5}, {0, 1}})));
  CHECK(close(dot(array({1, 2}), {3, 4}), 11));
  CHECK(close(concatenate({{1, 2}, {3, 4}}), array({1, 2, 3, 4})));
  CHECK(take(x, {std::int64_t{2}, std::size_t{0}}, 0).shape() == Shape{2, 2});
  CHECK_THROWS_AS(take(x, {std::int64_t{1} << 40, 0}, 0), DTypeError);
  CHECK(close(x.at(0).set({7, 8})[0], array({7, 8})));
}

TEST_CASE("assignments with an operator on masks and integers") {
  Array mask = arange(5) > 1;
  mask &= arange(5) < 4;
  CHECK(close(mask, array({false, false, true, true, false})));
  mask |= arange(5) == 0;
  mask ^= true;
  CHECK(close(mask, array({false, true, false, false, true})));
  Array i = arange(5);
  i %= 3;
  CHECK(close(i, array({0, 1, 2, 0, 1})));
}
