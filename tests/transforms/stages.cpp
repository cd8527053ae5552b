// The stages of compilation.
#include <sstream>

#include "tests/transforms/checks.h"

namespace {
using namespace weft;
using namespace weft::test;

struct Layer {
  Array w, b;
};

TEST_CASE("stages of a function, from shapes only") {
  auto f = jit([](const Layer& l, Array x, int n) { return std::pair{matmul(x, l.w) + l.b, n * sum(x)}; }, {.name = "predict"});
  const Layer abstract{ShapeDtypeStruct{{3, 2}, float32}, ShapeDtypeStruct{{2}, float32}};
  const auto traced = f.trace(abstract, ShapeDtypeStruct{{4, 3}, float32}, 2);
  CHECK(traced.jaxpr().in_avals().size() == 3);
  const auto compiled = traced.lower().compile();
  const Layer l{ones({3, 2}), array({1.f, 2.f})};
  const auto [y, s] = compiled(l, ones({4, 3}), 2);
  CHECK(near(y, {4, 5, 4, 5, 4, 5, 4, 5}));
  CHECK(near(s, {24}));
  CHECK(compiled.memory_analysis().output_size_in_bytes >= 36);
  CHECK(has(compiled.as_text("jaxpr"), "f32[4,3]"));
  CHECK(refuses<ShapeError>([&] { compiled(l, ones({5, 3}), 2); }, {"predict", "args[1]", "f32[5,3]", "f32[4,3]"}));
  CHECK(refuses<DTypeError>([&] { compiled(l, ones({4, 3}, int32), 2); }, {"args[1]", "i32[4,3]"}));
  CHECK(refuses<PytreeError>([&] { compiled(l, ones({4, 3}), 3); }, {"args[2]", "3", "2"}));
  CHECK(near(jit([&](Array x) { return compiled(l, x, 2).second; })(ones({4, 3})), {24}));
}

TEST_CASE("eval_shape gives the function's own type") {
  const Layer l = eval_shape([](Array x) { return Layer{sum(x, 0), convert(x, float16)}; }, ShapeDtypeStruct{{4, 3}, float32});
  CHECK(l.w.shape() == Shape{3});
  CHECK(l.b.dtype() == float16);
  CHECK_THROWS_AS(l.w + 1, TracerError);
}

TEST_CASE("programs are callables, and transforms make others of them") {
  auto f = [](Array x, Array y) { return sin(x) * y; };
  const Jaxpr j = make_jaxpr(f)(ones(2), 3.f);
  CHECK(near(j(array({0.f, 1.f}), 2.f)[0], {0, 2 * std::sin(1)}));
  CHECK(near(grad(make_jaxpr([](Array x) { return sum(x * x); })(ones(2)))(array({1.f, 3.f})), {2, 6}));
  CHECK(near(jit(j)(ones(2), 2.f)[0], {2 * std::sin(1), 2 * std::sin(1)}));
  const Jaxpr d = jvp_jaxpr(j);
  CHECK(d.in_avals().size() == 4);
  CHECK(near(d(zeros(2), 3.f, ones(2), 0.f)[1], {3, 3}));
  const Jaxpr b = batch_jaxpr(j, {.in_axes = {0, none}, .out_axes = 1, .axis_size = 5});
  CHECK(b.in_avals()[0].shape == Shape{5, 2});
  CHECK(b.out_avals()[0].shape == Shape{2, 5});
  CHECK(refuses<AxisError>([&] { batch_jaxpr(j); }, {"batch_jaxpr", "axis_size"}));
  const Jaxpr t = transpose_jaxpr(make_jaxpr([](Array x, Array y) { return 2 * x + y; })(ones(2), ones(2)));
  CHECK(t(ones(2)).size() == 2);
  CHECK(near(t(ones(2))[0], {2, 2}));
  for (const Jaxpr& p : {j, d, b, t}) {
    p.check();
    CHECK(parse(p.to_string()) == p);
  }
}

TEST_CASE("analyses of a compiled function print") {
  const auto compiled = jit([](Array x) { return x * 2 + 1; }).lower(ones(256)).compile();
  CHECK(fmt::format("{}", compiled.cost_analysis()) == "512 flops, 2048 bytes accessed");
  std::ostringstream text;
  text << compiled.memory_analysis();
  CHECK(text.str() == "bytes of arguments: 1024, of results: 1024, of temporaries: 0, of results in the memory of arguments: 0");
}

TEST_CASE("a mesh along one axis needs no shape") {
  const Mesh m({devices()[0]}, {"x"});
  CHECK(m.shape() == Shape{1});
  CHECK(m.axis_names() == std::vector<std::string>{"x"});
  CHECK(refuses<ShardingError>([] { Mesh({devices()[0]}, {"x", "y"}); }, {"Mesh", "1 axis", "2 names"}));
}

TEST_CASE("captured arrays are constants of the program") {
  const Array c = array({1.f, 2.f});
  const Jaxpr j = make_jaxpr([&](Array x) { return x * c; })(ones(2));
  CHECK(j.in_avals().size() == 1);
  CHECK(near(j(array({3.f, 4.f}))[0], {3, 8}));
}

}  // namespace
