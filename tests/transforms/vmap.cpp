// vmap.
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
