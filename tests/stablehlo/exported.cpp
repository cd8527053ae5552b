// Functions that JAX exported, as functions of C++: trees are matched by their names.
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>

#include "tests/messages.h"
#include "tests/stablehlo/run.h"
#include "weft/frontends/stablehlo/exported/file.h"

using namespace weft;
using test::has, test::message_of;

namespace {

std::string sample(const std::string& name) {
  const char* const root = std::getenv("WEFT_TEST_DATA");
  return std::string(root ? root : "tests") + "/stablehlo/data/" + name;
}

// In another order than JAX's, which is that of the alphabet.
struct Weights {
  Array c, b, a;
};
struct Layers {
  Array b;
  std::vector<Array> w;
};
struct Scale {
  Array scale;
};
struct Results {
  std::tuple<Array> y;
  std::vector<Array> sums;
  Array b;
  std::optional<Array> none;
};

}  // namespace

TEST_CASE("exported: structs are JAX's dicts by the names of their fields") {
  const auto f = load_exported<std::pair<Array, Weights>(Weights, Array)>(sample("mlp.exported"));
  const Weights w{ones({4, 2}), zeros({4}), ones({3, 4})};
  const auto [value, gradient] = f(w, ones({5, 3}));
  // mean((4 tanh(3))^2)
  const double t = std::tanh(3.0);
  CHECK(value.item<float>() == doctest::Approx(16 * t * t));
  CHECK(gradient.a.shape() == Shape{3, 4});
  CHECK(gradient.b.shape() == Shape{4});
  CHECK(gradient.c.shape() == Shape{4, 2});
  CHECK(sum(gradient.c).item<float>() == doctest::Approx(8 * 4 * t * t));
  // Transforms take it as any function.
  const auto total = [&](const Weights& v) { return f(v, ones({5, 3})).first; };
  const Weights by_weft = grad(total)(w);
  CHECK(allclose(by_weft.a, gradient.a));
  CHECK(allclose(by_weft.c, gradient.c));
  CHECK(allclose(jit(total)(w), value));
  CHECK(f.program().in_avals().size() == 4);
}

TEST_CASE("exported: lists, None, arguments by name, arguments that aren't used, and one platform of several") {
  const auto f = load_exported<Results(Layers, std::pair<Array, std::optional<Array>>, Array, Scale)>(sample("trees.exported"));
  const Array x = ones({4, 3});
  const Results r = f({zeros({3}), {x, x * 2}}, {x, std::nullopt}, x, {array(3.f)});
  REQUIRE(r.sums.size() == 2);
  CHECK(r.sums[0].item<float>() == 36);
  CHECK(r.sums[1].item<float>() == 72);
  CHECK(r.b.to_vector<float>() == std::vector<float>{-1, -1, -1});
  CHECK(!r.none);
  // On a CPU x + 1, not the sine.
  CHECK(std::get<0>(r.y).to_vector<float>() == std::vector<float>(12, 2.f));
  // The same by maps.
  using Map = std::map<std::string, Array>;
  const auto g = load_exported<Results(Layers, std::pair<Array, std::optional<Array>>, Array, Map)>(sample("trees.exported"));
  CHECK(g({zeros({3}), {x, x}}, {x, std::nullopt}, x, {{"scale", array(1.f)}}).sums[0].item<float>() == 12);
}

TEST_CASE("exported: the tokens of ordered effects are the program's own") {
  for (const std::string name : {"logs", "logs_symbolic"}) {
    CAPTURE(name);
    const auto f = load_exported<std::map<std::string, Array>(Array, Array)>(sample(name + ".exported"));
    const auto r = f(arange(3.f), array(5.f));
    CHECK(r.at("once").to_vector<float>() == std::vector<float>{0, 10, 20});
    CHECK(r.at("often").to_vector<float>() == std::vector<float>{0, 8, 16});
    const Array g = grad([&](const Array& x) { return sum(f(x, array(5.f)).at("once")); })(arange(3.f));
    CHECK(g.to_vector<float>() == std::vector<float>(3, 10.f));
  }
  const auto f = load_exported<std::map<std::string, Array>(Array, Array)>(sample("logs.exported"));
  CHECK(f.program().in_avals().size() == 2);
  CHECK(has(message_of<ShapeError>([&] { f(arange(4.f), array(5.f)); }), "args[0] is f32[4], the function takes f32[3]"));
}

TEST_CASE("exported: trees and arrays that are not the function's are refused by name") {
  CHECK(has(message_of<PytreeError>([] { load_exported<Array(Weights, Array)>(sample("mlp.exported")); }),
            "load_exported: result of `mlp` is a tuple of 2 in JAX, and an array here"));
  const auto f = load_exported<std::pair<Array, Weights>(Layers, Array)>(sample("mlp.exported"));
  CHECK(has(message_of<PytreeError>([&] { f({zeros({4}), {}}, ones({5, 3})); }),
            "args[0] of `mlp` is a dict with `a`, `b`, `c` in JAX, and a tree of 2 here"));
  const auto g = load_exported<std::pair<Array, Weights>(Weights, Array)>(sample("mlp.exported"));
  CHECK(has(message_of<ShapeError>([&] { g({ones({4, 2}), zeros({4}), ones({3, 4})}, ones({5, 4})); }),
            "`mlp`: args[1] is f32[5,4], the function takes f32[5,3]"));
  CHECK(has(message_of<DTypeError>([&] { g({ones({4, 2}), zeros({4}), ones({3, 4})}, ones({5, 3}, int32)); }), "args[1] is i32[5,3]"));
  CHECK(has(message_of<Error>([] { load_exported<Array(Array)>(sample("mlp.mlirbc")); }), "this is not a file of jax.export"));
}

TEST_CASE("exported: a file is its module to all readers of StableHLO, and damaged ones are refused") {
  const Jaxpr program = load_stablehlo(sample("mlp.exported"));
  CHECK(program.in_avals().size() == 4);
  std::ifstream in(sample("trees.exported"), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  CHECK(is_binary_stablehlo(bytes));
  // What comes last in the file is what is said first: where its parts stand.
  int refused = 0;
  std::string changed = bytes;
  const auto attempt = [&](const std::string& damaged) {
    try {
      detail::read_exported(damaged, "f", {});
    } catch (const Error& e) {
      CAPTURE(e.message());
      CHECK(e.message().rfind("f:", 0) == 0);
      ++refused;
    }
    try {
      parse_stablehlo(damaged);
    } catch (const Error&) {
    }
  };
  for (std::size_t n = 0; n < bytes.size(); n += 7) attempt(bytes.substr(0, n));
  CHECK(refused > 200);
  for (std::size_t i = 0; i < bytes.size(); i += 2) {
    for (const int by : {1, 0x80, 0xff}) changed[i] = static_cast<char>(bytes[i] ^ by), attempt(changed);
    changed[i] = bytes[i];
  }
}
