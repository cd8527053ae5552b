// jax.tree_util's names.
#include <doctest/doctest.h>
#include <weft/jnp.h>
#include <weft/weft.h>

#include <string>

using namespace weft;

namespace {
struct Net {
  Array w, b;
};
}  // namespace

TEST_CASE("tree_util: the functions of tree by their longer names") {
  const Net net{ones({2, 3}), array({1.f, 2.f})};
  const Net twice = jax::tree_map([](Array x) { return 2 * x; }, net);
  CHECK(array_equal(twice.w, full({2, 3}, 2.f)).item<bool>());
  CHECK(array_equal(tree_util::tree_map([](Array x, Array y) { return x - y; }, net, twice).b, -net.b).item<bool>());
  CHECK(tree_leaves(net).size() == 2);
  const auto [leaves, structure] = tree_flatten(net);
  CHECK(structure == tree_structure(twice));
  CHECK(array_equal(tree_unflatten(structure, leaves).b, net.b).item<bool>());
  const auto total = [](const Net& n) { return tree_reduce([](Array s, Array x) { return s + sum(x); }, n, 0.f); };
  CHECK(total(net).item<float>() == 9);
  CHECK(jit(total)(net).item<float>() == 9);
  CHECK(array_equal(vmap(total)(tree::stack(std::vector{net, twice})), array({9.f, 18.f})).item<bool>());
  CHECK(array_equal(grad(total)(net).w, ones({2, 3})).item<bool>());
  CHECK(tree_leaves_with_path(net)[1].first == ".b");
  CHECK(array_equal(tree_map_with_path([](const std::string& path, Array x) { return path == ".b" ? x : 0 * x; }, net).w, zeros({2, 3}))
            .item<bool>());
  CHECK(tree_all(tree_map([](Array x) { return x > 0; }, net)).item<bool>());
  CHECK(!tree_all(tree_map([](Array x) { return x > 1; }, net)).item<bool>());
}
