// vmap, and functions with a rule of their own for it.
#include <weft/transforms.h>

#include <stdexcept>

#include "tests/transforms/checks.h"

namespace {
using namespace weft;
using namespace weft::test;

struct Layer {
  Array w, b;
};

TEST_CASE("axes of arguments and results") {
  const Array x = reshape(arange(6, float32), {2, 3});
  auto f = [](Array a, Array b) { return std::tuple{a + b, b}; };
  const auto [s, same] = vmap(f, {.in_axes = {1, none}, .out_axes = {-1, none}})(x, array({1.f, 2.f}));
  CHECK(s.shape() == Shape{2, 3});
  CHECK(near(s, {1, 2, 3, 5, 6, 7}));
  CHECK(same.shape() == Shape{2});
  CHECK(vmap([](Array a, Array b) { return a * b; }, {.in_axes = {none, -1}, .out_axes = 1})(ones(4), ones({4, 3})).shape() == Shape{4, 3});
  CHECK(near(vmap([] { return Array(7); }, {.in_axes = {}, .axis_size = 3})(), {7, 7, 7}));
}

TEST_CASE("prefixes go down a tree, static fields left out or not") {
  struct Static {
    Array w;
    int n;
    Array b;
  };
  auto f = [](const Static& s) { return s.w * s.n + s.b; };
  const Static s{array({1.f, 2.f}), 3, 10.f};
  CHECK(near(vmap(f, {.in_axes = {{0, none}}})(s), {13, 16}));
  CHECK(near(vmap(f, {.in_axes = {{0, none, none}}})(s), {13, 16}));
}

TEST_CASE("what vmap refuses") {
  auto same = [](auto x) { return x; };
  auto plus = [](Array x, Array y) { return x + y; };
  const Array a = ones({3, 4});
  CHECK(refuses<ShapeError>([&] { vmap(plus)(a, ones({2, 4})); }, {"vmap", "args[0]", "f32[3,4]", "args[1]", "f32[2,4]"}));
  CHECK(refuses<AxisError>([&] { vmap(same, {.in_axes = 3})(a); }, {"vmap", "3", "f32[3,4]"}));
  CHECK(refuses<AxisError>([&] { vmap(same)(1.f); }, {"vmap", "args[0]", "f32[]"}));
  CHECK(refuses<AxisError>([&] { vmap(same, {.in_axes = none})(a); }, {"vmap", "axis_size"}));
  CHECK(refuses<AxisError>([&] { vmap(same, {.out_axes = none})(a); }, {"vmap", "out_axes", "result", "none"}));
  CHECK(refuses<AxisError>([&] { vmap(same, {.out_axes = 3})(a); }, {"vmap", "out_axes", "3"}));
  CHECK(refuses<ShapeError>([&] { vmap(same, {.axis_size = 5})(a); }, {"vmap", "axis_size", "5", "f32[3,4]"}));
  CHECK(refuses<PytreeError>([&] { vmap(same, {.in_axes = {0, 0}})(a); }, {"vmap", "in_axes", "2", "1"}));
  CHECK(refuses<PytreeError>([&] { vmap(same, {.in_axes = {{0, none, 0}}})(std::vector<Array>{a, a}); },
                             {"vmap", "in_axes", "args[0]", "3", "2"}));
  CHECK(refuses<ConcretizationError>([&] { vmap([](Array x) { return x.item<float>(); })(ones(3)); }, {"item", "f32[]"}));
}

TEST_CASE("vmap of an inner vmap may use what the outer one maps") {
  const Array x = array({1.f, 2.f}), y = array({10.f, 20.f, 30.f});
  auto rows = vmap([&](Array a) { return vmap([&](Array b) { return a * b; })(y); });
  CHECK(near(rows(x), {10, 20, 30, 20, 40, 60}));
  CHECK(near(vmap(vmap([](Array a, Array b) { return a * b; }, {.in_axes = {none, 0}}), {.in_axes = {0, none}})(x, y),
             {10, 20, 30, 20, 40, 60}));
}

using Flags = std::vector<bool>;

/// x + y, whose rule adds 100 more, so that one sees which of the two ran.
auto marked() {
  return custom_vmap([](Array x, Array y) { return x + y; },
                     [](std::int64_t, const Flags& batched, Array x, Array y) {
                       return std::pair{(batched[0] ? x : expand_dims(x, 0)) + (batched[1] ? y : expand_dims(y, 0)) + 100, true};
                     });
}

TEST_CASE("custom_vmap: vmap follows the rule, everything else the function") {
  const auto f = marked();
  const Array x = array({1.f, 2.f, 3.f});
  CHECK(near(f(1.f, 2.f), {3}));
  CHECK(near(jit(f)(x, x), {2, 4, 6}));
  CHECK(near(vmap(f)(x, x), {102, 104, 106}));
  CHECK(near(jit(vmap(f))(x, x), {102, 104, 106}));
  CHECK(near(vmap(jit(f))(x, x), {102, 104, 106}));
  CHECK(near(vmap(f, {.in_axes = {0, none}})(x, 1.f), {102, 103, 104}));
  CHECK(near(vmap(f, {.in_axes = {none, 0}})(1.f, x), {102, 103, 104}));
  const Array wide = arange(6.f).reshape({2, 3});
  CHECK(tree::all_close(vmap(f, {.in_axes = 1})(wide, wide), 2 * wide.T() + 100));
  CHECK(near(vmap([&](Array v) { return cond(v > 1.5f, [&](Array u) { return f(u, u); }, [](Array u) { return u; }, v); })(x),
             {1, 104, 106}));
  CHECK(near(vmap([&](Array v) { return fori_loop(0, 2, [&](Array, Array u) { return f(u, v); }, v); })(x), {203, 206, 209}));
  const auto eager = disable_jit();
  CHECK(near(vmap(jit(f))(x, x), {102, 104, 106}));
}

TEST_CASE("custom_vmap: derivatives are the function's, before and after vmap") {
  int asked = 0;
  const auto f = custom_vmap([](Array x) { return sin(x) * x; }).def_vmap([&](std::int64_t n, const Flags& batched, Array xs) {
    ++asked;
    CHECK((n == 3 && batched == Flags{true} && xs.shape() == Shape{3}));
    return std::pair{sin(xs) * xs, true};
  });
  const auto plain = [](Array x) { return sin(x) * x; };
  const Array x = array({.1f, .2f, .3f});
  CHECK(tree::all_close(grad(f)(.3f), grad(plain)(.3f)));
  CHECK(tree::all_close(vmap(grad(f))(x), vmap(grad(plain))(x)));
  CHECK(tree::all_close(jvp(f, .3f, 1.f), jvp(plain, .3f, 1.f)));
  CHECK(asked == 0);
  CHECK(tree::all_close(grad([&](Array v) { return sum(vmap(f)(v)); })(x), vmap(grad(plain))(x)));
  CHECK(tree::all_close(jacfwd(vmap(f))(x), diag(vmap(grad(plain))(x))));
  CHECK(tree::all_close(hessian([&](Array v) { return sum(vmap(f)(v)); })(x), hessian([&](Array v) { return sum(plain(v)); })(x)));
  CHECK(asked > 0);
}

struct Halves {
  Array a, b;
};

TEST_CASE("custom_vmap: trees, static arguments, results that are the same for all lanes, nested maps") {
  const auto f = custom_vmap([](Halves p, int power) { return std::pair{p.a * power, Halves{p.b, 2 * p.b}}; },
                             [](std::int64_t, const Flags& batched, Halves p, int power) {
                               CHECK(batched == Flags{true, false});
                               return std::pair{std::pair{p.a * power + 1, Halves{p.b, 2 * p.b}}, std::tuple{true, false, false}};
                             });
  const auto [first, second] = vmap([&](Array a) { return f(Halves{a, 5.f}, 3); })(array({1.f, 2.f}));
  CHECK(near(first, {4, 7}));
  CHECK(near(second.b, {10, 10}));
  // The rule of the inner map, whose own operations the outer one maps.
  const Array grid = arange(6.f).reshape({2, 3});
  CHECK(tree::all_close(vmap(vmap(marked()))(grid, grid), 2 * grid + 100));
  CHECK(tree::all_close(vmap([&](Array row) { return vmap([&](Array v) { return marked()(v, sum(row)); })(row); })(grid),
                        grid + sum(grid, 1, {.keepdims = true}) + 100));
  // A rule that calls such a function has the rule of that for the outer map.
  const auto outer =
      custom_vmap([](Array v) { return v; }, [](std::int64_t, const Flags&, Array v) { return std::pair{marked()(v, v), true}; });
  CHECK(tree::all_close(vmap(vmap(outer))(grid), 2 * grid + 100));
}

TEST_CASE("custom_vmap: what rules must not give") {
  const Array x = array({1.f, 2.f});
  const auto with = [&](auto rule) { return [=] { vmap(custom_vmap([](Array v) { return v; }, rule))(x); }; };
  CHECK(refuses<ShapeError>(with([](std::int64_t, const Flags&, Array v) { return std::pair{sum(v), true}; }),
                            {"custom_vmap: result 0", "f32[]", "f32[2]"}));
  CHECK(refuses<ShapeError>(with([](std::int64_t, const Flags&, Array v) { return std::pair{v, false}; }), {"f32[2]", "isn't batched"}));
  CHECK(refuses<DTypeError>(with([](std::int64_t, const Flags&, Array v) { return std::pair{v.astype(int32), true}; }),
                            {"i32[2]", "f32[2]"}));
  CHECK(refuses<PytreeError>(with([](std::int64_t, const Flags&, Array v) { return std::pair{v, Flags{true, true}}; }),
                             {"custom_vmap", "1 array"}));
  const auto all_lanes = [](std::int64_t, const Flags&, Array v) { return std::pair{v, true}; };
  CHECK(refuses<TracerError>([&] { vmap([&](Array v) { return custom_vmap([=](Array u) { return u + v; }, all_lanes)(v); })(x); },
                             {"custom_vmap", "captures", "as an argument"}));
  const auto throws = custom_vmap([](Array v) { return v; },
                                  [](std::int64_t, const Flags&, Array v) {
                                    if (v.ndim() == 1) throw std::runtime_error("no such rule");
                                    return std::pair{v, true};
                                  });
  CHECK_THROWS_AS(vmap(throws)(x), std::runtime_error);
}

TEST_CASE("custom_vmap in a program's text: the body") {
  const Jaxpr j = make_jaxpr(marked())(1.f, 2.f);
  CHECK(has(j.to_string(), "custom_vmap_call"));
  const Jaxpr read = parse(j.to_string());
  CHECK(read == j);
  const Array x = array({1.f, 2.f});
  CHECK(near(vmap(read)(x, x)[0], {2, 4}));
  CHECK(near(vmap(j)(x, x)[0], {102, 104}));
}

TEST_CASE("sequential_vmap: one lane after another, in a loop") {
  const auto f = [](Array x, std::pair<Array, Array> p) { return std::tuple{x * p.first, p.second + x}; };
  const auto g = sequential_vmap(f);
  const Array x = arange(6.f).reshape({3, 2}), y = array({1.f, 2.f, 3.f});
  const auto mapped = [&](auto h) { return vmap([=](Array v, Array s) { return h(v, std::pair{s, array({1.f, 2.f})}); }); };
  CHECK(tree::all_close(mapped(g)(x, y), mapped(f)(x, y)));
  CHECK(tree::all_close(jit(mapped(g))(x, y), mapped(f)(x, y)));
  CHECK(has(make_jaxpr(mapped(g))(x, y).to_string(), "scan["));
  CHECK(tree::all_close(grad([&](Array v) { return sum(std::get<0>(mapped(g)(v, y))); })(x),
                        grad([&](Array v) { return sum(std::get<0>(mapped(f)(v, y))); })(x)));
}

}  // namespace

TEST_CASE("in a map with a name, what is the same for all lanes stays so, whatever is done with it") {
  const Array same = arange(6);
  const auto larger = [](Array a, Array b) { return where(a > b, a, b); };
  const auto f = [&](Array lane) {
    const Array parts = bitcast_convert(same, uint16);
    return std::tuple{parts, bitcast_convert(parts, uint32), jit(larger)(same, 2), reduce(same, 0, larger, 0), psum(lane, "i")};
  };
  const auto [parts, whole, clipped, largest, total] = vmap(f, {.axis_name = "i"})(ones(3));
  for (int i = 0; i < 3; ++i) {
    CHECK(array_equal(parts(i), bitcast_convert(same, uint16)));
    CHECK(array_equal(whole(i), same));
    CHECK(array_equal(clipped(i), maximum(same, 2)));
    CHECK(largest(i).item<int>() == 5);
    CHECK(total(i).item<float>() == 3);
  }
}
