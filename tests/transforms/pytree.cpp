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

TEST_CASE("all_close") {
  CHECK(tree::all_close(net(), net()));
  Net n = net();
  n.ends[1] = n.ends[1] + 1e-3;
  CHECK(!tree::all_close(net(), n));
  CHECK(tree::all_close(net(), n, 1e-2));
  CHECK(!tree::all_close(array({NAN}), array({NAN})));
}

}  // namespace
