// Arguments by their names: what they give is what the same arguments give in order, and what contradicts itself is an error.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <vector>

#include "tests/messages.h"

using namespace weft;
using test::has, test::message_of;

namespace {

bool same(const Array& a, const Array& b) { return a.dtype() == b.dtype() && array_equal(a, b).item<bool>(); }

struct Params {
  Array w, b;
};

}  // namespace

TEST_CASE("named options: words by name are those in their places") {
  const Array x = array({1.f, 2.f, -1.f, 3.f}), v = array({0.5f, 1.f, 2.f}), m = reshape(arange(9, float32), {3, 3});
  for (const char* mode : {"full", "same", "valid"}) {
    CHECK(same(convolve(x, v, {.mode = mode}), convolve(x, v, mode)));
    CHECK(same(correlate(x, v, {.mode = mode}), correlate(x, v, mode)));
    CHECK(same(convolve2d(m, eye(2), {.mode = mode}), convolve2d(m, eye(2), mode)));
    CHECK(same(correlate2d(m, eye(2), {.mode = mode}), correlate2d(m, eye(2), mode)));
  }
  CHECK(same(convolve(x, v, {}), convolve(x, v, "full")));
  CHECK(same(correlate(x, v, ModeOption{}), correlate(x, v, "valid")));
  CHECK(same(image::resize(m, {5, 2}, {.method = "linear", .antialias = false}), image::resize(m, {5, 2}, "linear", {.antialias = false})));
  CHECK(has(message_of<Error>([&] { image::resize(m, {5, 2}, {.antialias = false}); }), "unknown method ``"));
  CHECK(has(message_of<Error>([&] { convolve(x, v, {.mode = "half"}); }), "unknown mode `half`"));
}

TEST_CASE("named options: draws are those of the arguments in order") {
  const Array key = random::key(3), p = array({0.2f, 0.7f});
  CHECK(same(random::normal(key, {3}, {.dtype = float64}), random::normal(key, {3}, float64)));
  CHECK(same(random::randint(key, {4}, {.minval = 2, .maxval = 9}), random::randint(key, {4}, 2, 9)));
  CHECK(same(random::randint(key, {4}, {.minval = 2, .maxval = 9, .dtype = int8}), random::randint(key, {4}, 2, 9, int8)));
  CHECK(same(random::bernoulli(key, 0.3, {.shape = {2, 3}}), random::bernoulli(key, 0.3, {2, 3})));
  CHECK(random::bernoulli(key, 0.3, {}).shape() == Shape{});  // not options without any, but a shape
  CHECK(same(random::categorical(key, log(p), {.shape = {5}}), random::categorical(key, log(p), -1, {5})));
  CHECK(same(random::categorical(key, ones({3, 4}), {.axis = 0}), random::categorical(key, ones({3, 4}), 0)));
  CHECK(random::gamma(key, 2, {}).shape() == Shape{});
  CHECK(same(random::gamma(key, p, {.dtype = float64}), random::gamma(key, p, none, float64)));
  CHECK(same(random::beta(key, 1.5, p, {.shape = {3, 2}}), random::beta(key, 1.5, p, {3, 2})));
  CHECK(same(random::truncated_normal(key, -1, p, {.dtype = float64}), random::truncated_normal(key, -1, p, none, float64)));
  CHECK(same(random::dirichlet(key, p, {.shape = {3}}), random::dirichlet(key, p, {3})));
  CHECK(same(random::t(key, 3, {.shape = {2}, .dtype = float64}), random::t(key, 3, {2}, float64)));
  CHECK(same(random::lognormal(key, 0.5, {.shape = {2}}), random::lognormal(key, 0.5, {2})));
  CHECK(same(random::poisson(key, 4, {.shape = {2}}), random::poisson(key, 4, {2})));
  CHECK(same(random::binomial(key, 5, p, {.dtype = float64}), random::binomial(key, 5, p, none, float64)));
}

TEST_CASE("named options: an axis is given once") {
  const Array x = ones({2, 3});
  CHECK(has(message_of<AxisError>([&] { sum(x, 0, {.axis = 1}); }), "sum: an axis is an argument and among the options"));
  CHECK(has(message_of<AxisError>([&] { nanmax(x, 0, {.axis = 1}); }), "an axis is an argument and among the options"));
  CHECK(has(message_of<AxisError>([&] { logsumexp(x, 0, {.axis = 1, .b = 2.f}); }), "logsumexp: an axis is an argument"));
  CHECK(has(message_of<AxisError>([&] { cumsum(x, 0, {.axis = 1}); }), "cumsum: an axis is an argument and another one"));
  CHECK(has(message_of<AxisError>([&] { sort(x, 0, {.axis = 1}); }), "sort: an axis is an argument and another one"));
  CHECK(has(message_of<AxisError>([&] { nn::softmax(x, 0, {.axis = 1}); }), "softmax: an axis is an argument and another one"));
  CHECK(has(message_of<AxisError>([&] { argmax(x, {.axis = 2}); }), "argmax: axis 2"));
  CHECK(same(argmin(x, {.axis = -1, .keepdims = true}), argmin(x, 1, keepdims)));
  CHECK(same(sum(x, 0, {.axis = none}), sum(x, 0)));
}

TEST_CASE("named options: what cannot be is refused") {
  const Array a = eye(2), x = ones({2, 3});
  CHECK(has(message_of<Error>([&] { linalg::solve(a, ones(2), {.assume_a = "symmetric"}); }), {"unknown assume_a", "gen, sym, her, pos"}));
  CHECK(has(message_of<ShapeError>([&] { cov(x, {.fweights = array({1, 2})}); }), {"cov", "3 samples", "i32[2]"}));
  CHECK(has(message_of<ShapeError>([&] { diff(x, {.prepend = ones({3, 3})}); }), "concatenate"));
  CHECK(has(message_of<DTypeError>([&] { logsumexp(astype(x, complex64), {.b = 2.f}); }), "complex"));
  const auto masked = optim::adamw(0.1, {.weight_decay = 0.1, .mask = Params{array({1, 0}), false}});
  CHECK(has(message_of<PytreeError>([&] { masked.init(Params{x, x}); }), {"leaf", "w", "one bool for the whole leaf"}));
  const auto of_others = optim::masked(optim::scale(2), std::vector<Array>{true});
  CHECK(has(message_of<PytreeError>([&] { of_others.init(Params{x, x}); }), {"no leaf", "as the parameters have"}));
}

TEST_CASE("named options: groups of dtypes") {
  CHECK((issubdtype(float16, DTypeGroup::floating) && issubdtype(float16, DTypeGroup::inexact) && issubdtype(float16, DTypeGroup::number)));
  CHECK((issubdtype(complex64, DTypeGroup::complexfloating) && !issubdtype(complex64, DTypeGroup::floating)));
  CHECK((issubdtype(uint8, DTypeGroup::unsignedinteger) && issubdtype(uint8, DTypeGroup::integer) &&
         !issubdtype(uint8, DTypeGroup::signedinteger)));
  CHECK((issubdtype(int8, DTypeGroup::signedinteger) && !issubdtype(bool_, DTypeGroup::number)));
  CHECK((iscomplexobj(zeros(1, complex64)) && !iscomplexobj(1)));
}

TEST_CASE("functions of one array in braces, loops of a number of steps, and trees that are all true") {
  CHECK(switch_(1, {[](Array x) { return x; }, [](Array x) { return 2 * x; }}, 5.f).item<float>() == 10);
  CHECK(vmap([](Array i) { return switch_(i, {[](Array x) { return x; }, [](Array x) { return x * x; }}, 3.f); })(array({0, 1, 7}))
            .to_vector<int>() == std::vector<int>{3, 9, 9});
  CHECK(grad([](Array x) { return switch_(1, {[](Array v) { return v; }, [](Array v) { return v * v; }}, x); })(3.f).item<float>() == 6);
  const auto [last, all] = scan([](Array c, None) { return std::pair{c + 1, c}; }, 0, none, 3);
  CHECK((last.item<int>() == 3 && all.to_vector<int>() == std::vector<int>{0, 1, 2}));
  const auto [y, dy] = jvp([](Array x) { return x * x; }, {3.f}, {2.f});
  CHECK((y.item<float>() == 9 && dy.item<float>() == 12));
  CHECK(jvp(sin, array({0.f}), array({2.f})).second.item<float>() == 2);
  CHECK(tree::all(Params{true, ones(3)}).item<bool>());
  CHECK_FALSE(tree::all(Params{true, array({1, 0})}).item<bool>());
}

TEST_CASE("jax.scipy's modules by their names") {
  const Array x = array({0.5f, 2.f});
  CHECK(same(jax::scipy::special::gammaln(x), lgamma(x)));
  CHECK(same(jax::scipy::stats::norm::logpdf(x), stats::norm::logpdf(x)));
  CHECK(same(jax::scipy::linalg::expm(diag(x)), linalg::expm(diag(x))));
  CHECK(same(jax::scipy::signal::convolve(x, x), convolve(x, x)));
}
