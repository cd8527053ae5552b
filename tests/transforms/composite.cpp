// composite: a call with a name, which every transform sees through.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <algorithm>

#include "tests/messages.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/cpu/expand.h"
#include "weft/core/trace/trace.h"

using namespace weft;
using test::has, test::message_of;

namespace {

Array cube_of(Array x) { return x * x * x; }
auto cube() { return composite(cube_of, "my.cube", {{"power", 3}, {"exact", true}, {"scale", 1.5}, {"mode", "fast"}}, 2); }
struct Pair {
  Array a, b;
};

}  // namespace

TEST_CASE("composite: an equation with a name, attributes and a body, whose text is read back") {
  const Jaxpr j = make_jaxpr(cube())(ones({3}));
  REQUIRE(j.eqns().size() == 1);
  CHECK(j.eqns()[0].primitive() == "composite");
  const std::string text = j.to_string();
  CHECK(has(text, {"name=my.cube", "version=2", "'power': 3", "'exact': True", "'scale': 1.5", "'mode': 'fast'"}));
  const Jaxpr back = parse(text);
  CHECK(back.to_string() == text);
  CHECK(parse(make_jaxpr(composite(cube_of, "my.cube"))(ones({3})).to_string()).eqns()[0].primitive() == "composite");
}

TEST_CASE("composite: every transform sees through it") {
  const Array x = array({1.f, 2.f, -3.f});
  const auto same = [](const Array& a, const Array& b) { return a.shape() == b.shape() && all(a == b).item<bool>(); };
  CHECK(same(cube()(x), cube_of(x)));
  CHECK(same(jit(cube())(x), cube_of(x)));
  CHECK(same(grad([](Array v) { return sum(cube()(v)); })(x), grad([](Array v) { return sum(cube_of(v)); })(x)));
  CHECK(same(jit(grad([](Array v) { return sum(cube()(v)); }))(x), grad([](Array v) { return sum(cube_of(v)); })(x)));
  CHECK(same(jvp(cube(), std::tuple{x}, std::tuple{x}).second, 3 * cube_of(x)));
  CHECK(same(vmap(cube())(x), cube_of(x)));
  CHECK(same(jit(vmap(grad(cube())))(x), 3 * x * x));
  CHECK(same(vmap(grad(grad(cube())))(x), 6 * x));
  CHECK(same(jit([](Array v) { return fori_loop(0, 2, [](Array, Array c) { return cube()(c); }, v); })(x), cube_of(cube_of(x))));
  // Of a struct, with two results.
  const auto both = composite([](Pair p) { return Pair{p.a + p.b, p.a * p.b}; }, "my.both");
  const Pair r = jit(both)(Pair{x, x});
  CHECK(same(r.a, 2 * x));
  CHECK(same(r.b, x * x));
  // A linear one is transposed.
  const auto [t] = linear_transpose(composite([](Array v) { return 3 * v; }, "my.triple"), x)(x);
  CHECK(same(t, 3 * x));
  CHECK(has(message_of<Error>([&] { composite(cube_of, "")(x); }), {"composite", "name is empty"}));
}

TEST_CASE("composite: captured arrays are operands of its body") {
  const Array w = array({2.f, 3.f});
  const auto f = composite([w](Array x) { return x * w; }, "my.scaled");
  CHECK(all(jit(f)(w) == w * w).item<bool>());
  CHECK(all(jit(grad([&](Array x) { return sum(f(x)); }))(w) == w).item<bool>());
}

TEST_CASE("composite: a backend may know the name") {
  const Scope on_host = default_device(devices("cpu")[0]);
  // It does something else than the body, so that one sees it.
  const detail::CompositeRule<detail::CpuComposite> rule(
      "test.known", [](const detail::CompositeParams& p, std::span<const detail::Aval> in) -> std::optional<Jaxpr> {
        if (p.attributes.empty()) return {};
        return detail::trace_jaxpr({"known", {in.begin(), in.end()}, {}},
                                   [](std::span<const Array> x) { return std::vector<Array>{x[0] + 100}; });
      });
  const auto known = [](Attributes attributes) { return composite([](Array x) { return x + 1; }, "test.known", attributes); };
  CHECK(jit(known({{"on", true}}))(ones({2}))[0].item<float>() == 101);
  CHECK(jit(known({}))(ones({2}))[0].item<float>() == 2);
  CHECK(grad([&](Array x) { return known({{"on", true}})(x); })(array(1.f)).item<float>() == 1);
  // In a loop that the host drives, too.
  CHECK(make_jaxpr(known({{"on", true}}))(ones({2})).eqns()[0].primitive() == "composite");
}

TEST_CASE("composite: functions of the library are composites of their names in programs, and their bodies elsewhere") {
  const Array x = reshape(linspace(-3, 3, 24), {4, 6}), w = linspace(.5f, 2, 6), b = linspace(-1, 1, 6),
              m = reshape(linspace(-.5f, .5f, 9), {3, 3});
  const auto check = [](const char* name, auto f, const Array& v) {
    const Jaxpr j = make_jaxpr(f)(v);
    INFO(j.to_string());
    REQUIRE(j.eqns().size() == 1);
    CHECK(has(j.to_string(), {std::string("name=") + name}));
    CHECK(parse(j.to_string()).to_string() == j.to_string());
    // What runs at once has no name; its results and derivatives are the same ones.
    const auto near = [](const Array& p, const Array& q) { return p.shape() == q.shape() && max(abs(p - q)).item<float>() <= 1e-5f; };
    CHECK(near(jit(f)(v), f(v)));
    CHECK(near(vmap(f)(stack({v, 2 * v}))[1], f(2 * v)));
    const auto total = [&](Array y) { return sum(sin(f(y))); };
    const auto gradient = grad(total)(v);
    CHECK(near(jit(grad(total))(v), gradient));
    CHECK(near(sum(gradient * v), jvp(total, std::tuple{v}, std::tuple{v}).second));
  };
  check("weft.gelu", [](Array v) { return nn::gelu(v); }, x);
  check("weft.relu", [](Array v) { return nn::relu(v); }, x);
  check("weft.softmax", [](Array v) { return nn::softmax(v, 1); }, x);
  check("weft.logsumexp", [](Array v) { return logsumexp(v, 1); }, x);
  check("weft.layer_norm", [&](Array v) { return nn::layer_norm(v, w, b); }, x);
  check("weft.expm", [](Array v) { return linalg::expm(v); }, m);
  CHECK(has(make_jaxpr([](Array v) { return nn::softmax(v, 0); })(x).to_string(), {"'axes': '0'"}));
}

TEST_CASE("composite: names are known of the simplified program's values") {
  const Jaxpr j = make_jaxpr([](Array x, Array y) { return nn::gelu(matmul(x, y)) + nn::relu(x); })(ones({3, 3}), ones({3, 3}));
  const detail::SimplifiedProgram p = detail::simplify_with_names(j);
  REQUIRE(p.names.size() == 2);
  for (const detail::NamedValue& n : p.names) {
    const bool gelu = n.name == "weft.gelu";
    CHECK((gelu || n.name == "weft.relu"));
    const auto& eqns = p.program.eqns();
    const auto maker = [&](detail::Var v) {
      const auto found = std::find_if(eqns.begin(), eqns.end(), [&](const auto& e) { return e.outputs[0] == v; });
      return found == eqns.end() ? std::string() : std::string(found->primitive());
    };
    CHECK(maker(n.operand) == std::string(gelu ? "dot_general" : ""));
    CHECK(maker(n.result) == std::string(gelu ? "mul" : "select_n"));
  }
}
