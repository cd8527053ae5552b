// composite: a call with a name, which every transform sees through.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include "tests/messages.h"
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
