// Errors about several operands that don't fit name all of them; those about traced values say where the value comes from.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <thread>

#include "tests/messages.h"

using namespace weft;
using test::has;
using test::message_of;

namespace {
std::string line(int n) { return "operands.cpp:" + std::to_string(n); }
}  // namespace

TEST_CASE("three operands that don't fit are all named, and where they come from") {
  const Array a = ones(2), b = ones(3), c = ones(4);
  CHECK(has(message_of<ShapeError>([&] { (void)where(a > 0, b, c); }), {"where: bool[2], f32[3] and f32[4]", line(__LINE__)}));
  CHECK(has(message_of<ShapeError>([&] { (void)clamp(a, b, c); }), {"clamp", "f32[2]", "f32[3]", "f32[4]"}));
  CHECK(has(message_of<ShapeError>([&] { (void)clip(b, a, c); }), {"f32[2]", "f32[3]"}));
  CHECK(has(message_of<ShapeError>([&] { (void)concatenate({ones({2, 2}), ones({2, 3}), ones({3, 4})}, 1); }),
            {"concatenate", "f32[2,2]", "f32[2,3]", "f32[3,4]"}));
  CHECK(has(message_of<ShapeError>([&] { (void)stack({a, b, c}); }), {"f32[2]", "f32[3]", "f32[4]"}));
  CHECK(has(message_of<ShapeError>([&] { (void)einsum("i,i,i->", a, b, c); }), {"einsum", "f32[2]", "f32[3]", "f32[4]"}));
  CHECK(has(message_of<ShapeError>([&] { (void)select_n(convert(ones(2), int32), a, b, c); }), {"select_n", "f32[2]", "f32[3]", "f32[4]"}));
  const std::string text = message_of<ShapeError>([&] { jit([](Array m, Array x, Array y) { return where(m > 0, x, y); })(a, b, c); });
  CHECK(has(text, {"operand 1, bool[2], was made by gt at ", "operand 2, f32[3], is args[1] of jit of <lambda>",
                   "operand 3, f32[4], is args[2] of jit of <lambda>"}));
}

TEST_CASE("vmap names the argument whose size is the odd one") {
  const auto call = [](std::int64_t second) {
    return message_of<ShapeError>(
        [=] { vmap([](Array a, Array b, Array c) { return a + b + c; })(ones({3, 2}), ones({second, 2}), ones({3, 2})); });
  };
  CHECK(has(call(5),
            {"args[0] is f32[3,2]", "args[1] is f32[5,2], whose axis 0 has size 5", "and args[2] is f32[3,2]", "args[1] is the odd one"}));
}

TEST_CASE("a leaked value is named by the line that made it") {
  Array kept;
  const int made = __LINE__ + 1;
  auto keep = [&](Array x) { return kept = x * 2.f, x; };
  jit(keep, {.name = "keeper"})(ones(3));
  const int used = __LINE__ + 1;
  const std::string text = message_of<LeakedTracerError>([&] { (void)(kept + 1.f); });
  CHECK(has(text, {"add: an operand f32[3]", "of a program that is over (jit of keeper), made by mul at ", line(made), line(used)}));
  // Also where it captured something, so that its variables were numbered anew.
  const Array other = ones(3);
  const int again = __LINE__ + 1;
  auto capture = [&](Array x) { return kept = sin(x + other), x + other; };
  jit(capture)(ones(3));
  CHECK(has(message_of<LeakedTracerError>([&] { (void)cos(kept); }), {"cos", "made by sin at ", line(again)}));
}

TEST_CASE("a value that another thread is tracing is not called one of a program that is over") {
  std::string text;
  const int used = __LINE__ + 1;
  const auto use = [&](const Array& x) { text = message_of<LeakedTracerError>([&] { (void)(x + 1.f); }); };
  auto f = [&](Array x) {
    std::thread([&] { use(x); }).join();
    return x;
  };
  jit(f, {.name = "busy"})(ones(3));
  CHECK(has(text, {"add: an operand f32[3] is being traced by another thread (jit of busy)", line(used)}));
}

TEST_CASE("tree::map names the leaf at which its function failed") {
  struct Layer {
    Array w, b;
  };
  const std::vector<Layer> a{{ones(2), ones(3)}, {ones(2), ones(3)}}, b{{ones(2), ones(3)}, {ones(2), ones(4)}};
  CHECK(has(message_of<ShapeError>([&] { tree::map([](Array x, Array y) { return x + y; }, a, b); }),
            {"add: f32[3] and f32[4]", "\n  in tree::map, at trees[0][1].b"}));
  CHECK(has(message_of<ShapeError>([&] { tree::map([](Array x) { return reshape(x, {2}); }, a); }),
            {"reshape: f32[3]", "\n  in tree::map, at the tree[0].b"}));
  CHECK_THROWS_AS(tree::map([](Array) -> Array { throw 7; }, a), int);
}

TEST_CASE("an argument that holds nothing is named by its path") {
  struct Model {
    Array w;
    std::vector<Array> layers;
  };
  auto f = [](const Model& m) { return sum(m.w); };
  const std::string says = "is an Array that was default-constructed or moved from and holds nothing; assign a value to it first";
  CHECK(has(message_of<Error>([&] { grad(f)(Model{}); }), {"<lambda>: args[0].w " + says, line(__LINE__)}));
  CHECK(has(message_of<Error>([&] { grad(f)(Model{ones(2), {ones(1), Array()}}); }), {"args[0].layers[1]", says}));
  CHECK(has(message_of<Error>([&] { vmap(f)(Model{}); }), {"args[0].w", says}));
  CHECK(has(message_of<Error>([&] { jit(f)(Model{}); }), "args[0].w"));
  CHECK(has(message_of<Error>([&] { make_jaxpr(f)(Model{}); }), {"args[0].w", says}));
}

TEST_CASE("a compiled function says which structure it was compiled for") {
  const auto compiled = jit([](std::vector<Array> v) { return sum(v[0]); }).lower(std::vector<Array>{ones(2)}).compile();
  CHECK(has(message_of<PytreeError>([&] { compiled(std::vector<Array>{ones(2), ones(2)}); }),
            "args[0] is a tree of 2 elements, not a tree of 1 element"));
}

TEST_CASE("a condition on an array names the operators that take whole arrays") {
  const Array x = arange(3);
  CHECK(has(message_of<ShapeError>([&] { (void)where(x > 0 && x < 2, x, 0); }), "use any or all, and &, | and ~ instead of &&, || and !"));
  CHECK(has(message_of<ConcretizationError>([&] { jit([](Array a) { return where(a > 0 && a < 2, a, 0); })(1); }),
            "&, | and ~ instead of &&, || and !"));
}

TEST_CASE("an axis of size 0 has no positions, and an empty index of it is fine") {
  const Array empty = zeros({0, 3});
  const char* const says = "index: axis 0 of f32[0,3] has size 0: there is no position to index";
  CHECK(has(message_of<AxisError>([&] { empty(0); }), {says}));
  CHECK(has(message_of<AxisError>([&] { empty(array({0, 1})); }), {says}));
  CHECK(has(message_of<AxisError>([&] { return empty.at(-1).set(1); }), {says}));
  CHECK(empty(array(std::vector<int>{})).shape() == Shape{0, 3});
  CHECK(empty(empty > 0).shape() == Shape{0});
  CHECK(empty.at(array({0})).add(1).shape() == Shape{0, 3});
}
