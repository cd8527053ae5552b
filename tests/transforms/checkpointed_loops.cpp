// Loops that keep few of their states for reverse mode: derivatives against those of loops that keep all, how many states are kept and how
// often the body runs against the bounds of the literature, and every transform through them.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "tests/runtime/devices.h"

using namespace weft;
using sharding::P;

namespace {

using Carry = std::pair<Array, Array>;

/// n steps, n being an array; of a body that nothing can shorten.
Array until(const Array& x, const Array& n, WhileOptions options) {
  return while_loop([n](Carry c) { return c.first < n; },
                    [x](Carry c) { return Carry{c.first + 1, sin(c.second) + x * convert(c.first, float32) * .01f}; }, Carry{0, x}, options)
      .second;
}

/// C(n, k) as a number.
double binomial(double n, double k) { return std::round(std::exp(std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1))); }

/// Griewank and Walther: the least number of evaluations beside the first n with so many states, and the number of repetitions.
struct Optimum {
  double evaluations, repetitions;
};
Optimum optimum(std::int64_t n, std::int64_t states) {
  const auto l = static_cast<double>(n), c = static_cast<double>(states);
  double r = 0;
  while (binomial(c + r, c) < l) ++r;
  return {r * l - binomial(c + r, r - 1) - (l - 1), r};
}

std::int64_t logarithm(std::int64_t n) { return static_cast<std::int64_t>(std::log2(static_cast<double>(n))); }

}  // namespace

TEST_CASE("a loop without a bound has a reverse derivative with few states: that of the loop that keeps all") {
  const Array x = array({.3f, -1.2f, 2.f});
  for (int n : {0, 1, 2, 3, 7, 30, 100}) {
    CAPTURE(n);
    auto few = grad([n](Array v) { return sum(until(v, n, {.checkpoints = Checkpoints::logarithmic})); });
    auto two = grad([n](Array v) { return sum(until(v, n, {.checkpoints = 2})); });
    auto bounded = grad([n](Array v) { return sum(until(v, n, {.max_steps = 128, .checkpoints = Checkpoints::logarithmic})); });
    const std::vector<double> want = grad([n](Array v) { return sum(until(v, n, {.max_steps = 128})); })(x).to_vector<double>();
    CHECK(test::near(few(x), want));
    CHECK(test::near(jit(few)(x), want));
    CHECK(test::near(two(x), want));
    CHECK(test::near(jit(bounded)(x), want));
  }
}

TEST_CASE("the same of a scan, with ys, in both directions") {
  auto f = [](bool reverse, Checkpoints checkpoints) {
    return [=](Array x, Array w, Array init) {
      const auto [last, ys] = scan([w](Array c, Array v) { return std::pair{sin(c) * w + v, c * v}; }, init, x,
                                   {.reverse = reverse, .checkpoints = checkpoints});
      return sum(last) + sum(ys * ys);
    };
  };
  for (int n : {1, 2, 3, 5, 20, 50})
    for (bool reverse : {false, true}) {
      CAPTURE(n);
      const Array x = reshape(cos(arange(2 * n, float32)), {n, 2}), w = array({.7f, 1.1f}), init = array({.2f, -.4f});
      auto all = [](auto g) { return grad<0, 1, 2>(g); };
      const auto want = all(f(reverse, {}))(x, w, init);
      for (const Checkpoints& c : {Checkpoints::logarithmic, Checkpoints(2), Checkpoints(3)}) {
        CHECK(tree::all_close(all(f(reverse, c))(x, w, init), want, 1e-5, 1e-5));
        CHECK(tree::all_close(jit(all(f(reverse, c)))(x, w, init), want, 1e-5, 1e-5));
      }
    }
}

TEST_CASE("states are kept and steps repeated as the literature says") {
  for (int n : {10, 100, 1000, 20000}) {
    CAPTURE(n);
    std::atomic<std::int64_t> evaluations = 0;
    auto body = [&](Array c) {
      return pure_callback(
          [&](Array v) {
            ++evaluations;
            return v;
          },
          ShapeDtypeStruct{{}, float32}, c);
    };
    // The callback stands for the body's work; its derivative is that of the identity.
    auto counted = custom_jvp([&](Array c) { return body(c); },
                              [&](std::tuple<Array> p, std::tuple<Array> t) { return std::pair{std::get<0>(p), std::get<0>(t)}; });
    auto f = [&](Array x) {
      return while_loop([n](Carry c) { return c.first < n; }, [&](Carry c) { return Carry{c.first + 1, counted(c.second)}; }, Carry{0, x},
                        {.checkpoints = Checkpoints::logarithmic})
          .second;
    };
    CHECK(test::near(grad(f)(1.f), {1}));
    const Optimum best = optimum(n, logarithm(n) + 4);
    const auto repeated = static_cast<double>(evaluations) - n;
    CHECK(repeated >= best.evaluations);
    CHECK(repeated <= 1.25 * best.evaluations + 10);
    CHECK(repeated <= best.repetitions * n);
    MESSAGE(fmt::format("n = {}: {} evaluations beside the first {}, {} are the least", n, repeated, n, best.evaluations));

    evaluations = 0;
    auto g = [&](Array x) {
      return fori_loop(0, n, [&](Array, Array c) { return counted(c); }, x, {.checkpoints = Checkpoints::logarithmic});
    };
    CHECK(test::near(grad(g)(1.f), {1}));
    const Optimum known = optimum(n, logarithm(n) + 3);
    CHECK(static_cast<double>(evaluations) - n <= known.evaluations);
  }
}

TEST_CASE("the memory of reverse mode grows as the logarithm of the bound") {
  auto bytes = [](int n) {
    auto f = [n](Array x) {
      return sum(while_loop([](Array c) { return c(0) < 2; }, [](Array c) { return sin(c); }, x,
                            {.max_steps = n, .checkpoints = Checkpoints::logarithmic}));
    };
    return static_cast<double>(jit(grad(f)).lower(ones(10000)).compile().memory_analysis().temp_size_in_bytes);
  };
  const double state = 40000, few = bytes(1 << 10), many = bytes(1 << 20);
  CHECK(many - few < 2.5 * 10 * state);
  CHECK(many < (24 + 12) * state * 2);
}

TEST_CASE("every transform goes through") {
  const WhileOptions few{.checkpoints = Checkpoints::logarithmic};
  auto halved = [&](Array x) { return while_loop([](Array a) { return a > 1; }, [](Array a) { return a / 2; }, x, few); };
  const Array xs = array({3.f, 100.f, .5f});
  CHECK(test::near(vmap(grad(halved))(xs), {.25, .0078125, 1}));
  CHECK(test::near(grad([&](Array v) { return sum(vmap(halved)(v)); })(xs), {.25, .0078125, 1}));
  CHECK(test::near(jit(vmap(grad(halved)))(xs), {.25, .0078125, 1}));
  auto power = [&](Array x) { return while_loop([](Array c) { return c < 100; }, [](Array c) { return c * c; }, x, few); };
  CHECK(test::near(grad(power)(3.f), {8 * std::pow(3, 7)}));
  CHECK(test::near(grad(grad(power))(3.f), {56 * std::pow(3, 6)}));
  CHECK(test::near(jit(grad(grad(power)))(3.f), {56 * std::pow(3, 6)}));
  CHECK(test::near(jacfwd(grad(power))(3.f), {56 * std::pow(3, 6)}));
  CHECK(test::near(grad(jacfwd(power))(3.f), {56 * std::pow(3, 6)}));
  CHECK(test::near(jvp(power, std::tuple{3.f}, std::tuple{1.f}).second, {8 * std::pow(3, 7)}));
  const auto [y, linear] = linearize(power, 3.f);
  CHECK(test::near(linear(2.f), {16 * std::pow(3, 7)}));
  CHECK(test::near(jit([&](Array v) { return vmap(linear)(v); })(array({1.f, 2.f})), {8 * std::pow(3, 7), 16 * std::pow(3, 7)}));
  CHECK(test::near(grad(checkpoint(power))(3.f), {8 * std::pow(3, 7)}));
  // A state of several dtypes; a constant of the body with a derivative, and one that only the condition reads.
  auto mixed = [&](Array w, Array limit) {
    using State = std::tuple<Array, Array, Array>;
    const State end = while_loop(
        [&](State s) { return std::get<1>(s) < limit; },
        [&](State s) { return State{std::get<0>(s) * w + real(std::get<2>(s)), std::get<1>(s) + 1, std::get<2>(s) * complex(w(0), w(1))}; },
        State{w, 0, complex(w, w * 2)}, few);
    return sum(std::get<0>(end));
  };
  auto mixed_bounded = [&](Array w) {
    using State = std::tuple<Array, Array>;
    const State end = fori_loop(
        0, 6, [&](Array, State s) { return State{std::get<0>(s) * w + real(std::get<1>(s)), std::get<1>(s) * complex(w(0), w(1))}; },
        State{w, complex(w, w * 2)});
    return sum(std::get<0>(end));
  };
  const Array w = array({.9f, -.7f});
  CHECK(tree::all_close(grad(mixed)(w, 6), grad(mixed_bounded)(w), 1e-5, 1e-5));
  CHECK(tree::all_close(jit(grad(mixed))(w, 6), grad(mixed_bounded)(w), 1e-5, 1e-5));
}

TEST_CASE("a loop with few states inside of another") {
  const Checkpoints few = Checkpoints::logarithmic;
  auto nested = [](Checkpoints outer, Checkpoints inner) {
    return [=](Array x) {
      return sum(
          fori_loop(0, 9,
                    [=](Array i, Array c) {
                      return fori_loop(0, i, [](Array, Array d) { return sin(d) * 1.1f; }, c, {.max_steps = 9, .checkpoints = inner}) + x;
                    },
                    x, {.checkpoints = outer}));
    };
  };
  const Array x = array({.4f, 1.3f});
  const std::vector<double> want = grad(nested({}, {}))(x).to_vector<double>();
  CHECK(test::near(grad(nested(few, {}))(x), want));
  CHECK(test::near(grad(nested({}, few))(x), want));
  CHECK(test::near(grad(nested(few, few))(x), want));
  CHECK(test::near(jit(grad(nested(few, few)))(x), want));
}

TEST_CASE("a linear loop is transposed") {
  auto f = [](Array v) {
    return while_loop([](Carry c) { return c.first < 3; },
                      [](Carry c) { return Carry{c.first + 1, c.second * convert(c.first + 1, float32)}; }, Carry{Array(0), v},
                      {.checkpoints = Checkpoints::logarithmic})
        .second;
  };
  CHECK(test::near(std::get<0>(linear_transpose(f, ones(2))(array({1.f, 2.f}))), {6, 12}));
}

TEST_CASE("over several devices") {
  auto loop = [](Checkpoints checkpoints) {
    return [=](Array v, Array w) {
      return while_loop([](Carry c) { return c.first < 9; }, [w](Carry c) { return Carry{c.first + 1, sin(c.second) * w}; }, Carry{0, v},
                        {.max_steps = 16, .checkpoints = checkpoints})
          .second;
    };
  };
  const Array x = sin(reshape(arange(24, float32), {8, 3})), w = array({.9f, 1.1f, -.8f});
  auto total = [](auto f) { return grad<0, 1>([f](Array v, Array u) { return sum(f(v, u) * f(v, u)); }); };
  const auto want = total(loop({}))(x, w);
  for (int devices : {1, 2, 4, 8}) {
    CAPTURE(devices);
    const Mesh mesh = make_mesh({devices}, {"i"});
    auto mapped = shard_map(loop(Checkpoints::logarithmic), {.mesh = mesh, .in_specs = {P("i"), P()}, .out_specs = P("i")});
    CHECK(tree::all_close(total(mapped)(x, w), want, 1e-5, 1e-5));
    CHECK(tree::all_close(jit(total(mapped))(x, w), want, 1e-5, 1e-5));
    const Array sharded = device_put(x, NamedSharding(mesh, P("i")));
    CHECK(tree::all_close(jit(total(loop(Checkpoints::logarithmic)))(sharded, w), want, 1e-5, 1e-5));
  }
  auto row = [&](Array v) { return sum(loop(Checkpoints::logarithmic)(v, w)); };
  CHECK(tree::all_close(pmap(grad(row))(x), vmap(grad(row))(x), 1e-5, 1e-5));
}

TEST_CASE("what can't be done is an error that says why") {
  CHECK(test::refuses<Error>([] { while_loop([](Array c) { return c < 1; }, [](Array c) { return c + 1; }, 0.f, {.checkpoints = 1}); },
                             {"Checkpoints", "1 states", "2 at least"}));
  auto noisy = [](Array x) {
    return while_loop([](Array c) { return c < 9; },
                      [](Array c) { return c * io_callback([](Array v) { return v; }, ShapeDtypeStruct{{}, float32}, stop_gradient(c)); },
                      x, {.checkpoints = Checkpoints::logarithmic});
  };
  CHECK(test::refuses<TracerError>([&] { grad(noisy)(2.f); }, {"io_callback", "checkpoints"}));
  CHECK(test::refuses<TracerError>(
      [] { grad([](Array x) { return while_loop([](Array c) { return c < 9; }, [](Array c) { return c * c; }, x); })(2.f); },
      {"Checkpoints::logarithmic"}));
}

TEST_CASE("the loops are written and read as text") {
  const auto program = make_jaxpr(grad([](Array v) { return sum(until(v, 7, {.checkpoints = Checkpoints::logarithmic})); }))(ones(3));
  const std::string text = program.to_string();
  CHECK(text.find("checkpoints=-1") != std::string::npos);
  CHECK(parse(text).to_string() == text);
}
