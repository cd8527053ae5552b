// Keys as arrays, samplers under transforms, parametric distributions, and mistakes.
#include <fmt/core.h>

#include "checks.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/random/random.h"

using namespace weft;
using namespace weft::test;
using weft::random::key;

namespace {

bool same_keys(const Array& a, const Array& b) { return close(random::key_data(a), random::key_data(b), 0); }

/// Each equation on keys against its expansion, on its own operands.
int check_expansions(const Jaxpr& j, std::span<const Array> args) {
  int checked = 0;
  detail::walk(j, args, [&](const Eqn& e, std::span<const Array> in) {
    const std::vector<Array> out = detail::bind_primitive(*e.op, e.params, in, {});
    if (e.op->kind != detail::Kind::random) return out;
    const Array expanded = detail::eval_jaxpr(detail::expand_random(e, detail::avals_of(in)), in)[0];
    CAPTURE(e.op->name);
    CHECK(expanded.aval() == out[0].aval());
    CHECK(
        (out[0].dtype().is_key() ? same_keys(expanded, out[0]) : expanded.to_vector<std::uint64_t>() == out[0].to_vector<std::uint64_t>()));
    ++checked;
    return out;
  });
  return checked;
}

double moment(const Array& x, int n) { return mean(pow(x, static_cast<double>(n))).item<double>(); }
struct Moments {
  double mean, variance;
};
Moments moments(const Array& x) {
  const Array wide = convert(x, float64);
  return {mean(wide).item<double>(), var(wide).item<double>()};
}
bool has_moments(const Array& x, double mean, double variance) {
  const Moments m = moments(x);
  const double n = static_cast<double>(x.size());
  const bool good = std::abs(m.mean - mean) < 5 * std::sqrt(variance / n) && std::abs(m.variance / variance - 1) < 25 / std::sqrt(n);
  if (!good) MESSAGE("mean ", m.mean, " wanted ", mean, ", variance ", m.variance, " wanted ", variance);
  return good;
}

}  // namespace

TEST_CASE("arrays of keys are moved like any other") {
  const Array k = key(4), ks = random::split(k, 6), grid = random::split(k, {2, 3});
  CHECK(ks.shape() == Shape{6});
  CHECK(same_keys(reshape(ks, {2, 3}), grid));
  CHECK(same_keys(grid[1][2], ks[5]));
  CHECK(same_keys(ks(slice(1, 4)), stack({ks[1], ks[2], ks[3]})));
  CHECK(same_keys(ks[array({5, 0})], stack({ks[5], ks[0]})));
  CHECK(same_keys(transpose(grid)[2], stack({ks[2], ks[5]})));
  CHECK(same_keys(concatenate({ks, ks}).at(0).set(ks[3])[0], ks[3]));
  CHECK(same_keys(where(array({true, false, true}), grid[0], grid[1]), stack({ks[0], ks[4], ks[2]})));
  CHECK(same_keys(dynamic_slice(ks, {array({2})[0]}, 2), stack({ks[2], ks[3]})));
  CHECK(same_keys(broadcast_to(k, {2}), stack({k, k})));
  CHECK((ks == ks).to_vector<bool>() == std::vector<bool>(6, true));
  CHECK_FALSE((ks[0] == ks[1]).item<bool>());
  CHECK(same_keys(random::wrap_key_data(random::key_data(grid)), grid));
  CHECK(fmt::format("{}", key(42)) == "Array((), dtype=key<fry>) overlaying:\n[ 0 42]");
}

TEST_CASE("keys pass through programs") {
  const Array k = key(8), ks = random::split(k, 4);
  const Array other = key(9);
  auto both = [&](const Array& a, const Array& flag) {
    return random::bits(cond(flag, [](Array x) { return random::split(x)[0]; }, [&](Array) { return other; }, a));
  };
  CHECK(jit(both)(k, array({true})[0]).item<std::uint32_t>() == random::bits(random::split(k)[0]).item<std::uint32_t>());
  CHECK(jit(both)(k, array({false})[0]).item<std::uint32_t>() == random::bits(other).item<std::uint32_t>());
  // A condition for each lane chooses between keys.
  CHECK(vmap(both)(ks, array({true, false, true, false})).to_vector<std::uint32_t>() ==
        stack({both(ks[0], true), both(ks[1], false), both(ks[2], true), both(ks[3], false)}).to_vector<std::uint32_t>());
  // A key that is closed over is a constant, not a part of the program.
  const Jaxpr j = make_jaxpr([&] { return random::bits(other, 2); })();
  CHECK(j.to_string() == "{ lambda a:key<fry>[]; . let\n    b:u32[2] = random_bits[bit_width=32 shape=(2,)] a\n  in (b,) }");
  CHECK(j()[0].to_vector<std::uint32_t>() == random::bits(other, 2).to_vector<std::uint32_t>());
  const Jaxpr all = make_jaxpr([](const Array& a, const Array& seed) {
    const Array c = key(seed);
    return std::tuple{random::wrap_key_data(random::key_data(a)), random::split(c, {2, 2}),
                      vmap([](Array x) { return random::fold_in(x, 3); })(a), vmap([](Array x) { return random::gamma(x, 2., {2}); })(a)};
  })(ks, 5);
  CHECK(parse(all.to_string()).to_string() == all.to_string());
  CHECK(all.to_string().find("random_fold_in a 3:u32[]") != std::string::npos);
}

TEST_CASE("expansions into integer operations give the same bits") {
  const Array ks = random::split(key(4), {2, 3});
  const Jaxpr j = make_jaxpr([](const Array& a, const Array& seeds, const Array& wide, const Array& data) {
    auto outer = [](auto f) { return vmap(vmap(f)); };
    const Array made = vmap([](Array s) { return key(s); })(seeds);
    std::vector<Array> out{made, key(wide), random::wrap_key_data(random::key_data(a))};
    out.push_back(outer([](Array k) { return random::split(k, {2, 2}); })(a));
    out.push_back(random::fold_in(made[0], 77));
    out.push_back(vmap([](Array k, Array x) { return random::fold_in(k, x); })(a[0], data));
    for (DType t : {uint8, uint16, uint32, uint64}) {
      out.push_back(outer([t](Array k) { return random::bits(k, {3, 2, 5}, t); })(a));
      out.push_back(random::bits(made[1], {}, t));
      out.push_back(random::bits(made[1], {7}, t));
    }
    return out;
  })(ks, array({3, -4}), array({std::int64_t{1} << 40}, int64)[0], array({1u, 2u, 3u}, uint32));
  const std::vector<Array> args{ks, array({3, -4}), array({std::int64_t{1} << 40}, int64)[0], array({1u, 2u, 3u}, uint32)};
  CHECK(check_expansions(j, args) >= 18);
}

TEST_CASE("one key by one, mapped, compiled: the same numbers") {
  const Array ks = random::split(key(12), 5);
  auto compare = [&](const char* name, auto draw) {
    CAPTURE(name);
    std::vector<Array> each;
    for (int i = 0; i < 5; ++i) each.push_back(draw(ks[i]));
    const Array want = stack(each);
    CHECK(close(vmap(draw)(ks), want, 1e-6));
    CHECK(close(jit(vmap(draw))(ks), want, 1e-6));
    CHECK(close(map(draw, ks), want, 1e-6));
  };
  compare("uniform", [](Array k) { return random::uniform(k, {2, 3}, float32, -1., 3.); });
  compare("normal", [](Array k) { return random::normal(k, 3, float64); });
  compare("randint", [](Array k) { return random::randint(k, 4, 3, 1000, int16); });
  compare("permutation", [](Array k) { return random::permutation(k, 6); });
  compare("choice", [](Array k) { return random::choice(k, 6, 4, {.replace = false, .p = arange(6) / 15.f}); });
  compare("categorical", [](Array k) { return random::categorical(k, array({1.f, 2.f, 0.f}), -1, 4); });
  compare("truncated_normal", [](Array k) { return random::truncated_normal(k, -1, array({.5f, 2.f})); });
  compare("gamma", [](Array k) { return random::gamma(k, array({.3f, 2.f, 50.f})); });
  compare("beta", [](Array k) { return random::beta(k, array({.3f, 2.f}), 1.5); });
  compare("poisson", [](Array k) { return random::poisson(k, array({.5f, 3.f, 40.f})); });
}

TEST_CASE("moments") {
  const Array k = key(2);
  const Shape n = 4000;
  const double euler = 0.5772156649015329, pi = 3.14159265358979;
  CHECK(has_moments(random::uniform(k, n, float32, -1., 3.), 1, 16. / 12));
  CHECK(has_moments(random::normal(k, n), 0, 1));
  CHECK(has_moments(random::exponential(k, n), 1, 1));
  CHECK(has_moments(random::gumbel(k, n), euler, pi * pi / 6));
  CHECK(has_moments(random::laplace(k, n), 0, 2));
  CHECK(has_moments(random::logistic(k, n), 0, pi * pi / 3));
  CHECK(has_moments(random::rademacher(k, n), 0, 1));
  CHECK(has_moments(random::bernoulli(k, .3f, n), .3, .21));
  CHECK(has_moments(random::randint(k, n, -4, 6), .5, 99. / 12));
  CHECK(has_moments(random::truncated_normal(k, -2, 2, n), 0, 0.7737413));
  for (double a : {.2, 1., 2.5, 30.}) {
    CHECK(has_moments(random::gamma(k, a, n), a, a));
    CHECK(close(exp(random::loggamma(k, a, n)), random::gamma(k, a, n), 1e-4));
    CHECK(has_moments(random::chisquare(k, 2 * a, n), 2 * a, 4 * a));
  }
  CHECK(has_moments(random::gamma(k, 2.5, n, float64), 2.5, 2.5));
  CHECK(has_moments(random::beta(k, 2, 3, n), .4, .04));
  CHECK(has_moments(random::t(k, 12., n), 0, 1.2));
  CHECK(has_moments(random::pareto(k, 8., n), 8. / 7, 8. / (49 * 6)));
  CHECK(has_moments(random::lognormal(k, .3, n), std::exp(.045), (std::exp(.09) - 1) * std::exp(.09)));
  CHECK(has_moments(random::weibull_min(k, 2., 1.5, n), 2 * std::tgamma(5. / 3),
                    4 * (std::tgamma(7. / 3) - std::pow(std::tgamma(5. / 3), 2))));
  CHECK(has_moments(random::rayleigh(k, 2., n), 2 * std::sqrt(pi / 2), (4 - pi) / 2 * 4));
  CHECK(has_moments(random::triangular(k, 0., 1., 3., n), 4. / 3, 7. / 18));
  CHECK(has_moments(random::geometric(k, .25, n), 4, 12));
  CHECK(has_moments(random::poisson(k, 3., n), 3, 3));
  CHECK(has_moments(random::poisson(k, 60., n), 60, 60));
  CHECK(random::poisson(k, 0., 4).to_vector<int>() == std::vector<int>(4, 0));
  const Array simplex = random::dirichlet(k, array({1.f, 2.f, 5.f}), 2000);
  CHECK(near(mean(simplex, 0), {1. / 8, 2. / 8, 5. / 8}, 0.01));
  CHECK(near(sum(simplex, -1), std::vector<double>(2000, 1)));
  CHECK(moment(random::cauchy(k, n) > 1, 1) == doctest::Approx(.25).epsilon(.1));
}

TEST_CASE("samples are differentiable by their parameters") {
  const Array k = key(6);
  for (double a : {.1, .7, 3., 45., 2000.}) {
    // At a fixed uniform number the variate moves as its distribution function says; the mean of the derivative is that of the mean: 1.
    const Array gradient = vmap([](Array one, Array shape) {
      return grad([&](const Array& s) { return random::gamma(one, s, none, float64); })(shape);
    })(random::split(k, 4000), full(4000, a, float64));
    CHECK(mean(gradient).item<double>() == doctest::Approx(1).epsilon(.15));
    const Array log_gradient = vmap([](Array one, Array shape) {
      return grad([&](const Array& s) { return random::loggamma(one, s, none, float64); })(shape);
    })(random::split(k, 4000), full(4000, a, float64));
    CHECK(mean(log_gradient).item<double>() == doctest::Approx(polygamma(1, full({}, a, float64)).item<double>()).epsilon(.15));
  }
  const Array gradient = grad([&](const Array& a) { return sum(random::beta(k, a, 2., 500, float64)); })(array({3.}, float64)[0]);
  CHECK(gradient.item<double>() / 500 == doctest::Approx(2. / 25).epsilon(.2));
  CHECK(near(grad([&](const Array& s) { return sum(s * random::normal(k, 3)); })(1.f), {sum(random::normal(k, 3)).item<double>()}));
  CHECK(near(grad([&](const Array& s) { return sum(random::uniform(k, 3, float32, 0., s)); })(2.f),
             {sum(random::uniform(k, 3)).item<double>()}));
}

TEST_CASE("initializers") {
  const Array k = key(1);
  namespace init = nn::initializers;
  auto deviation = [](const Array& w) { return std::sqrt(var(w).item<double>()); };
  CHECK(deviation(init::he_normal()(k, {400, 50})) == doctest::Approx(std::sqrt(2. / 400)).epsilon(.02));
  CHECK(deviation(init::he_uniform()(k, {400, 50})) == doctest::Approx(std::sqrt(2. / 400)).epsilon(.02));
  CHECK(deviation(init::glorot_normal()(k, {300, 100})) == doctest::Approx(std::sqrt(2. / 400)).epsilon(.02));
  CHECK(deviation(init::glorot_uniform()(k, {300, 100})) == doctest::Approx(std::sqrt(2. / 400)).epsilon(.02));
  CHECK(deviation(init::lecun_normal()(k, {3, 3, 20, 50})) == doctest::Approx(std::sqrt(1. / 180)).epsilon(.03));
  CHECK(deviation(init::normal(.5)(k, {100, 100})) == doctest::Approx(.5).epsilon(.02));
  CHECK(max(abs(init::truncated_normal(.5)(k, {100, 100}))).item<double>() < 1);
  CHECK(close(init::zeros()(k, {2, 3}), zeros({2, 3}), 0));
  CHECK(init::he_normal()(k, {4, 4}, bfloat16).dtype() == bfloat16);
  CHECK(close(init::normal()(k, 3), random::normal(k, 3) * .01f, 0));
  CHECK(has(message_of<ShapeError>([&] { init::he_normal()(k, 3); }), {"(3,)", "two axes"}));
}

TEST_CASE("initializers of a given variance, and orthogonal ones") {
  const Array k = key(2);
  namespace init = nn::initializers;
  auto deviation = [](const Array& w) { return std::sqrt(var(w).item<double>()); };
  CHECK(close(init::variance_scaling(2, "fan_in", "truncated_normal")(k, {4, 5}), init::he_normal()(k, {4, 5}), 0));
  CHECK(close(init::variance_scaling(1, "fan_avg", "uniform")(k, {4, 5}), init::glorot_uniform()(k, {4, 5}), 0));
  CHECK(deviation(init::variance_scaling(3, "fan_out", "normal")(k, {50, 400})) == doctest::Approx(std::sqrt(3. / 400)).epsilon(.02));
  CHECK(deviation(init::variance_scaling(1, "fan_geo_avg", "normal")(k, {100, 400})) == doctest::Approx(std::sqrt(1. / 200)).epsilon(.02));
  CHECK(has(message_of<Error>([&] { init::variance_scaling(1, "fan", "normal"); }), {"mode", "`fan`", "fan_geo_avg", "random_keys.cpp"}));
  CHECK(has(message_of<Error>([&] { init::variance_scaling(1, "fan_in", "gauss"); }), {"distribution", "`gauss`", "uniform"}));
  CHECK(has(message_of<Error>([&] { init::variance_scaling(0, "fan_in", "normal"); }), {"scale of 0"}));

  // The fewer of rows and columns are orthonormal; columns lie along the axis.
  auto is_identity = [](const Array& a, double scale) { return close(a, scale * eye(a.shape()[0], a.dtype()), 1e-5); };
  const Array tall = init::orthogonal()(k, {7, 3}), wide = init::orthogonal(2)(k, {3, 7}),
              window = init::orthogonal()(k, {2, 2, 3, 5}, float64);
  CHECK(is_identity(matmul(tall.T(), tall), 1));
  CHECK(is_identity(matmul(wide, wide.T()), 4));
  CHECK(is_identity(matmul(reshape(window, {12, 5}).T(), reshape(window, {12, 5})), 1));
  const Array first = init::orthogonal(1, 0)(k, {5, 2, 4});
  CHECK(is_identity(matmul(reshape(first, {5, 8}), reshape(first, {5, 8}).T()), 1));
  CHECK(has(message_of<ShapeError>([&] { init::orthogonal()(k, 3); }), {"orthogonal", "(3,)", "two axes"}));
  CHECK(has(message_of<AxisError>([&] { init::orthogonal(1, 2)(k, {3, 3}); }), {"orthogonal", "2", "f32[3,3]"}));

  // What JAX 0.10 gives.
  CHECK(
      near(init::orthogonal()(key(0), {4, 2}), {.9220003, .31397533, -.24637239, .20442358, .10005648, -.7088381, -.28143337, .59764475}));
  CHECK(near(init::orthogonal(1, 0)(key(0), {2, 3, 2}), {.5636004, -.15060252, .06116253, -.17203459, .23075177, .7570272, .78147906,
                                                         -.0591077, -.30095956, .12156011, -.2559571, -.46360445}));
  CHECK(near(init::variance_scaling(2, "fan_geo_avg", "normal")(key(0), {2, 3}),
             {1.4662228, 1.8300333, -.3917968, -.0710388, .15911609, -.8783818}));

  const Array middle = init::delta_orthogonal()(k, {3, 4, 2, 6});
  CHECK(is_identity(matmul(middle(1, 1), middle(1, 1).T()), 1));
  CHECK(sum(square(middle)).item<double>() == doctest::Approx(2).epsilon(1e-5));
  CHECK(has(message_of<ShapeError>([&] { init::delta_orthogonal()(k, {3, 6, 2}); }), {"delta_orthogonal", "(3, 6, 2)"}));
}

TEST_CASE("mistakes") {
  const Array k = key(0), ks = random::split(k, 3);
  CHECK(has(message_of<DTypeError>([&] { random::normal(ones(3), 2); }),
            {"normal", "f32[3]", "is not a key", "random::key(seed)", "random_keys.cpp"}));
  CHECK(has(message_of<DTypeError>([&] { random::split(random::key_data(k)); }), {"split", "u32[2]", "wrap_key_data"}));
  CHECK(has(message_of<ShapeError>([&] { random::normal(ks, 2); }), {"normal", "key<fry>[3]", "vmap"}));
  CHECK(has(message_of<DTypeError>([&] { k + 1; }), {"add", "key<fry>[]", "i32[]", "key_data"}));
  CHECK(has(message_of<DTypeError>([&] { ks + ks; }), {"add", "key<fry>"}));
  CHECK(has(message_of<DTypeError>([&] { exp(k); }), {"exp", "key<fry>"}));
  CHECK(has(message_of<DTypeError>([&] { sum(ks); }), {"reduce_sum", "key<fry>[3]"}));
  CHECK(has(message_of<DTypeError>([&] { sort(ks); }), {"sort", "key<fry>[3]", "order"}));
  CHECK(has(message_of<DTypeError>([&] { convert(ks, float32); }), {"key<fry>"}));
  CHECK(has(message_of<DTypeError>([&] { where(array({true, false, true}), ks, 0); }), {"key<fry>[3]"}));
  CHECK(has(message_of<DTypeError>([&] { return ks.at(0).set(1.f); }), {"key<fry>", "f32[]"}));
  CHECK(has(message_of<DTypeError>([&] { ks.to_vector<int>(); }), {"to_vector", "key<fry>[3]", "key_data"}));
  CHECK(has(message_of<DTypeError>([&] { save("keys.npy", ks); }), {"save", "key<fry>[3]", "key_data"}));
  CHECK(has(message_of<DTypeError>([&] { random::uniform(k, 2, int32); }), {"uniform", "int32"}));
  CHECK(has(message_of<DTypeError>([&] { random::bits(k, 2, int32); }), {"bits", "int32"}));
  CHECK(has(message_of<DTypeError>([&] { random::randint(k, 2, 0, 4, float32); }), {"randint", "float32"}));
  CHECK(has(message_of<ShapeError>([&] { random::uniform(k, 2, float32, ones(3)); }), {"uniform", "f32[3]", "(2,)"}));
  CHECK(has(message_of<ShapeError>([&] { random::choice(k, 3, 4, {.replace = false}); }), {"choice", "4", "3"}));
  CHECK(has(message_of<ShapeError>([&] { random::choice(k, 3, 4, {.p = ones(2)}); }), {"choice", "f32[2]", "3"}));
  CHECK(has(message_of<DTypeError>([&] { random::bernoulli(k, 1); }), {"bernoulli", "i32[]"}));
  CHECK(has(message_of<DTypeError>([&] { random::wrap_key_data(ones(2)); }), {"wrap_key_data", "f32[2]", "uint32"}));
  CHECK(has(message_of<ShapeError>([&] { random::fold_in(k, arange(3)); }), {"fold_in", "i32[3]", "vmap"}));
  CHECK(has(message_of<Error>([&] { parse("{ lambda ; a:key<rbg>[]. let in (a,) }"); }), {"key<fry>", "rbg", "line 1"}));
}

TEST_CASE("a key that is used twice is reported on request") {
  config.debug_key_reuse = true;
  const Array k = key(987654321);
  const int first = __LINE__ + 1;
  random::normal(k, 2);
  const std::string text = message_of<Error>([&] { random::uniform(k); });
  CHECK(has(text, {"uniform", "normal", "random_keys.cpp:" + std::to_string(first), "split"}));
  const auto [a, b] = random::split<2>(key(987654322));
  CHECK_NOTHROW(random::normal(a));
  CHECK_NOTHROW(random::normal(b));
  CHECK_NOTHROW(random::key_data(a));
  CHECK_NOTHROW(random::normal(random::fold_in(a, 1)));
  CHECK_NOTHROW(random::beta(random::fold_in(a, 2), 1., 2.));
  config.debug_key_reuse = false;
  CHECK_NOTHROW(random::uniform(k));
}
