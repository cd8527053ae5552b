// Trees of arrays as arguments and results.
#include <complex>
#include <map>

#include "tests/transforms/checks.h"

namespace {
using namespace weft;
using namespace weft::test;

struct Layer {
  Array w, b;
};
enum class Mode { a, b };
struct Options {
  int depth;
  std::string mode;
};
struct Net {
  std::vector<Layer> layers;
  std::map<std::string, Array> scales;
  std::optional<Array> shift;
  std::array<Array, 2> ends;
  std::pair<Array, Layer> extra;
  Mode mode = Mode::a;
  Options options = {};
};
struct Fixed {
  const Array w;
  const int n = 3;
};
class Counter {
 public:
  explicit Counter(Array total = 0, int step = 1) : total_(total), step_(step) {}
  int step() const { return step_; }
  Array total() const { return total_; }
  WEFT_PYTREE(Counter, total_, step_)

 private:
  Array total_;
  int step_;
};

Net net() { return {{{2.f, 1.f}, {3.f, -1.f}}, {{"out", 5.f}, {"b", 1.f}}, 10.f, {7.f, 8.f}, {2.f, {0.f, 4.f}}}; }

TEST_CASE("leaves stand in the order of declaration, map entries by key") {
  std::vector<double> values;
  for (const Array& x : tree::leaves(net())) values.push_back(x.item<double>());
  CHECK(values == std::vector<double>{2, 1, 3, -1, 1, 5, 10, 7, 8, 2, 0, 4});
  CHECK(tree::structure(net()).num_leaves() == 12);
  CHECK(tree::leaves(std::tuple{1, std::vector<float>{2.f, 3.f}, Layer{4.f, 5.f}}).size() == 5);
}

TEST_CASE("structures: sizes, keys, presence and static fields") {
  const auto same = [](auto change) {
    Net n = net();
    change(n);
    return tree::structure(n) == tree::structure(net());
  };
  CHECK(same([](Net& n) { n.layers[0].w = ones({4, 4}); }));
  CHECK(!same([](Net& n) { n.layers.pop_back(); }));
  CHECK(!same([](Net& n) { n.scales = {{"out", 5.f}, {"c", 1.f}}; }));
  CHECK(!same([](Net& n) { n.shift.reset(); }));
  CHECK(!same([](Net& n) { n.mode = Mode::b; }));
  CHECK(!same([](Net& n) { n.options.mode = "x"; }));
}

TEST_CASE("trees are rebuilt: const members, registered classes") {
  const Fixed f = tree::map([](Array x) { return x + 1; }, Fixed{2.f, 5});
  CHECK(near(f.w, {3}));
  CHECK(f.n == 5);
  const Counter c = grad([](const Counter& k) { return k.total() * k.step(); })(Counter(2.f, 7));
  CHECK(near(c.total(), {7}));
  CHECK(c.step() == 7);
}

TEST_CASE("messages name the place") {
  Net n = net();
  n.layers.pop_back();
  CHECK(refuses<PytreeError>([&] { tree::map([](Array a, Array) { return a; }, net(), n); }, {"tree::map", "trees[0].layers", "2", "1"}));
  n = net();
  n.options.depth = 4;
  CHECK(refuses<PytreeError>([&] { tree::map([](Array a, Array) { return a; }, net(), n); },
                             {"trees[0].options.depth is 0", "trees[1].options.depth is 4"}));
  CHECK(refuses<PytreeError>([&] { tree::unflatten(tree::structure(net()), {ones(1)}); }, {"12", "1"}));
  const std::vector<std::string> paths = detail::leaf_paths(detail::skeleton_of_args(std::tuple{net(), std::vector<Array>(2), Counter(1)}));
  CHECK(paths[3] == "args[0].layers[1].b");
  CHECK(paths[5] == "args[0].scales[\"out\"]");
  CHECK(paths[8] == "args[0].ends[1]");
  CHECK(paths[13] == "args[1][1]");
  CHECK(paths[14] == "args[2].total_");
}

TEST_CASE("ravel and back, of several dtypes") {
  const auto [flat, unravel] = tree::ravel(std::tuple{arange(3), array({{1.5f}, {2.5f}}), 7});
  CHECK(flat.dtype() == float32);
  CHECK(near(flat, {0, 1, 2, 1.5, 2.5, 7}));
  const auto [a, b, c] = unravel(flat * 2);
  CHECK(a.dtype() == int32);
  CHECK(near(a, {0, 2, 4}));
  CHECK(b.shape() == Shape{2, 1});
  CHECK(near(c, {14}));
  CHECK(refuses<ShapeError>([&, u = unravel] { u(ones(3)); }, {"f32[3]", "6"}));
}

TEST_CASE("arithmetic of trees: eagerly, compiled, mapped and differentiated") {
  struct Layer {
    Array w, b;
  };
  const Layer a{array({{1.f, 2.f}, {3.f, 4.f}}), array({5.f, 6.f})}, b{full({2, 2}, 2.f), full({2}, -1.f)};
  CHECK(tree::size(a) == 6);
  CHECK(tree::size(7.f) == 1);
  CHECK(tree::size(std::vector<Array>{}) == 0);
  CHECK(near(tree::sum(a), {21}));
  CHECK(near(tree::vdot(a, b), {20 - 11}));
  CHECK(near(tree::norm(a), {std::sqrt(91.)}));
  CHECK(tree::all_close(tree::add(a, b), Layer{a.w + 2, a.b - 1}));
  CHECK(tree::all_close(tree::sub(a, b), Layer{a.w - 2, a.b + 1}));
  CHECK(tree::allclose(tree::scale(0.5, a), Layer{a.w / 2, a.b / 2}));
  CHECK(tree::allclose(a, Layer{a.w * 1.01f, a.b}, {.rtol = 0.1}));
  CHECK(!tree::allclose(a, Layer{a.w * 1.01f, a.b}, {.rtol = 1e-3}));
  CHECK(tree::all_close(tree::zeros_like(a), Layer{zeros({2, 2}), zeros(2)}));
  CHECK(tree::all_close(tree::ones_like(a), Layer{ones({2, 2}), ones(2)}));
  CHECK(tree::all_close(tree::full_like(a, 3), Layer{full({2, 2}, 3.f), full({2}, 3.f)}));
  // Each leaf keeps its dtype; the norm of complex numbers is real.
  const auto mixed = tree::scale(array(2.0, float64), std::pair{ones(2, bfloat16), arange(3)});
  CHECK(mixed.first.dtype() == bfloat16);
  CHECK(mixed.second.dtype() == int32);
  const Array z = array({std::complex<float>(3, 4)});
  CHECK(near(tree::norm(std::pair{z, z}), {std::sqrt(50.)}));
  CHECK(near(tree::norm(std::vector<Array>{}), {0}));

  auto clipped = [](const Layer& t) { return tree::scale(minimum(1, 1 / tree::norm(t)), t); };
  const Layer want{a.w / std::sqrt(91.f), a.b / std::sqrt(91.f)};
  CHECK(tree::all_close(clipped(a), want));
  CHECK(tree::all_close(jit(clipped)(a), want));
  const Layer both = tree::stack(std::vector<Layer>{a, tree::zeros_like(a), b});
  CHECK(both.w.shape() == Shape{3, 2, 2});
  const Layer lanes = jit(vmap(clipped))(tree::stack(std::vector<Layer>{a, b}));
  CHECK(tree::all_close(Layer{lanes.w(0), lanes.b(0)}, want));
  CHECK(tree::all_close(grad([](const Layer& t) { return tree::norm(t); })(a), want));
  CHECK(tree::all_close(grad([&](const Layer& t) { return tree::vdot(t, b); })(a), b));
  CHECK(&block_until_ready(a) == &a);

  CHECK(refuses<PytreeError>([] { tree::stack(std::vector<Layer>{}); }, {"tree::stack", "no trees"}));
  CHECK(
      refuses<PytreeError>([] { tree::vdot(std::vector<Array>{1.f}, std::vector<Array>{1.f, 2.f}); }, {"tree::vdot", "a", "b", "1", "2"}));
  CHECK(refuses<ShapeError>([&] { tree::add(a, Layer{ones({2, 3}), ones(2)}); }, {"tree::map", ".w", "f32[2,2]", "f32[2,3]"}));
}

TEST_CASE("all_close") {
  CHECK(tree::all_close(net(), net()));
  Net n = net();
  n.ends[1] = n.ends[1] + 1e-3;
  CHECK(!tree::all_close(net(), n));
  CHECK(tree::all_close(net(), n, 1e-2));
  CHECK(!tree::all_close(array({NAN}), array({NAN})));
}

TEST_CASE("std::nullopt and nullptr are none as an axis, an index, a bound, a spec and an operand") {
  const Array x = reshape(arange(6.f), {2, 3}), y = array({1.f, 2.f});
  const auto product = [](Array a, Array b) { return a * b; };
  CHECK(near(vmap(product, {.in_axes = {0, std::nullopt}})(x, array(2.f)), {0, 2, 4, 6, 8, 10}));
  CHECK(near(sum(x, std::nullopt), {15}));
  CHECK(x(std::nullopt, 1).shape() == Shape{1, 3});
  CHECK(near(x(0, slice(std::nullopt, 2)), {0, 1}));
  CHECK(near(clip(y, std::nullopt, 1.5f), {1, 1.5}));
  CHECK(fmt::format("{}", sharding::P(std::nullopt, "x")) == fmt::format("{}", sharding::P(none, "x")));
  CHECK(fmt::format("{}", sharding::P("x", nullptr)) == fmt::format("{}", sharding::P("x", none)));
  CHECK(near(vmap(product, {.in_axes = {0, nullptr}})(x, array(2.f)), {0, 2, 4, 6, 8, 10}));
  CHECK(x(nullptr, 1).shape() == Shape{1, 3});
  const auto [last, nothing] = scan([](Array c, auto) { return std::pair{c * 2, std::nullopt}; }, array(1.f), std::nullopt, {.length = 3});
  CHECK(near(last, {8}));
}

}  // namespace
