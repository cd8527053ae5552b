// Every kind of node that a pytree can have, under every transform: containers of std, smart pointers, variants, C arrays, bases, many
// fields, recursive types.
#include <deque>
#include <forward_list>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#include "tests/transforms/checks.h"

namespace {
using namespace weft;
using namespace weft::test;

struct Empty {};
struct Node {
  Array v;
  std::shared_ptr<Node> next;
};
/// One field of each kind; the values of its leaves are 1, 2, 3, ... times `unit`.
struct Everything : Empty {
  Array array;
  std::deque<Array> deque;
  std::list<Array> list;
  std::forward_list<Array> forward_list;
  std::unordered_map<std::string, Array> unordered_map;
  std::variant<int, Array, std::vector<Array>> variant;
  std::array<Array, 2> std_array;
  Array c_array[2][2];
  std::map<int, Array> by_number;
  std::map<std::pair<int, int>, Array> by_pair;
  std::multimap<int, Array> multimap;
  std::shared_ptr<const Array> shared;
  std::pair<int, std::tuple<Array, float>> pair;
  std::optional<Array> optional;
  std::shared_ptr<Node> node;
  std::set<double> set = {1, 2};
  std::unordered_set<int> unordered_set = {3, 4};
  char name[8] = "abc";
  int number = 7;
  std::shared_ptr<std::string> text = std::make_shared<std::string>("text");
};
constexpr int kLeaves = 25;
Everything everything(float unit, Shape shape = {}) {
  auto a = [&](int i) { return full(shape, static_cast<float>(i) * unit); };
  return {{},
          a(1),
          {a(2), a(3)},
          {a(4)},
          {a(5), a(6)},
          {{"z", a(8)}, {"b", a(7)}},
          a(9),
          {a(10), a(11)},
          {{a(12), a(13)}, {a(14), a(15)}},
          {{5, a(17)}, {-2, a(16)}},
          {{{1, 2}, a(18)}},
          {{1, a(19)}, {1, a(20)}},
          std::make_shared<const Array>(a(21)),
          {3, {a(22), 2.f}},
          a(23),
          std::make_shared<Node>(Node{a(24), std::make_shared<Node>(Node{a(25), nullptr})})};
}
/// The sum of k times the k-th leaf, and once more by hand through some of the fields.
Array weighted(const Everything& e) {
  Array s = 0.f;
  int k = 0;
  for (const Array& x : tree::leaves(e)) s = s + ++k * x;
  return s + 100 * e.deque[1] * e.node->next->v + 100 * e.unordered_map.at("z") * std::get<1>(e.variant) + 100 * e.c_array[1][0];
}
double expected(double unit) {
  double s = 0;
  for (int k = 1; k <= kLeaves; ++k) s += k * k * unit;
  return s + 100 * (3 * unit) * (25 * unit) + 100 * (8 * unit) * (9 * unit) + 100 * 14 * unit;
}
std::vector<double> values_of(const auto& tree) {
  std::vector<double> out;
  for (const Array& x : tree::leaves(tree)) out.push_back(x.item<double>());
  return out;
}

TEST_CASE("every kind of node: leaves, paths, rebuilding") {
  const Everything e = everything(1);
  std::vector<double> wanted;
  for (int i = 1; i <= kLeaves; ++i) wanted.push_back(i);
  CHECK(values_of(e) == wanted);
  const std::vector<std::string> paths = detail::leaf_paths(detail::skeleton_of_args(std::tuple{e}));
  CHECK(paths[2] == "args[0].deque[1]");
  CHECK(paths[6] == "args[0].unordered_map[\"b\"]");
  CHECK(paths[8] == "args[0].variant");
  CHECK(paths[12] == "args[0].c_array[0][1]");
  CHECK(paths[15] == "args[0].by_number[-2]");
  CHECK(paths[24] == "args[0].node.next.v");
  const auto [leaves, structure] = tree::flatten(e);
  CHECK(structure.num_leaves() == kLeaves);
  CHECK(structure == tree::structure(everything(5)));
  const Everything again = tree::unflatten(structure, leaves);
  CHECK(values_of(again) == wanted);
  CHECK(again.number == 7);
  CHECK(again.set == e.set);
  CHECK(again.node != e.node);
  const Everything sum = tree::map([](Array a, Array b) { return a + b; }, e, everything(10));
  CHECK(sum.by_number.at(5).item<float>() == 187.f);
  CHECK(sum.multimap.begin()->second.item<float>() == 209.f);
  const auto [flat, unravel] = tree::ravel(e);
  CHECK(values_of(unravel(flat * 2)) == values_of(everything(2)));
}

TEST_CASE("every kind of node: structures differ") {
  const auto same = [](auto change) {
    Everything e = everything(1);
    change(e);
    const bool equal = tree::structure(e) == tree::structure(everything(1));
    if (!equal) CHECK_THROWS_AS(tree::map([](Array a, Array) { return a; }, e, everything(1)), PytreeError);
    return equal;
  };
  CHECK(same([](Everything& e) { e.deque[0] = ones({3}); }));
  CHECK(!same([](Everything& e) { e.deque.push_back(1.f); }));
  CHECK(!same([](Everything& e) { e.list.clear(); }));
  CHECK(!same([](Everything& e) { e.forward_list.pop_front(); }));
  CHECK(!same([](Everything& e) { e.unordered_map["y"] = 1.f; }));
  CHECK(!same([](Everything& e) { e.unordered_map.erase("b"), e.unordered_map["a"] = 1.f; }));
  CHECK(!same([](Everything& e) { e.variant = 3; }));
  CHECK(!same([](Everything& e) { e.variant = std::vector<Array>{1.f}; }));
  CHECK(!same([](Everything& e) { e.by_number[3] = 1.f; }));
  CHECK(!same([](Everything& e) { e.by_pair = {{{1, 3}, Array(1.f)}}; }));
  CHECK(!same([](Everything& e) { e.multimap.emplace(0, 1.f); }));
  CHECK(!same([](Everything& e) { e.shared = nullptr; }));
  CHECK(!same([](Everything& e) { e.node->next->next = std::make_shared<Node>(Node{1.f, nullptr}); }));
  CHECK(!same([](Everything& e) { e.set = {1, 3}; }));
  CHECK(!same([](Everything& e) { e.unordered_set = {3, 5}; }));
  CHECK(!same([](Everything& e) { e.name[1] = 'x'; }));
  CHECK(!same([](Everything& e) { e.text = std::make_shared<std::string>("other"); }));
  CHECK(same([](Everything& e) { e.text = std::make_shared<std::string>("text"); }));
  Everything other = everything(1);
  other.variant = std::vector<Array>{1.f};
  CHECK(refuses<PytreeError>([&] { tree::map([](Array a, Array) { return a; }, everything(1), other); },
                             {"trees[0].variant", "alternative 1", "alternative 2"}));
}

TEST_CASE("every kind of node: grad, value, jvp, vjp") {
  const Everything e = everything(1);
  CHECK(weighted(e).item<double>() == expected(1));
  const Everything g = grad(weighted)(e);
  std::vector<double> wanted;
  for (int i = 1; i <= kLeaves; ++i) wanted.push_back(i);
  wanted[2] += 2500, wanted[24] += 300, wanted[7] += 900, wanted[8] += 800, wanted[13] += 100;
  CHECK(values_of(g) == wanted);
  CHECK(g.node->next->v.item<float>() == 325.f);
  const auto [y, dy] = jvp(weighted, std::tuple{e}, std::tuple{tree::map([](Array x) { return zeros_like(x) + 1; }, e)});
  double total = 0;
  for (double w : wanted) total += w;
  CHECK(dy.item<double>() == total);
  const auto [z, pull] = vjp(weighted, e);
  CHECK(values_of(std::get<0>(pull(1.f))) == wanted);
}

TEST_CASE("every kind of node: jit sees other values, and traces again for another structure") {
  const auto f = jit(weighted);
  CHECK(f(everything(1)).item<double>() == expected(1));
  const detail::JitCounters before = detail::jit_counters();
  CHECK(f(everything(2)).item<double>() == expected(2));
  CHECK(detail::jit_counters().traces == before.traces);
  Everything e = everything(1);
  e.set = {5};
  CHECK(f(e).item<double>() == expected(1));
  CHECK(detail::jit_counters().traces == before.traces + 1);
  e.list.push_back(0.f);
  CHECK(f(e).item<double>() != expected(1));
  CHECK(detail::jit_counters().traces == before.traces + 2);
  const Everything twice = jit([](Everything x) { return tree::map([](Array a) { return 2 * a; }, x); })(everything(3));
  CHECK(values_of(twice) == values_of(everything(6)));
}

TEST_CASE("every kind of node: vmap, pmap, scan, cond, while_loop") {
  CHECK(near(vmap(weighted)(everything(1, {2})), {expected(1), expected(1)}));
  VmapOptions options;
  options.in_axes = Axes{Axes{0, none}};
  const auto both = vmap([](const std::pair<Everything, Node>& p) { return p.first.deque[0] * p.second.next->v; }, options);
  CHECK(near(both(std::pair{everything(1, {3}), Node{1.f, std::make_shared<Node>(Node{4.f, nullptr})}}), {8, 8, 8}));
  CHECK(near(pmap(weighted)(everything(1, {1})), {expected(1)}));
  const auto [carry, ys] =
      scan([](const Everything& c, Array x) { return std::pair{tree::map([&](Array a) { return a + x; }, c), c.node->next->v}; },
           everything(0), arange(4, float32));
  CHECK(carry.unordered_map.at("z").item<float>() == 6.f);
  CHECK(near(ys, {0, 0, 1, 3}));
  const Everything chosen = cond(
      Array(true), [](const Everything& e) { return e; }, [](const Everything& e) { return tree::map([](Array a) { return -a; }, e); },
      everything(2));
  CHECK(values_of(chosen) == values_of(everything(2)));
  const Everything grown = while_loop([](const Everything& e) { return e.array < 10.f; },
                                      [](const Everything& e) { return tree::map([](Array a) { return 2 * a; }, e); }, everything(1));
  CHECK(values_of(grown) == values_of(everything(16)));
}

struct Tree {
  Array v;
  std::vector<Tree> children;
  std::unique_ptr<Tree> extra;
};
Tree tree_of(float v) {
  Tree t{v, {}, std::make_unique<Tree>(Tree{3 * v, {}, nullptr})};
  t.children.push_back(Tree{2 * v, {}, nullptr});
  return t;
}
Array product(const Tree& t) { return t.v * t.children[0].v * t.extra->v; }

TEST_CASE("trees with std::unique_ptr are moved, and copied by copying what it points to") {
  const Tree t = tree_of(2);
  CHECK(values_of(t) == std::vector<double>{2, 4, 6});
  const Tree g = grad(product)(t);
  CHECK(values_of(g) == std::vector<double>{24, 12, 8});
  const auto f = jit(product);
  CHECK(f(t).item<float>() == 48.f);
  CHECK(f(tree_of(1)).item<float>() == 6.f);
  const Tree moved = jit([](Tree x) {
    x.v = x.v + 1.f;
    return x;
  })(t);
  CHECK(values_of(moved) == std::vector<double>{3, 4, 6});
  const auto [y, pull] = vjp(product, t);
  CHECK(values_of(std::get<0>(pull(1.f))) == std::vector<double>{24, 12, 8});
  CHECK(values_of(tree::map([](Array a, Array b) { return a + b; }, t, g)) == std::vector<double>{26, 16, 14});
  const auto [carry, ys] = scan(
      [](Tree c, Array x) {
        c.extra->v = c.extra->v + x;
        return std::pair{std::move(c), x};
      },
      t, ones(5));
  CHECK(carry.extra->v.item<float>() == 11.f);
  CHECK(near(vmap(product)(tree::map([](Array x) { return broadcast_to(x, {2}); }, t)), {48, 48}));
}

TEST_CASE("pointers: null, shared, in a circle, in a long chain") {
  const auto f = jit([](const Node& n) { return n.next ? n.v * n.next->v : n.v; });
  const auto shared = std::make_shared<Node>(Node{3.f, nullptr});
  CHECK(f(Node{2.f, nullptr}).item<float>() == 2.f);
  CHECK(f(Node{2.f, shared}).item<float>() == 6.f);
  const std::vector<std::shared_ptr<Node>> twice{shared, shared};
  CHECK(tree::leaves(twice).size() == 2);
  const auto g = grad([](const std::vector<std::shared_ptr<Node>>& v) { return v[0]->v * v[1]->v * v[1]->v; })(twice);
  CHECK(g[0]->v.item<float>() == 9.f);
  CHECK(g[1]->v.item<float>() == 18.f);
  const auto circle = std::make_shared<Node>(Node{1.f, nullptr});
  circle->next = circle;
  const auto says = [](auto run) { return refuses<PytreeError>(run, {"1000 levels", "circle"}); };
  CHECK(says([&] { f(*circle); }));
  CHECK(says([&] { tree::leaves(*circle); }));
  CHECK(says([&] { tree::map([](Array x) { return x; }, circle); }));
  CHECK(says([&] { (void)(tree::structure(circle) == tree::structure(circle)); }));
  CHECK(says([&] { jit([&](Array) { return circle; })(1.f); }));
  CHECK(says([&] { detail::skeleton_of(circle); }));
  circle->next = nullptr;
  std::shared_ptr<Node> chain;
  for (int i = 0; i < 900; ++i) chain = std::make_shared<Node>(Node{1.f, chain});
  CHECK(tree::leaves(chain).size() == 900);
  for (int i = 0; i < 9100; ++i) chain = std::make_shared<Node>(Node{1.f, chain});
  CHECK(says([&] { tree::leaves(chain); }));
  while (chain) chain = std::move(chain->next);  // without recursion
}

TEST_CASE("containers of numbers are given as containers of arrays") {
  CHECK(near(jit([](const std::deque<Array>& d) { return d[0] * d[1]; })(std::deque<float>{2.f, 3.f}), {6}));
  CHECK(near(
      jit([](const std::unordered_map<int, Array>& m) { return m.at(1) * m.at(2); })(std::unordered_map<int, float>{{1, 2.f}, {2, 4.f}}),
      {8}));
  CHECK(near(jit([](const std::list<Array>& l) { return l.front() - l.back(); })(std::list<int>{5, 3}), {2}));
  const Array a = 2.f, b = 5.f;
  CHECK(near(jit([](const std::tuple<Array, Array>& t) { return std::get<0>(t) * std::get<1>(t); })(std::tie(a, b)), {10}));
  const auto f = jit([](const std::variant<Array, int>& v) { return v.index() == 0 ? std::get<0>(v) : Array(std::get<1>(v)) * 10; });
  CHECK(f(std::variant<Array, int>(Array(3.f))).item<float>() == 3.f);
  CHECK(f(std::variant<Array, int>(4)).item<int>() == 40);
  CHECK(f(std::variant<Array, int>(5)).item<int>() == 50);
  // Options of a comparator or a hash are kept.
  using Reversed = std::map<std::string, Array, bool (*)(const std::string&, const std::string&)>;
  Reversed r([](const std::string& x, const std::string& y) { return x > y; });
  r["a"] = 1.f, r["b"] = 2.f;
  CHECK(values_of(tree::map([](Array x) { return x + 1; }, r)) == std::vector<double>{3, 2});
}

struct Seventeen {
  Array a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
};
struct SixtyFour {
  Seventeen a, b, c;
  Array a1, a2, a3, a4, a5, a6, a7, a8, b1, b2, b3, b4, b5, b6, b7, b8, c1, c2, c3, c4, c5, c6, c7, c8, d1, d2, d3, d4, d5, d6, d7, d8, e1,
      e2, e3, e4, e5, e6, e7, e8, f1, f2, f3, f4, f5, f6, f7, f8, g1, g2, g3, g4, g5, g6, g7, g8, h1, h2, h3, h4, h5;
};
struct Base {
  Array w;
};
class Derived : public Base {
 public:
  explicit Derived(Array x = 0.f) : own_(x) {}
  Array own() const { return own_; }
  WEFT_PYTREE(Derived, w, own_)

 private:
  Array own_;
};
TEST_CASE("many fields, and a base with members") {
  SixtyFour s;
  int next = 0;
  s = tree::unflatten(tree::structure(s), [&] {
    std::vector<Array> all;
    for (int i = 0; i < 3 * 17 + 61; ++i) all.push_back(next++);
    return all;
  }());
  CHECK(s.h5.item<int>() == 3 * 17 + 60);
  CHECK(detail::leaf_paths(detail::skeleton_of(s, "s")).back() == "s.h5");
  CHECK(detail::leaf_paths(detail::skeleton_of(s, "s"))[16] == "s.a.q");
  Derived d(3.f);
  d.w = 2.f;
  const Derived g = grad([](const Derived& x) { return x.w * x.own() * x.own(); })(d);
  CHECK(near(g.w, {9}));
  CHECK(near(g.own(), {12}));
}

class Config {
 public:
  explicit Config(std::string name) : name_(std::move(name)) {}
  friend bool operator==(const Config&, const Config&) = default;
  const std::string& name() const { return name_; }
  WEFT_STATIC(Config)

 private:
  std::string name_;
};
struct Scaled {
  Array w;
  std::unordered_map<std::string, double> factors;
  std::vector<double> more;
};
TEST_CASE("static values: what differs is traced again, and each float by its bits") {
  const auto f = jit([](Array x, const Config& c) { return c.name() == "twice" ? 2 * x : x; });
  CHECK(f(3.f, Config("twice")).item<float>() == 6.f);
  CHECK(f(3.f, Config("once")).item<float>() == 3.f);
  const auto g = jit([](const Scaled& s) { return s.w * s.factors.at("a") + s.w / s.more[0]; });
  CHECK(g(Scaled{2.f, {{"a", 3.}}, {1.}}).item<float>() == 8.f);
  CHECK(g(Scaled{2.f, {{"a", 5.}}, {1.}}).item<float>() == 12.f);
  CHECK(g(Scaled{2.f, {{"a", 0.}}, {0.}}).item<float>() == INFINITY);
  CHECK(g(Scaled{2.f, {{"a", 0.}}, {-0.}}).item<float>() == -INFINITY);
  const auto h = jit([](Array x, std::string_view s) { return x * static_cast<int>(s.size()); });
  std::string text = "abc";
  CHECK(h(1.f, std::string_view(text)).item<float>() == 3.f);
  text = "xy";
  CHECK(h(1.f, std::string_view(text)).item<float>() == 2.f);
}

}  // namespace
