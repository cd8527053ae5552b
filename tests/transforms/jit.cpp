// jit: its cache, static arguments, results and donation.
#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "tests/transforms/checks.h"
#include "weft/core/array/array_impl.h"

namespace {
using namespace weft;
using namespace weft::test;

struct Layer {
  Array w, b;
};
enum class Mode { plain, twice };

TEST_CASE("a trace for each combination of types, structure and static values") {
  int traces = 0;
  auto f = jit([&](const std::vector<Layer>& p, Array x, Mode mode, std::string name) {
    ++traces;
    Array y = x;
    for (const Layer& l : p) y = y * l.w + l.b;
    return mode == Mode::twice && name == "on" ? y * 2 : y;
  });
  const std::vector<Layer> one{{2.f, 1.f}}, two{{2.f, 1.f}, {3.f, 0.f}};
  CHECK(near(f(one, array({1.f, 2.f}), Mode::plain, "on"), {3, 5}));
  CHECK(near(f(one, array({3.f, 4.f}), Mode::plain, "on"), {7, 9}));
  CHECK(traces == 1);
  CHECK(near(f(one, array({1.f, 2.f}), Mode::twice, "on"), {6, 10}));
  CHECK(near(f(one, array({1.f, 2.f}), Mode::twice, "off"), {3, 5}));
  CHECK(traces == 3);
  CHECK(near(f(two, array({1.f, 2.f}), Mode::plain, "on"), {9, 15}));
  CHECK(near(f(one, array({1, 2}), Mode::plain, "on"), {3, 5}));
  CHECK(near(f(one, 1.f, Mode::plain, "on"), {3}));
  CHECK(traces == 6);
  CHECK(near(f(two, array({2.f, 2.f}), Mode::plain, "on"), {15, 15}));
  CHECK(near(f(one, array({1.f, 2.f}), Mode::plain, "on"), {3, 5}));
  CHECK(traces == 6);
}

TEST_CASE("static floats are compared by their bits") {
  int traces = 0;
  auto f = jit([&](Array x, double s) {
    ++traces;
    return x / s;
  });
  f(1.f, std::nan("")), f(1.f, std::nan(""));
  CHECK(traces == 1);
  CHECK(std::signbit(f(1.f, -0.).item<float>()));
  CHECK(!std::signbit(f(1.f, 0.).item<float>()));
}

TEST_CASE("copies share what is compiled, and callables of all kinds work") {
  int traces = 0;
  auto f = jit([&](Array x) {
    ++traces;
    return x + 1;
  });
  auto g = f;
  const std::function<Array(Array)> erased = f;
  CHECK(near(f(1.f), {2}));
  CHECK(near(g(2.f), {3}));
  CHECK(near(erased(3.f), {4}));
  CHECK(traces == 1);
  auto own = std::make_unique<float>(3.f);
  auto h = jit([own = std::move(own)](Array x) { return x * *own; });
  CHECK(near(h(2.f), {6}));
  CHECK(near(jit(erased)(1.f), {2}));
  CHECK(near(jit([](auto... xs) { return (xs + ...); })(1.f, 2.f, 3), {6}));
}

TEST_CASE("a function that captures a value of an outer trace is not taken for another trace") {
  auto outer = [](Array x) {
    auto inner = jit([x](Array y) { return x * y; });
    return inner(2.f) + inner(2.f);
  };
  CHECK(near(jit(outer)(3.f), {12}));
  CHECK(near(grad(outer)(3.f), {4}));
  CHECK(near(vmap(outer)(array({1.f, 2.f})), {4, 8}));
  Array captured;
  auto shared = jit([&](Array y) { return captured * y; });
  auto user = [&](Array x) {
    captured = x;
    return shared(x);
  };
  CHECK(near(grad(user)(3.f), {6}));
  CHECK(near(grad(user)(4.f), {8}));
  captured = Array(2.f);
  CHECK(near(shared(5.f), {10}));
}

TEST_CASE("jit under other transforms is one equation that is transformed") {
  auto f = jit([](Array x) { return sin(x) * x; }, {.name = "f"});
  const double derivative = std::sin(2) + 2 * std::cos(2);
  CHECK(near(grad(f)(2.f), {derivative}));
  CHECK(near(jit(grad(f))(2.f), {derivative}));
  CHECK(near(grad(grad(f))(2.f), {2 * std::cos(2) - 2 * std::sin(2)}));
  CHECK(near(vmap(f)(array({0.f, 2.f})), {0, 2 * std::sin(2)}));
  CHECK(near(vmap(grad(f))(array({2.f, 2.f})), {derivative, derivative}));
  CHECK(near(jvp(f, std::tuple{2.f}, std::tuple{3.f}).second, {3 * derivative}));
  CHECK(near(jacfwd(jacrev(f))(2.f), {2 * std::cos(2) - 2 * std::sin(2)}));
  const Jaxpr j = make_jaxpr(f)(1.f);
  CHECK(j.eqns().size() == 1);
  CHECK(has(j.to_string(), "name=f"));
}

TEST_CASE("a jitted function compiles once however many threads call it first") {
  std::atomic<int> traces = 0;
  auto f = jit([&](Array x) {
    ++traces;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return x * 2;
  });
  const detail::JitCounters before = detail::jit_counters();
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] { right += f(static_cast<float>(i)).item<float>() == 2.f * static_cast<float>(i); });
  for (std::thread& t : threads) t.join();
  CHECK(right == 8);
  CHECK(traces == 1);
  CHECK(detail::jit_counters().compiles - before.compiles == 1);
}

TEST_CASE("a failed trace leaves nothing behind") {
  bool fail = true;
  auto f = jit([&](Array x) {
    if (fail) throw std::runtime_error("not yet");
    return x + 1;
  });
  CHECK_THROWS_AS(f(1.f), std::runtime_error);
  fail = false;
  CHECK(near(f(1.f), {2}));
}

TEST_CASE("donated arrays can't be used again, and nobody else notices") {
  auto f = jit([](Array x, Array y) { return x + y; }, {.donate_argnums = {0}});
  Array x = ones(1000) * 2, y = ones(1000);
  const Array view = x.at(0).get() + 0;
  CHECK(near(f(x, y)(slice(2)), {3, 3}));
  CHECK(refuses<Error>([&] { x + y; }, {"add", "f32[1000]", "donated"}));
  CHECK(refuses<Error>([&] { x.to_vector<float>(); }, {"donated"}));
  CHECK(refuses<Error>([&] { f(x, y); }, {"f32[1000]", "donated"}));
  CHECK(refuses<Error>([&] { f(y, y); }, {"args[0] and args[1] are one array", "f32[1000]", "donate a copy"}));
  CHECK(refuses<Error>([&] { f(y, y); }, {"twice"}));
  CHECK(near(y(slice(2)), {1, 1}));
}

TEST_CASE("what a program captured stays as it is when the array is donated later") {
  const auto step = jit([](Array x) { return x + 1.f; }, {.donate_argnums = {0}});
  const Array y = ones(1000);
  for (const bool placed : {false, true}) {
    const auto fresh = [&] { return placed ? device_put(full(1000, 3.f), devices("cpu").back()) : full(1000, 3.f) * 1.f; };
    const auto at = [&](Array v) { return placed ? device_put(v, devices("cpu").back()) : v; };
    const Array a = fresh(), b = fresh(), c = fresh();
    const auto f = jit([&](Array v) { return v + a; });
    const auto g = vmap([&](Array v) { return v + sum(b); });
    const auto [value, pull] = vjp([&](Array v) { return v * c; }, at(y));
    const Jaxpr j = make_jaxpr([&](Array v) { return v * b; })(at(y));
    CHECK(near(f(at(y))(slice(2)), {4, 4}));
    CHECK(near(g(at(y))(slice(2)), {3001, 3001}));
    for (const Array& x : {a, b, c}) CHECK(near(step(x)(slice(2)), {4, 4}));
    CHECK(near(f(at(y))(slice(2)), {4, 4}));
    CHECK(near(f(at(y * 2.f))(slice(2)), {5, 5}));
    CHECK(near(std::get<0>(pull(at(y)))(slice(2)), {3, 3}));
    CHECK(near(detail::eval_jaxpr(j, std::vector<Array>{at(y)})[0](slice(2)), {3, 3}));
    CHECK(refuses<Error>([&] { g(at(y)); }, {"donated"}));
    CHECK(refuses<Error>([&] { a + 1; }, {"donated"}));
  }
}

TEST_CASE("results of donated arrays that are committed stay on their device") {
  const auto f = jit([](Array x) { return x + 1.f; }, {.donate_argnums = {0}});
  Array x = device_put(ones(1000), devices("cpu").back());
  for (int i = 0; i < 3; ++i) {
    x = f(x);
    CHECK(detail::as_concrete(x)->placement);
    CHECK(x.devices() == std::vector<Device>{devices("cpu").back()});
  }
}

TEST_CASE("disable_jit runs the function itself") {
  auto f = jit([](Array x) {
    if (x > 0) return x;
    return -x;
  });
  {
    const auto off = disable_jit();
    CHECK(near(f(-2.f), {2}));
  }
  CHECK_THROWS_AS(f(-2.f), ConcretizationError);
}

TEST_CASE("a function that returns nothing, and one that returns a static value") {
  int calls = 0;
  auto f = jit([&](Array) { ++calls; });
  f(1.f);
  CHECK(calls == 1);
  CHECK(jit([](Array, Mode m) { return std::pair{m, 3}; })(1.f, Mode::twice).first == Mode::twice);
}

TEST_CASE("axis names in scope are part of the key") {
  auto f = jit([](Array x) { return psum(x, "i"); });
  CHECK(near(vmap(f, {.axis_name = "i"})(array({1.f, 2.f})), {3, 3}));
  CHECK(near(vmap(f, {.axis_name = "i"})(array({1.f, 2.f, 3.f})), {6, 6, 6}));
  CHECK_THROWS_AS(f(1.f), AxisError);
}

}  // namespace
