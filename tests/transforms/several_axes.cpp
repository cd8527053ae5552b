// Collectives over several axes at once.
#include "tests/runtime/devices.h"

using namespace weft;
using namespace weft::test;

namespace {

/// f over three axes of two positions each, in an order of its own, beside f over one axis of eight; values and gradients.
template <class F>
void check_order_of_axes(F f, const Array& x) {
  const std::vector<std::string> order{"b", "c", "a"};
  const auto one = [&](Array v) {
    const Array rows = reshape(transpose(v, {1, 2, 0, 3}), {8, 8});
    const Array out = vmap([&](Array row) { return f(row, {"i"}); }, {.axis_name = "i"})(rows);
    Shape apart = out.shape().with(0, 2).inserted(0, 2).inserted(0, 2);
    std::vector<int> back{2, 0, 1};
    for (int d = 3; d < apart.size(); ++d) back.push_back(d);
    return transpose(reshape(out, apart), back);
  };
  const auto own = [&](Array row) { return f(row, order); };
  const auto inner = vmap(vmap(own, {.axis_name = "c"}), {.axis_name = "b"});
  const auto in_vmap = vmap(inner, {.axis_name = "a"});
  const auto in_pmap = pmap(inner, {.axis_name = "a"});
  const auto in_pmaps = pmap(pmap(pmap(own, {.axis_name = "c"}), {.axis_name = "b"}), {.axis_name = "a"});
  const Array wanted = one(x);
  const Array weights = cos(reshape(arange(static_cast<int>(wanted.size()), float32), wanted.shape()));
  const auto gradient = [&](auto mapped) {
    return grad([&](Array v) { return sum(mapped(v) * weights); })(x).template to_vector<double>();
  };
  const std::vector<double> gradient_wanted = gradient(one);
  const auto check = [&](auto mapped) {
    CHECK(near(mapped(x), wanted.template to_vector<double>(), 1e-5));
    CHECK(near(array(gradient(mapped)), gradient_wanted, 1e-4));
  };
  check(in_vmap);
  check(in_pmap);
  check(in_pmaps);
}

}  // namespace

TEST_CASE("collectives over several axes count in the order in which the axes are named, whichever of them are of a vmap") {
  const Array x = sin(reshape(arange(64, float32), {2, 2, 2, 8}));
  using Names = std::vector<std::string>;
  SUBCASE("all_gather") {
    check_order_of_axes([](Array v, const Names& n) { return all_gather(v * v, n); }, x);
  }
  SUBCASE("all_gather tiled") {
    check_order_of_axes([](Array v, const Names& n) { return all_gather(v * v, n, {.tiled = true}); }, x);
  }
  SUBCASE("psum_scatter") {
    check_order_of_axes([](Array v, const Names& n) { return psum_scatter(v * v, n); }, x);
  }
  SUBCASE("psum_scatter tiled") {
    check_order_of_axes([](Array v, const Names& n) { return psum_scatter(concatenate({v, v * v}), n, {.tiled = true}); }, x);
  }
  SUBCASE("all_to_all") {
    check_order_of_axes([](Array v, const Names& n) { return all_to_all(outer(v, v(slice(0, 3))), n, 0, 1); }, x);
  }
  SUBCASE("all_to_all to an earlier dimension") {
    check_order_of_axes([](Array v, const Names& n) { return all_to_all(outer(v(slice(0, 3)), v), n, 1, 0); }, x);
  }
  SUBCASE("all_to_all tiled") {
    const auto f = [](Array v, const Names& n) {
      return all_to_all(outer(concatenate({v, 2 * v}), v(slice(0, 3))), n, 0, 1, {.tiled = true});
    };
    check_order_of_axes(f, x);
  }
  SUBCASE("all_to_all tiled along one dimension") {
    check_order_of_axes([](Array v, const Names& n) { return all_to_all(concatenate({v, v * v}), n, 0, 0, {.tiled = true}); }, x);
  }
  SUBCASE("pswapaxes") {
    check_order_of_axes([](Array v, const Names& n) { return pswapaxes(outer(v(slice(0, 3)), v), n, 1); }, x);
  }
  SUBCASE("pbroadcast") {
    check_order_of_axes([](Array v, const Names& n) { return v * pbroadcast(v * v, n, 5); }, x);
  }
  SUBCASE("ppermute around a ring") {
    std::vector<std::pair<int, int>> ring;
    for (int i = 0; i < 8; ++i) ring.emplace_back(i, (i + 1) % 8);
    check_order_of_axes([=](Array v, const Names& n) { return v * ppermute(v * v, n, ring); }, x);
  }
  SUBCASE("ppermute of some") {
    check_order_of_axes([](Array v, const Names& n) { return v + ppermute(v * v, n, {{0, 5}, {5, 6}, {7, 0}, {3, 3}}); }, x);
  }
  SUBCASE("pshuffle") {
    check_order_of_axes([](Array v, const Names& n) { return pshuffle(v * v, n, {3, 1, 2, 0, 7, 4, 6, 5}); }, x);
  }
}

TEST_CASE("ppermute over axes of vmaps and of devices moves values bit for bit, of every dtype") {
  const auto around = [](const Array& x) {
    const auto f = [](Array v) { return pshuffle(v, {"d", "k"}, {7, 0, 1, 2, 3, 4, 5, 6}); };
    return device_get(vmap(pmap(f, {.axis_name = "d"}), {.axis_name = "k"})(x));
  };
  // Position (d, k) is 2 d + k, of row k and column d.
  const Array x = array({{-0.f, 2.f, 4.f, 6.f}, {-1.f, 3.f, 5.f, 7.f}});
  const Array moved = around(x);
  CHECK(near(moved, {7, -1, 3, 5, 0, 2, 4, 6}));
  CHECK(near(signbit(moved), {0, 1, 0, 0, 1, 0, 0, 0}));
  CHECK(near(around(x > 3.5f), {1, 0, 0, 1, 0, 0, 1, 1}));
  CHECK(around(astype(x, int8)).dtype() == int8);
  CHECK(near(imag(around(complex(x, x))), {7, -1, 3, 5, 0, 2, 4, 6}));
}
