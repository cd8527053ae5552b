// Sorting and searching: values against NumPy's answers, derivatives and batching against their definitions.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <weft/weft.h>

#include <cmath>
#include <limits>

#include "tests/messages.h"
#include "tests/ops/staged.h"

using namespace weft;
using test::has, test::message_of, test::program_of, test::staged;

namespace {

const double kNaN = std::nan(""), kInf = std::numeric_limits<double>::infinity();

bool near(const Array& x, const Shape& shape, const std::vector<double>& want, double tolerance = 1e-6) {
  const std::vector<double> got = x.to_vector<double>();
  bool same = x.shape() == shape && got.size() == want.size();
  for (std::size_t i = 0; same && i < got.size(); ++i)
    same = got[i] == want[i] || std::abs(got[i] - want[i]) <= tolerance * (1 + std::abs(want[i])) ||
           (std::isnan(got[i]) && std::isnan(want[i]));
  if (!same) MESSAGE(fmt::format("{} of shape {} is not {}", x, detail::to_string(x.shape()), array(want)));
  return same;
}
bool equal(const Array& x, const Array& y) { return x.dtype() == y.dtype() && near(x, y.shape(), y.to_vector<double>(), 0); }
Array numbers(const Shape& shape) {
  std::vector<float> v(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>(static_cast<int>(i) * 37 % 101 - 50);
  return array(v, shape);
}

}  // namespace

TEST_CASE("sort and argsort") {
  const Array m = array({{3.f, 1.f, 2.f}, {0.f, 5.f, -1.f}});
  CHECK(near(sort(m), {2, 3}, {1, 2, 3, -1, 0, 5}));
  CHECK(near(sort(m, 0), {2, 3}, {0, 1, -1, 3, 5, 2}));
  CHECK(near(argsort(m), {2, 3}, {1, 2, 0, 2, 0, 1}));
  CHECK(near(argsort(m, 0), {2, 3}, {1, 0, 1, 0, 1, 0}));
  CHECK(argsort(m).dtype() == int32);
  const auto nan = static_cast<float>(kNaN), inf = static_cast<float>(kInf);
  CHECK(near(sort(array({nan, inf, 1.f, -inf, nan, 0.f})), {6}, {-kInf, 0, 1, kInf, kNaN, kNaN}));
  CHECK(near(argsort(array({nan, 0.f, -0.f, nan, -1.f})), {5}, {4, 1, 2, 0, 3}));
  CHECK(near(argsort(array({2, 1, 2, 1, 2})), {5}, {1, 3, 0, 2, 4}));
  for (DType t : {int8, int16, int64, float16, bfloat16, float64}) CHECK(near(sort(convert(array({3, -1, 2}), t)), {3}, {-1, 2, 3}));
  for (DType t : {uint8, uint64}) CHECK(near(sort(convert(array({200, 1, 2}), t)), {3}, {1, 2, 200}));
  CHECK(near(sort(array({true, false})), {2}, {0, 1}));
  CHECK(sort(zeros({0, 3})).shape() == Shape{0, 3});
  CHECK(has(message_of<AxisError>([&] { sort(m, 2); }), {"sort", "f32[2,3]"}));
}

TEST_CASE("top_k") {
  const auto [values, indices] = top_k(array({{3.f, 9.f, 5.f, 9.f}, {-1.f, -2.f, -3.f, -4.f}}), 3);
  CHECK((near(values, {2, 3}, {9, 9, 5, -1, -2, -3}) && near(indices, {2, 3}, {1, 3, 2, 0, 1, 2}) && indices.dtype() == int32));
  CHECK(near(top_k(array({2, 1}), 0).values, {0}, {}));
  CHECK(has(message_of<ShapeError>([] { top_k(array({2, 1}), 3); }), {"top_k", "i32[2]", "3"}));
}

TEST_CASE("searchsorted") {
  const Array a = array({-1.f, 0.f, 0.5f, 2.f, 3.f}), v = array({-2.f, -1.f, 0.f, 0.3f, 0.5f, 2.5f, 3.f, 9.f, static_cast<float>(kNaN)});
  CHECK(near(searchsorted(a, v), {9}, {0, 0, 1, 2, 2, 4, 4, 5, 5}));
  CHECK(near(searchsorted(a, v, {.side = "right"}), {9}, {0, 1, 2, 2, 3, 4, 5, 5, 5}));
  CHECK(near(searchsorted(array({1, 1, 1}), 1), {}, {0}));
  CHECK(near(searchsorted(array({1, 1, 1}), array({{1, 2}}), {.side = "right"}), {1, 2}, {3, 3}));
  CHECK(near(searchsorted(zeros(0), 1.f), {}, {0}));
  for (int n : {1, 2, 3, 4, 7, 8, 9}) CHECK(equal(searchsorted(arange(n), arange(-1, n + 2)), clip(arange(-1, n + 2), 0, n)));
  CHECK(has(message_of<ShapeError>([&] { searchsorted(ones({2, 2}), v); }), {"searchsorted", "f32[2,2]"}));
  CHECK(has(message_of<Error>([&] { searchsorted(a, v, {.side = "middle"}); }), {"searchsorted", "middle"}));
}

TEST_CASE("unique") {
  const Array x = array({{3, 1}, {3, 2}});
  CHECK(near(unique(x, {.size = 2}), {2}, {1, 2}));
  CHECK(near(unique(x, {.size = 5}), {5}, {1, 2, 3, 1, 1}));
  CHECK(near(unique(x, {.size = 5, .fill_value = -1}), {5}, {1, 2, 3, -1, -1}));
  CHECK(near(unique(x, {}), {3}, {1, 2, 3}));
  CHECK(near(unique(array({static_cast<float>(kNaN), 0.f, -0.f, static_cast<float>(kNaN)}), {}), {2}, {0, kNaN}));
  CHECK(near(staged([](Array a) { return unique(a, {.size = 3}); })(x), {3}, {1, 2, 3}));
  CHECK(has(message_of<ConcretizationError>([&] { staged([](Array a) { return unique(a, {}); })(x); }), {"unique", "size"}));
}

TEST_CASE("bincount") {
  CHECK(near(bincount(array({0, 1, 1, 3, 2, 1, 7})), {8}, {1, 3, 1, 1, 0, 0, 0, 1}));
  CHECK(near(bincount(array({5, 1, -1, 1}), {.length = 3}), {3}, {1, 2, 0}));
  CHECK(near(bincount(array({1}), {.minlength = 3}), {3}, {0, 1, 0}));
  CHECK(near(bincount(array({0, 1, 1}), {.weights = array({.5f, 1.f, 2.f})}), {2}, {.5, 3}));
  CHECK(has(message_of<DTypeError>([] { bincount(ones(3)); }), {"bincount", "f32[3]"}));
}

TEST_CASE("batched along any axis") {
  const Array x = numbers({4, 3, 5});
  for (int axis : {0, 1, 2})
    for (int along : {0, 1}) {
      std::vector<Array> sorted, positions;
      const Array front = moveaxis(x, axis, 0);
      for (int i = 0; i < front.shape()[0]; ++i) sorted.push_back(sort(front[i], along)), positions.push_back(argsort(front[i], along));
      CHECK(equal(vmap([&](Array a) { return sort(a, along); }, {.in_axes = axis})(x), stack(sorted)));
      CHECK(equal(vmap([&](Array a) { return argsort(a, along); }, {.in_axes = axis})(x), stack(positions)));
    }
  const Array edges = sort(numbers(7)), v = numbers({2, 3});
  CHECK(equal(vmap([&](Array a) { return searchsorted(edges, a); })(v), searchsorted(edges, v)));
  CHECK(near(vmap([](Array a) { return unique(a, {.size = 2}); })(array({{2, 1, 2}, {3, 3, 3}})), {2, 2}, {1, 2, 3, 3}));
  CHECK(near(vmap([](Array a) { return bincount(a, {.length = 2}); })(array({{1, 1}, {0, 2}})), {2, 2}, {0, 2, 1, 0}));
}

TEST_CASE("derivatives follow the elements") {
  const Array x = array({3.f, 1.f, 2.f}), w = array({10.f, 20.f, 30.f});
  CHECK(near(grad([&](Array a) { return sum(w * sort(a)); })(x), {3}, {30, 10, 20}));
  CHECK(near(grad([&](Array a) { return sum(array({10.f, 20.f}) * top_k(a, 2).values); })(x), {3}, {10, 0, 20}));
  CHECK(near(jvp([](Array a) { return sort(a); }, std::tuple{x}, std::tuple{w}).second, {3}, {20, 30, 10}));
  const Array m = numbers({4, 3});
  CHECK(near(jacrev([](Array a) { return sort(a); })(x), {3, 3}, {0, 1, 0, 0, 0, 1, 1, 0, 0}));
  CHECK(equal(jacfwd([](Array a) { return sort(a, 0); })(m), jacrev([](Array a) { return sort(a, 0); })(m)));
  CHECK(equal(vmap(grad([](Array a) { return sum(sort(a) * sort(a)(slice(none, none, -1))); }))(m),
              grad([](Array a) { return sum(sort(a) * sort(a)(slice(), slice(none, none, -1))); })(m)));
}
