// config.debug_nans, check_tracer_leaks and explain_recompiles.
#include <functional>
#include <limits>

#include "tests/transforms/capture.h"
#include "tests/transforms/checks.h"

using namespace weft;
using weft::sharding::P;
using namespace weft::test;

namespace {

const bool several_devices = [] {
  config.num_cpu_devices = 8;
  return true;
}();

/// A setting for the length of a test.
class With {
 public:
  explicit With(bool& flag) : flag_(flag) { flag_ = true; }
  ~With() { flag_ = false; }
  With(const With&) = delete;
  With& operator=(const With&) = delete;

 private:
  bool& flag_;
};

struct Layer {
  Array w, b;
};

Array logarithm(const Array& x) {
  const Array y = x * 2;
  return log(y) + 1;  // the line that messages name
}
const std::string line_of_log = "debugging.cpp:" + std::to_string(__LINE__ - 2);
const char* const kLine = line_of_log.c_str();

}  // namespace

TEST_CASE("debug_nans names the operation that made the first NaN or infinity, and its line") {
  const With on(config.debug_nans);
  const Array bad = array({1.f, -1.f, 2.f});
  CHECK(refuses<Error>([&] { logarithm(bad); }, {"log: makes nan, element [1] of f32[3] out of -2.0", kLine}));
  CHECK(refuses<Error>([&] { jit(logarithm)(bad); }, {"log: makes nan, element [1] of f32[3] out of -2.0", kLine}));
  CHECK(refuses<Error>([&] { jit(logarithm)(-1.f); }, {"log: makes nan out of -2.0", kLine}));
  CHECK(refuses<Error>([&] { jit(logarithm)(0.f); }, {"log: makes -inf out of 0.0", kLine}));
  CHECK(refuses<Error>([&] { vmap(logarithm)(bad); }, {"log: makes nan", kLine}));
  CHECK(refuses<Error>([&] { jit(vmap(logarithm))(bad); }, {"log: makes nan, element [1]", kLine}));
  CHECK(refuses<Error>([&] { pmap(logarithm)(bad); }, {"log: makes nan out of -2.0 on cpu:1", kLine}));
  CHECK(refuses<Error>([&] { value_and_grad([](Array x) { return logarithm(x); })(-1.f); }, {"log: makes nan", kLine}));
  CHECK(refuses<Error>([&] { jit(grad([](Array x) { return sqrt(x); }))(0.f); }, {"inf", "debugging.cpp"}));
  auto loop = [](Array x) { return fori_loop(0, 3, [](Array, Array c) { return logarithm(c); }, x); };
  CHECK(refuses<Error>([&] { jit(loop)(0.1f); }, {"log: makes nan", kLine}));
  CHECK(refuses<Error>([&] { loop(0.1f); }, {"log: makes nan", kLine}));
  CHECK(refuses<Error>([&] { jit([](Array x) { return cond(x < 0, logarithm, [](Array a) { return a; }, x); })(-3.f); },
                       {"log: makes nan", kLine}));
  CHECK(refuses<Error>([&] { jit(jit(checkpoint(logarithm)))(-1.f); }, {"log: makes nan", kLine}));
  CHECK(refuses<Error>([&] { jit([](Array x) { return exp(x.at(0).set(1000.f)); })(zeros(2)); },
                       {"exp: makes inf, element [0] of f32[2] out of 1000.0"}));
  CHECK(
      refuses<Error>([&] { pmap([](Array x) { return psum(x, "i"); }, {.axis_name = "i"})(array({3e38f, 3e38f})); }, {"psum: makes inf"}));
  // Complex numbers and the small types too.
  CHECK(refuses<Error>([&] { convert(array({1e6f}), float16); }, {"convert_element_type: makes inf"}));
  CHECK(refuses<Error>([&] { convert(array({1.f}), complex64) / 0.f; }, {"div"}));
}

TEST_CASE("debug_nans on several devices, in loops, rules and factorisations") {
  const With on(config.debug_nans);
  const Mesh mesh = make_mesh({8}, {"x"});
  const Array x = array({1.f, 2.f, 3.f, -4.f, 5.f, 6.f, 7.f, 8.f});
  auto blocks = shard_map([](Array a) { return logarithm(a); }, {.mesh = mesh, .in_specs = {P("x")}, .out_specs = P("x")});
  CHECK(refuses<Error>([&] { blocks(x); }, {"log: makes nan, element [0] of f32[1] out of -8.0 on cpu:3", kLine}));
  CHECK(refuses<Error>([&] { jit(logarithm)(device_put(x, NamedSharding{mesh, P("x")})); },
                       {"log: makes nan", "out of -8.0 on cpu:3", kLine}));
  auto steps = [](Array a) { return scan([](Array c, auto) { return std::pair{logarithm(c), none}; }, a, none, {.length = 3}).first; };
  CHECK(refuses<Error>([&] { pmap(steps)(x); }, {"log: makes nan", "on cpu:3", kLine}));
  CHECK(refuses<Error>([&] { while_loop([](Array a) { return a < 100; }, [](Array a) { return logarithm(a) - 200; }, -1.f); },
                       {"log: makes nan", kLine}));
  auto ruled = custom_jvp([](Array a) { return sin(a); },
                          [](auto p, auto t) {
                            const Array& a = std::get<0>(p);
                            return std::pair{sin(a), std::get<0>(t) / (a - a)};
                          });
  CHECK(refuses<Error>([&] { jit(grad(ruled))(1.f); }, {"div: makes inf", "debugging.cpp"}));
  CHECK(refuses<Error>([&] { jit([](Array a) { return linalg::cholesky(a); })(-eye(2)); }, {"cholesky: makes nan", "debugging.cpp"}));
  // Each lane and device runs its callbacks at most once.
  int calls = 0;
  auto counted = [&](Array a) {
    debug::callback([&](Array) { ++calls; }, a);
    return logarithm(a);
  };
  CHECK(refuses<Error>([&] { jit(vmap(counted))(x); }, {"log: makes nan"}));
  CHECK(calls == 8);
  calls = 0;
  CHECK(refuses<Error>([&] { pmap(counted)(x); }, {"log: makes nan"}));
  CHECK(calls >= 1);
  CHECK(calls <= 8);
  calls = 0;
  auto asks = jit([&](Array a) {
    return logarithm(io_callback([&](Array b) { return ++calls, b; }, ShapeDtypeStruct{{}, float32}, {.ordered = true}, a));
  });
  CHECK(refuses<Error>([&] { asks(-1.f); }, {"log: makes nan"}));
  CHECK(calls == 1);
}

TEST_CASE("debug_nans lets pass what was not finite before") {
  const With on(config.debug_nans);
  const float infinite = std::numeric_limits<float>::infinity(), nan = std::nanf("");
  const Array masked = jit([&](Array x) { return where(x > 0, x, -infinite); })(array({1.f, -1.f}));
  CHECK(near(exp(masked), {std::exp(1), 0}));
  CHECK(near(jit([](Array x) { return max(x + 1); })(masked), {2}));
  CHECK(near(jit([](Array x) { return where(isnan(x), 0.f, x) * 2; })(array({nan, 3.f})), {0, 6}));
  // An element that was NaN doesn't hide another that becomes it.
  CHECK(refuses<Error>([&] { jit([](Array x) { return sqrt(x); })(array({nan, -1.f})); }, {"sqrt: makes nan, element [1]"}));
}

TEST_CASE("debug_nans runs nothing twice, and the same functions go on without it") {
  int calls = 0;
  auto f = jit([&](Array x) {
    debug::callback([&](Array) { ++calls; }, x);
    return logarithm(x);
  });
  {
    const With on(config.debug_nans);
    CHECK(refuses<Error>([&] { f(-1.f); }, {"log"}));
    CHECK(calls == 1);
    CHECK(near(f(0.5f), {1}));
    CHECK(calls == 2);
  }
  CHECK(std::isnan(f(-1.f).item<float>()));
  CHECK(calls == 3);
  const With on(config.debug_nans);
  CHECK(refuses<Error>([&] { f(-1.f); }, {"log"}));
  auto donating = jit([](Array x) { return logarithm(x); }, {.donate_argnums = {0}});
  CHECK(refuses<Error>([&] { donating(array({-1.f})); }, {"log"}));
}

TEST_CASE("a traced value that is kept beyond its function is found where it leaks") {
  const With on(config.check_tracer_leaks);
  Array kept;
  auto leaks = [&](Array x) {
    kept = x * 2;
    return x;
  };
  CHECK(refuses<LeakedTracerError>([&] { jit(leaks)(1.f); }, {"jit of <lambda>", "f32[]", "mul", "debugging.cpp"}));
  kept = Array();
  CHECK(refuses<LeakedTracerError>([&] { vmap(leaks)(ones(3)); }, {"vmap of <lambda>", "mul", "debugging.cpp"}));
  kept = Array();
  CHECK(refuses<LeakedTracerError>([&] { grad(leaks)(1.f); }, {"grad of <lambda>", "mul"}));
  kept = Array();
  CHECK(refuses<LeakedTracerError>([&] { scan([&](Array c, Array x) { return std::pair{leaks(c), x}; }, 0.f, ones(3)); }, {"mul"}));
  kept = Array();
  std::function<Array()> closure;
  CHECK(refuses<LeakedTracerError>(
      [&] {
        jit([&](Array x) {
          closure = [x] { return x; };
          return x;
        })(1.f);
      },
      {"an input"}));
  closure = nullptr;
  // No false alarms: closures, nested transforms, loops, custom rules, functions returned by transforms.
  auto clean = [](Array x) {
    const auto [y, pull] = vjp([x](Array a) { return sin(a) * x; }, x);
    auto inner = jit([x](Array a) { return a * x; });
    auto ruled = custom_jvp([](Array a) { return a; },
                            [](auto primals, auto tangents) { return std::pair{std::get<0>(primals), std::get<0>(tangents)}; });
    auto body = [&](Array c, Array k) { return std::pair{c * k + x, inner(c)}; };
    return std::get<0>(pull(y)) + ruled(inner(y)) + sum(scan(body, x, arange(3, float32)).second) + grad(inner)(x) + checkpoint(inner)(x);
  };
  const auto clean_everywhere = [&] {
    CHECK_NOTHROW(jit(clean)(1.f));
    CHECK_NOTHROW(jit(grad(clean))(1.f));
    CHECK_NOTHROW(vmap(grad(jit(clean)))(ones(2)));
    CHECK_NOTHROW(jit(vmap(clean))(ones(2)));
    CHECK_NOTHROW(hessian(clean)(1.f));
    CHECK_NOTHROW(pmap(clean)(ones(2)));
  };
  clean_everywhere();
  // What notes the uses of keys keeps nothing of a program that is over.
  const With keys_too(config.debug_key_reuse);
  clean_everywhere();
}

TEST_CASE("a traced value that is kept is found in maps over devices, loops and rules") {
  const With on(config.check_tracer_leaks);
  Array kept;
  auto leaks = [&](Array x) {
    kept = x * 2;
    return x;
  };
  const Mesh mesh = make_mesh({8}, {"x"});
  CHECK(refuses<LeakedTracerError>([&] { pmap(leaks)(ones(8)); }, {"pmap of", "mul", "debugging.cpp"}));
  kept = Array();
  CHECK(refuses<LeakedTracerError>([&] { shard_map(leaks, {.mesh = mesh, .in_specs = {P("x")}, .out_specs = P("x")})(ones(8)); },
                                   {"shard_map of", "mul"}));
  kept = Array();
  CHECK(refuses<LeakedTracerError>([&] { while_loop([&](Array x) { return leaks(x) < 3; }, [](Array x) { return x + 1; }, 0.f); },
                                   {"while_loop of", "mul"}));
  kept = Array();
  auto ruled = custom_jvp(leaks, [](auto p, auto t) { return std::pair{std::get<0>(p), std::get<0>(t)}; });
  CHECK(refuses<LeakedTracerError>([&] { jit(ruled)(1.f); }, {"custom_jvp of", "mul"}));
  kept = Array();
}

TEST_CASE("a recompilation is explained on request") {
  auto f = jit([](Layer l, Array x, int times) { return (x * l.w + l.b) * times; }, {.name = "step"});
  const Layer layer{2.f, 1.f};
  const auto said = [&](auto... args) { return written_to(stderr, [&] { f(args...); }); };
  f(layer, ones({8, 3}), 1);
  CHECK(said(layer, ones({9, 3}), 1).empty());
  const With on(config.explain_recompiles);
  const std::string text = said(layer, ones({7, 3}), 1);
  CHECK(has(text, "weft: jit of step is traced again at "));
  CHECK(has(text, "debugging.cpp"));
  CHECK(has(text, "argument 1: f32[9,3] -> f32[7,3]\n"));
  CHECK(said(layer, ones({7, 3}), 1).empty());
  CHECK(has(said(layer, ones({7, 3}), 2), "argument 2: 1 -> 2\n"));
  CHECK(has(said(layer, ones({7, 3}, float64), 2), "argument 1: f32[7,3] -> f64[7,3]\n"));
  CHECK(has(said(Layer{array({2.f, 2.f, 2.f}), 1.f}, ones({7, 3}), 1), "argument 0.w: f32[] (weak) -> f32[3]\n"));
  auto p = pmap([](Array x) { return x * 2; });
  p(ones({2, 3}));
  CHECK(has(written_to(stderr, [&] { p(ones({2, 4})); }), "argument 0: f32[2,3] -> f32[2,4]\n"));
  CHECK(written_to(stderr, [&] { p(ones({2, 4})); }).empty());
  auto g = jit([](std::vector<Array> xs) { return xs[0]; });
  CHECK(written_to(stderr, [&] { g(std::vector<Array>{1.f}); }).empty());
  CHECK(has(written_to(stderr, [&] { g(std::vector<Array>{1.f, 2.f}); }), "argument 0: a tree of 1 element -> a tree of 2 elements\n"));
}
