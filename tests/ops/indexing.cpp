// Indexing: reads and updates against NumPy's answers, derivatives and batching against their definitions.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <weft/weft.h>

#include <cmath>
#include <functional>
#include <string>

#include "tests/messages.h"
#include "tests/ops/staged.h"

using namespace weft;
using test::has, test::message_of, test::program_of, test::staged;

namespace {

bool near(const Array& x, const Shape& shape, const std::vector<double>& want, double tolerance = 1e-6) {
  const std::vector<double> got = x.to_vector<double>();
  bool same = x.shape() == shape && got.size() == want.size();
  for (std::size_t i = 0; same && i < got.size(); ++i)
    same = std::abs(got[i] - want[i]) <= tolerance * (1 + std::abs(want[i])) || (std::isnan(got[i]) && std::isnan(want[i]));
  if (!same) MESSAGE(fmt::format("{} of shape {} is not {}", x, detail::to_string(x.shape()), array(want)));
  return same;
}
bool equal(const Array& x, const Array& y, double tolerance = 1e-6) {
  return x.dtype() == y.dtype() && near(x, y.shape(), y.to_vector<double>(), tolerance);
}
double inner(const Array& x, const Array& y) { return sum(convert(x, float64) * convert(y, float64)).item<double>(); }
Array numbers(const Shape& shape, int seed = 0) {
  std::vector<float> v(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<float>((static_cast<int>(i) * 37 + seed * 11 + 5) % 101 - 50) / 8;
  return array(v, shape);
}
const double kNaN = std::nan("");

const Array& cube() {  // element (i, j, k) is 12 i + 4 j + k
  static const Array x = reshape(arange(24), {2, 3, 4});
  return x;
}

}  // namespace

TEST_CASE("positions, slices, newaxis, ellipsis") {
  const Array& x = cube();
  CHECK(near(x(1, 2, 3), {}, {23}));
  CHECK(near(x(-1, -3, -4), {}, {12}));
  CHECK(near(x(0, slice(1, 3), slice(none, none, 2)), {2, 2}, {4, 6, 8, 10}));
  CHECK(near(x(slice(), 1, slice(none, none, -1)), {2, 4}, {7, 6, 5, 4, 19, 18, 17, 16}));
  CHECK(near(x(slice(none, none, -2), 0, 0), {1}, {12}));
  CHECK(near(x(0, 0, slice(-2, none)), {2}, {2, 3}));
  CHECK(near(x(0, 0, slice(3, 0, -2)), {2}, {3, 1}));
  CHECK(near(x(0, 0, slice(2, 100)), {2}, {2, 3}));
  CHECK(x(0, 0, slice(3, 1)).shape() == Shape{0});
  CHECK(x(slice(), newaxis, ellipsis, newaxis).shape() == Shape{2, 1, 3, 4, 1});
  CHECK(near(x(ellipsis, 3), {2, 3}, {3, 7, 11, 15, 19, 23}));
  CHECK(near(x[1](newaxis, 0), {1, 4}, {12, 13, 14, 15}));
  CHECK(equal(x(ellipsis), x));
}

TEST_CASE("static indices are slices, traced ones dynamic slices") {
  auto count = [](const Jaxpr& j, const char* name) {
    int n = 0;
    for (const Eqn& e : j.eqns()) n += e.primitive() == name;
    return n;
  };
  const Array x = numbers({6, 7});
  const Jaxpr strided = program_of([](Array a) { return a(slice(1, 5, 2), slice(none, none, 3)); }, x);
  CHECK((strided.eqns().size() == 1 && count(strided, "slice") == 1));
  const Jaxpr reversed = program_of([](Array a) { return a(slice(none, none, -1)); }, x);
  CHECK((reversed.eqns().size() == 1 && count(reversed, "rev") == 1));
  const Jaxpr point = program_of([](Array a) { return a(2); }, x);
  CHECK((point.eqns().size() == 2 && count(point, "slice") == 1 && count(point, "squeeze") == 1));
  const Jaxpr dynamic = program_of([](Array a, Array i) { return a(i, slice(1, 3)); }, x, array(2));
  CHECK((count(dynamic, "dynamic_slice") == 1 && count(dynamic, "gather") == 0));
}

TEST_CASE("integer arrays") {
  const Array& x = cube();
  const Array i = array({0, 2, -1}), j = array({3, 0, 1});
  CHECK(near(x(slice(), i, 1), {2, 3}, {1, 9, 9, 13, 21, 21}));
  CHECK(near(x(0, i, j), {3}, {3, 8, 9}));
  CHECK(near(x(slice(), i, j), {2, 3}, {3, 8, 9, 15, 20, 21}));
  // What separates them moves their dimension to the front.
  CHECK(near(x(1, slice(), j), {3, 3}, {15, 19, 23, 12, 16, 20, 13, 17, 21}));
  CHECK(near(x(array({1, 0}), slice(0, 2), array({2, 3})), {2, 2}, {14, 18, 3, 7}));
  CHECK(near(x(array({1}), newaxis, array({2})), {1, 1, 4}, {20, 21, 22, 23}));
  CHECK(near(x(1, array({2, 0}), newaxis, slice(2)), {2, 1, 2}, {20, 21, 12, 13}));
  // Several broadcast against each other.
  CHECK(near(x(1, array({{0}, {2}}), array({3, 1})), {2, 2}, {15, 13, 23, 21}));
  CHECK(near(x(array({{1, 0}}), array({{1}, {2}}))(ellipsis, 0), {2, 2}, {16, 4, 20, 8}));
  // Next to slices, whole, partial, strided, backwards.
  CHECK(near(x(1, i, slice(1, 3)), {3, 2}, {13, 14, 21, 22, 21, 22}));
  CHECK(near(x(1, i, slice(none, none, -2)), {3, 2}, {15, 13, 23, 21, 23, 21}));
  CHECK(near(x(slice(none, none, -1), array({1}), slice(0, 4, 3)), {2, 1, 2}, {16, 19, 4, 7}));
  CHECK(x(zeros({0}, int32)).shape() == Shape{0, 3, 4});
  CHECK(x(slice(0, 0), array({1, 2})).shape() == Shape{0, 2, 4});
  for (DType t : {int8, uint8, int16, uint32, int64, uint64}) CHECK(near(x(1, 0, convert(array({3, 1}), t)), {2}, {15, 13}));
}

TEST_CASE("masks") {
  const Array x = array({3.f, -1.f, 4.f, -5.f}), m = reshape(arange(6), {2, 3});
  CHECK(near(x(x > 0), {2}, {3, 4}));
  CHECK(near(m(m % 2 == 0), {3}, {0, 2, 4}));
  CHECK(near(m(slice(), array({true, false, true})), {2, 2}, {0, 2, 3, 5}));
  CHECK(near(m(array({false, true}), array({2, 0})), {2}, {5, 3}));
  CHECK(near(x.at(x < 0).set(0), {4}, {3, 0, 4, 0}));
  CHECK(near(m.at(array({true, false})).add(10), {2, 3}, {10, 11, 12, 3, 4, 5}));
  CHECK(near(x.at(x < 0).set(array({7.f, 8.f})), {4}, {3, 7, 4, 8}));
  // A traced mask has no shape to give, but can be updated through.
  CHECK(near(staged([](Array a) { return a.at(a < 0).multiply(-2); })(x), {4}, {3, 2, 4, 10}));
  CHECK(has(message_of<ConcretizationError>([&] { staged([](Array a) { return a(a > 0); })(x); }), {"bool[4]", "where"}));
}

TEST_CASE("out of bounds") {
  const Array x = array({10.f, 20.f, 30.f, 40.f}), i = array({0, 3, 4, 100, -1, -4, -5, -100});
  CHECK(near(x(i), {8}, {10, 40, 40, 40, 40, 10, 10, 10}));
  CHECK(near(take(x, i), {8}, {10, 40, kNaN, kNaN, 40, 10, kNaN, kNaN}));
  CHECK(near(x.at(i).set(9), {4}, {9, 20, 30, 9}));
  CHECK(near(x.at(i).add(1), {4}, {12, 20, 30, 42}));
  CHECK(near(take(array({1, 2}), array({5})), {1}, {-2147483648.}));
  CHECK(near(take(convert(array({1, 2}), uint8), array({5})), {1}, {255}));
  auto at = staged([](Array a, Array k) { return a(k); });
  CHECK((near(at(x, 7), {}, {40}) && near(at(x, -2), {}, {30}) && near(at(x, -9), {}, {10})));
  CHECK(has(message_of<AxisError>([&] { x(4); }), {"position 4", "axis 0", "f32[4]", "indexing.cpp"}));
  CHECK(has(message_of<AxisError>([&] { x(0, 0); }), {"2 dimensions", "f32[4]"}));
  CHECK(has(message_of<AxisError>([&] { x(ellipsis, ellipsis); }), {"ellipsis"}));
  CHECK(has(message_of<ShapeError>([&] { cube()(array({0, 1}), array({0, 1, 2})); }), {"i32[2]", "i32[3]"}));
  CHECK(has(message_of<ShapeError>([&] { x(array({true, false})); }), {"bool[2]", "f32[4]"}));
  CHECK(has(message_of<DTypeError>([&] { x(array({1.f})); }), {"f32[1]", "floor_divide"}));
  CHECK(has(message_of<ShapeError>([&] { x(slice(0, 3, 0)); }), {"step"}));
}

TEST_CASE("out of bounds, where the mode says what becomes of it: known, given, traced and mapped positions alike") {
  const Array x = array({10.f, 20.f, 30.f, 40.f}), m = reshape(x, {4, 1});
  const struct {
    const char* mode;
    double at_7, at_minus_9;
    std::vector<double> set_7;
  } rows[] = {{"fill", kNaN, kNaN, {10, 20, 30, 40}}, {"drop", kNaN, kNaN, {10, 20, 30, 40}}, {"clip", 40, 10, {10, 20, 30, 5}}};
  for (const auto& row : rows) {
    const IndexOptions o{.mode = row.mode};
    const auto get = [&](Array a, Array k) { return a.at(k).get(o); };
    CHECK((near(x.at(7).get(o), {}, {row.at_7}) && near(x.at(-9).get(o), {}, {row.at_minus_9}) && near(x.at(-1).get(o), {}, {40})));
    CHECK((near(get(x, Array(7)), {}, {row.at_7}) && near(get(x, array({7})[0]), {}, {row.at_7})));
    CHECK((near(staged(get)(x, 7), {}, {row.at_7}) && near(staged(get)(x, -9), {}, {row.at_minus_9}) && near(staged(get)(x, 2), {}, {30})));
    CHECK(near(vmap([&](Array k) { return get(x, k); })(array({3, 7, -4, -9})), {4}, {40, row.at_7, 10, row.at_minus_9}));
    CHECK(near(m.at(7, slice(0, 1)).get(o), {1}, {row.at_7}));
    CHECK((near(x.at(7).set(5, o), {4}, row.set_7) &&
           near(staged([&](Array a, Array k) { return a.at(k).set(5, o); })(x, 7), {4}, row.set_7)));
  }
  CHECK(near(staged([](Array a, Array k) { return a.at(k).get({.mode = "fill", .fill_value = -1.}); })(x, 7), {}, {-1}));
  CHECK(near(x.at(7).get({.mode = "fill", .fill_value = -1.}), {}, {-1}));
  CHECK(has(message_of<AxisError>([&] { x.at(7).get(); }), {"position 7"}));
  CHECK(has(message_of<AxisError>([&] { return x.at(7).set(1); }), {"position 7"}));
  CHECK(has(message_of<Error>([&] { x.at(0).get({.mode = "wrong"}); }), {"unknown mode `wrong`"}));
}

TEST_CASE("updates") {
  const Array x = array({1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f}), i = array({1, 3, 1, 6, 1}), v = array({5.f, -1.f, 2.f, 0.5f, 3.f});
  CHECK(near(x.at(i).add(v), {7}, {1, 12, 3, 3, 5, 6, 7.5}));
  CHECK(near(x.at(i).max(v), {7}, {1, 5, 3, 4, 5, 6, 7}));
  CHECK(near(x.at(i).min(v), {7}, {1, 2, 3, -1, 5, 6, 0.5}));
  CHECK(near(x.at(i).multiply(v), {7}, {1, 60, 3, -4, 5, 6, 3.5}));
  CHECK(near(x.at(i).divide(v), {7}, {1, 2. / 30, 3, -4, 5, 6, 14}));
  CHECK(near(x.at(slice(1, 4)).set(0.5), {7}, {1, 0.5, 0.5, 0.5, 5, 6, 7}));
  CHECK(near(x.at(slice(none, none, 2)).add(v(slice(4))), {7}, {6, 2, 2, 4, 7, 6, 7.5}));
  CHECK(near(x.at(slice(none, none, -3)).set(array({10.f, 20.f, 30.f})), {7}, {30, 2, 3, 20, 5, 6, 10}));
  CHECK(near(x.at(-1).set(3), {7}, {1, 2, 3, 4, 5, 6, 3}));
  CHECK(equal(x.at(i).get(), x(i)));
  const Array& c = cube();
  CHECK(near(c.at(1, slice(), 2).set(array({-1, -2, -3}))(1, slice(), 2), {3}, {-1, -2, -3}));
  CHECK(near(c.at(0, newaxis, slice(1, 2)).set(full({1, 1, 4}, 7))(0), {3, 4}, {0, 1, 2, 3, 7, 7, 7, 7, 8, 9, 10, 11}));
  CHECK(near(c.at(slice(), array({0, 2}), 1).add(100)(0), {3, 4}, {0, 101, 2, 3, 4, 5, 6, 7, 8, 109, 10, 11}));
  CHECK(near(c.at(1, slice(none, none, -1), array({0, 1})).set(array({{1, 2, 3}, {4, 5, 6}}))(1), {3, 4},
             {3, 6, 14, 15, 2, 5, 18, 19, 1, 4, 22, 23}));
  CHECK(equal(c.at(slice(2, 2)).set(0), c));
  CHECK(near(staged([](Array a, Array k) { return a.at(k).set(0); })(x, 9), {7}, {1, 2, 3, 4, 5, 6, 7}));
  CHECK(near(staged([](Array a, Array k) { return a.at(k).set(0); })(x, -2), {7}, {1, 2, 3, 4, 5, 0, 7}));
  CHECK(near(array({true, false}).at(1).set(true), {2}, {1, 1}));
  CHECK(has(message_of<ShapeError>([&] { return x.at(slice(0, 2)).set(v); }), {"at().set", "f32[5]", "(2,)", "f32[7]"}));
  CHECK(has(message_of<DTypeError>([&] { return arange(3).at(0).set(1.5); }), {"f32[]", "int32", "convert"}));
}

TEST_CASE("take, take_along_axis, one_hot") {
  const Array x = reshape(arange(12, float32), {3, 4});
  CHECK(near(take(x, array({{1, -1}, {0, 7}}), 1)(1), {2, 2}, {5, 7, 4, kNaN}));
  CHECK(near(take(x, array({5, -1})), {2}, {5, 11}));
  CHECK(near(take(x, 2, 0), {4}, {8, 9, 10, 11}));
  CHECK(take(zeros({0, 2}), zeros(0, int32), 0).shape() == Shape{0, 2});
  CHECK(near(take_along_axis(x, array({{3, 0}, {-1, 1}, {2, 9}})), {3, 2}, {3, 0, 7, 5, 10, kNaN}));
  CHECK(near(take_along_axis(x, array({{2, 0, 1, 0}}), 0), {1, 4}, {8, 1, 6, 3}));
  CHECK(near(take_along_axis(x, array({{1}}), 1), {3, 1}, {1, 5, 9}));
  CHECK(near(take_along_axis(x(slice(0, 1)), array({{1}, {2}}), 1), {2, 1}, {1, 2}));
  CHECK(near(one_hot(array({1, -1, 3}), 3), {3, 3}, {0, 1, 0, 0, 0, 0, 0, 0, 0}));
  CHECK(one_hot(array({{0}}), 2, bfloat16).dtype() == bfloat16);
  CHECK(has(message_of<AxisError>([&] { take(x, array({0}), 2); }), {"take", "f32[3,4]"}));
  CHECK(has(message_of<ShapeError>([&] { take_along_axis(x, array({0})); }),
            {"take_along_axis", "i32[1] have 1 dimension,", "f32[3,4] has 2 dimensions"}));
}

TEST_CASE("gather and scatter") {
  const Array x = reshape(arange(12, float32), {4, 3}), i = array({{1}, {3}, {1}, {7}}), u = ones({4, 3});
  const ScatterDimensionNumbers rows{.update_window_dims = {1}, .inserted_window_dims = {0}, .scatter_dims_to_operand_dims = {0}};
  CHECK(near(scatter_add(x, i, u, rows), {4, 3}, {0, 1, 2, 5, 6, 7, 6, 7, 8, 10, 11, 12}));
  CHECK(near(scatter(x, array({{1}, {0}}), -u(slice(2)), rows), {4, 3}, {-1, -1, -1, -1, -1, -1, 6, 7, 8, 9, 10, 11}));
  const GatherDimensionNumbers blocks{.offset_dims = {1, 2}, .start_index_map = {0, 1}};
  CHECK(near(gather(x, array({{0, 0}, {2, 1}, {3, 0}}), blocks, {2, 2}), {3, 2, 2}, {0, 1, 3, 4, 7, 8, 10, 11, kNaN, kNaN, kNaN, kNaN}));
  CHECK(has(message_of<ShapeError>([&] { gather(x, array({{0}}), blocks, {2, 2}); }), {"gather", "f32[4,3]", "i32[1,1]"}));
  CHECK(has(message_of<ShapeError>([&] { scatter(x, i, ones({3, 3}), rows); }), {"scatter", "f32[3,3]", "i32[4,1]"}));
  for (DType t : {bool_, int8, uint16, int64, float16, bfloat16, float64, complex64})
    CHECK(equal(scatter_add(convert(x % 2, t), i, convert(u, t), rows), convert(scatter_add(x % 2, i, u, rows), t)));
  const Array three = full({4, 3}, 3.f);
  CHECK(near(scatter_sub(x, i, three, rows), {4, 3}, {0, 1, 2, -3, -2, -1, 6, 7, 8, 6, 7, 8}));
  CHECK(near(scatter_mul(x, i, three, rows), {4, 3}, {0, 1, 2, 27, 36, 45, 6, 7, 8, 27, 30, 33}));
  CHECK(near(scatter_min(x, i, 4 * u, rows), {4, 3}, {0, 1, 2, 3, 4, 4, 6, 7, 8, 4, 4, 4}));
  CHECK(near(scatter_max(x, i, 10 * u, rows), {4, 3}, {0, 1, 2, 10, 10, 10, 6, 7, 8, 10, 10, 11}));
  CHECK(has(message_of<ShapeError>([&] { scatter_mul(x, i, ones({3, 3}), rows); }), {"scatter-mul", "f32[3,3]", "i32[4,1]"}));
}

TEST_CASE("dynamic slices move inside") {
  const Array x = reshape(arange(12), {3, 4});
  CHECK(near(dynamic_slice(x, {1, 1}, {2, 2}), {2, 2}, {5, 6, 9, 10}));
  CHECK(near(dynamic_slice(x, {2, 100}, {2, 2}), {2, 2}, {6, 7, 10, 11}));
  CHECK(near(dynamic_slice(x, {-1, -100}, {1, 3}), {1, 3}, {8, 9, 10}));
  CHECK(near(staged([](Array a, Array k) { return dynamic_slice(a, {k, 0}, {1, 2}); })(x, -2), {1, 2}, {4, 5}));
  CHECK(near(dynamic_slice(x, {array({1, 2})}, {1, 1}), {1, 1}, {6}));
  CHECK(near(dynamic_update_slice(x, array({{-1, -2}}), {9, -1}), {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1, -2}));
  CHECK(near(dynamic_update_slice(array(5), array(6), {}), {}, {6}));
  CHECK(has(message_of<ShapeError>([&] { dynamic_slice(x, {0, 0}, {2, 5}); }), {"dynamic_slice", "(2, 5)", "(3, 4)", "i32[3,4]"}));
  CHECK(has(message_of<ShapeError>([&] { dynamic_slice(x, {0}, {2, 2}); }), {"dynamic_slice", "1 start", "i32[3,4]"}));
  CHECK(has(message_of<DTypeError>([&] { dynamic_update_slice(ones(4), ones(2, int32), {0}); }),
            {"dynamic_update_slice", "float32", "int32"}));
}

namespace {

struct Case {
  std::string name;
  std::function<Array(Array, Array, Array)> f;  // of x (4, 5), updates (3,) and positions (3,) in [-4, 4)
};
const Case kCases[] = {
    {"index array", [](Array x, Array, Array k) { return x(k); }},
    {"second axis", [](Array x, Array, Array k) { return x(slice(), k); }},
    {"scalar", [](Array x, Array, Array k) { return x(k(0), slice(1, 3)); }},
    {"partial slice", [](Array x, Array, Array k) { return x(k, slice(1, 4)); }},
    {"strided slice", [](Array x, Array, Array k) { return x(k, slice(none, none, -2)); }},
    {"two arrays", [](Array x, Array u, Array k) { return x(k, k) * u; }},
    {"take", [](Array x, Array, Array k) { return take(x, k, 1); }},
    {"take_along_axis", [](Array x, Array, Array k) { return take_along_axis(x, expand_dims(k, 1), 0); }},
    {"add", [](Array x, Array u, Array k) { return x.at(k, 2).add(u); }},
    {"add out of bounds", [](Array x, Array u, Array k) { return x.at(k * 3, 2).add(u); }},
    {"set", [](Array x, Array u, Array k) { return x.at(k, 1).set(u); }},
    {"set scalar", [](Array x, Array u, Array k) { return x.at(k(1), slice(0, 3)).set(u); }},
    {"set slice", [](Array x, Array u, Array) { return x.at(1, slice(1, 4)).set(u); }},
    {"set strided", [](Array x, Array u, Array) { return x.at(2, slice(none, none, 2)).set(u); }},
    {"multiply", [](Array x, Array u, Array) { return x.at(slice(1, 4), 0).multiply(u); }},
    {"multiply again", [](Array x, Array u, Array k) { return x.at(minimum(abs(k), 2), slice(0, 3)).multiply(expand_dims(u, 1)); }},
    {"max", [](Array x, Array u, Array k) { return x.at(k, 3).max(u); }},
    {"min", [](Array x, Array u, Array k) { return x.at(k, 3).min(u); }},
    {"dynamic_slice", [](Array x, Array, Array k) { return dynamic_slice(x, {k(0), k(1)}, {2, 3}); }},
    {"dynamic_update_slice", [](Array x, Array u, Array k) { return dynamic_update_slice(x, expand_dims(u, 0), {k(2), 1}); }},
    {"sort", [](Array x, Array, Array) { return sort(x, 0); }},
    {"top_k", [](Array x, Array, Array) { return top_k(x, 2).values; }},
};

}  // namespace

TEST_CASE("vmap is a loop") {
  const Array xs = numbers({6, 4, 5}), us = numbers({6, 3}, 1),
              ks = array({{0, 1, 3}, {-1, 2, 0}, {3, -3, 2}, {1, 1, 0}, {-4, 0, 3}, {2, 2, 2}});
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    for (int mapped = 1; mapped < 8; ++mapped) {
      const bool x = mapped & 1, u = mapped & 2, k = mapped & 4;
      std::vector<Array> loop;
      for (int i = 0; i < 6; ++i) loop.push_back(c.f(xs(x ? i : 0), us(u ? i : 0), ks(k ? i : 0)));
      auto axis = [](bool is) { return is ? Axes(0) : Axes(none); };
      const Array got = vmap(c.f, {.in_axes = {axis(x), axis(u), axis(k)}})(x ? xs : xs[0], u ? us : us[0], k ? ks : ks[0]);
      CAPTURE(mapped);
      CHECK(equal(got, stack(loop), 0));
    }
    // Axes elsewhere than in front, in and out.
    const Array got = vmap(c.f, {.in_axes = {2, 1, 1}, .out_axes = -1})(moveaxis(xs, 0, 2), transpose(us), transpose(ks));
    CHECK(equal(moveaxis(got, -1, 0), vmap(c.f)(xs, us, ks), 0));
  }
}

TEST_CASE("derivatives") {
  const Array x = numbers({4, 5}), u = numbers({3}, 1), k = array({0, 3, -2});
  const Array dx = numbers({4, 5}, 2), du = numbers({3}, 3);
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    auto f = [&](Array a, Array b) { return c.f(a, b, k); };
    const auto [y, dy] = jvp(f, std::tuple{x, u}, std::tuple{dx, du});
    CHECK(equal(y, f(x, u)));
    // Forward mode against differences: all of these are piecewise linear or products.
    const double h = 1. / 1024;
    const Array difference = (f(x + dx * h, u + du * h) - f(x - dx * h, u - du * h)) / (2 * h);
    CHECK(near(dy, difference.shape(), difference.to_vector<double>(), 1e-2));
    const Array ct = numbers(y.shape(), 4);
    const auto [y2, pull] = vjp(f, x, u);
    const auto [cx, cu] = pull(ct);
    CHECK(std::abs(inner(ct, dy) - inner(cx, dx) - inner(cu, du)) <= 1e-3 * (1 + std::abs(inner(ct, dy))));
    CHECK(equal(y2, y));
  }
}

TEST_CASE("derivatives of batches") {
  const Array xs = numbers({3, 4, 5}), us = numbers({3, 3}, 1), ks = array({{0, 1, 3}, {-1, 2, 0}, {1, 1, 0}});
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    auto loss = [&](Array x, Array u, Array k) { return sum(sin(c.f(x, u, k))); };
    auto of_batch = [&](Array x, Array u) { return sum(vmap(loss)(x, u, ks)); };
    const auto [gx, gu] = grad<0, 1>(of_batch)(xs, us);
    for (int i = 0; i < 3; ++i) {
      const auto [gxi, gui] = grad<0, 1>([&](Array x, Array u) { return loss(x, u, ks[i]); })(xs[i], us[i]);
      CHECK((equal(gx[i], gxi, 1e-5) && equal(gu[i], gui, 1e-5)));
    }
  }
}

TEST_CASE("derivatives where positions repeat") {
  const Array x = array({1.f, 2.f, 3.f}), k = array({0, 2, 0}), u = array({5.f, 6.f, 7.f});
  const auto weights = array({10.f, 20.f, 30.f});
  auto set = [&](Array a, Array b) { return sum(weights * a.at(k).set(b)); };
  const auto [gx, gu] = grad<0, 1>(set)(x, u);
  CHECK((near(gx, {3}, {0, 20, 0}) && near(gu, {3}, {0, 30, 10})));
  auto add = [&](Array a, Array b) { return sum(weights * a.at(k).add(b)); };
  CHECK(near(grad<1>(add)(x, u), {3}, {10, 30, 10}));
  auto ties = [&](Array a, Array b) { return sum(weights * a.at(k).max(b)); };
  CHECK(near(grad<1>(ties)(x, full({3}, 9.f)), {3}, {5, 30, 5}));
  CHECK(near(grad([&](Array a) { return sum(weights * a(k)); })(x), {3}, {40, 0, 20}));
  auto product = [&](Array b) { return sum(x.at(k).multiply(b)); };
  CHECK(near(grad(product)(u), {3}, {7, 3, 5}));
  CHECK(near(grad(product)(array({0.f, 6.f, 7.f})), {3}, {7, 3, 0}));
  for (const Array& b : {u, zeros(3)}) CHECK(near(hessian(product)(b), {3, 3}, {0, 0, 1, 0, 0, 0, 1, 0, 0}));
  CHECK(near(grad([&](Array a) { return sum(a.at(k).multiply(u)); })(x), {3}, {35, 1, 6}));
}

TEST_CASE("programs are text") {
  const Array x = numbers({4, 5}), u = numbers({3}), k = array({0, 3, -2});
  for (const Case& c : kCases) {
    CAPTURE(c.name);
    const Jaxpr j = program_of(c.f, x, u, k);
    j.check();
    CHECK(parse(j.to_string()) == j);
    CHECK(equal(j(x, u, k)[0], c.f(x, u, k), 0));
    CHECK(equal(staged(c.f)(x, u, k), c.f(x, u, k), 0));
  }
}

TEST_CASE("unsigned positions are never negative, and none becomes a smaller one") {
  const Array x = arange(5);
  const std::uint64_t half = std::uint64_t{1} << 63, all = ~std::uint64_t{0};
  const auto ints = [](const Array& y) { return y.to_vector<int>(); };
  const std::vector<int> same = {0, 1, 2, 3, 4};
  for (const bool jitted : {false, true}) {
    CAPTURE(jitted);
    const auto run = [&](auto f, const Array& i) { return jitted ? jit(f)(i) : f(i); };
    for (const Array& i : {array({half, all}, uint64), array({all - 1, half + 3}, uint64), array({std::uint64_t{1} << 32, all}, uint64)}) {
      CHECK(ints(run([&](Array k) { return x.at(k).add(9); }, i)) == same);
      CHECK(ints(run([&](Array k) { return x.at(k).set(9); }, i)) == same);
      CHECK(ints(run([&](Array k) { return x.at(k).multiply(9); }, i)) == same);
      CHECK(ints(run([&](Array k) { return take(x, k); }, i)) == std::vector<int>{INT32_MIN, INT32_MIN});
      CHECK(ints(run([&](Array k) { return nn::one_hot(k, 3, int32); }, i)) == std::vector<int>(6, 0));
    }
    CHECK(ints(run([&](Array k) { return take(x, k); }, array({0xffffffffu, 2u}, uint32))) == std::vector<int>{INT32_MIN, 2});
    for (const std::uint64_t v : {half, all, std::uint64_t{1} << 32}) {
      const Array i = array(v, uint64);
      CHECK(ints(run([&](Array k) { return dynamic_slice(x, {k}, {2}); }, i)) == std::vector<int>{3, 4});
      CHECK(ints(run([&](Array k) { return dynamic_update_slice(x, array({7}), {k}); }, i)) == std::vector<int>{0, 1, 2, 3, 7});
      if (jitted) CHECK(run([&](Array k) { return x(k); }, i).item<int>() == 4);  // read inside, as JAX does
      CHECK(run([&](Array k) { return switch_(k, std::tuple{[](Array y) { return y; }, [](Array y) { return 10 * y; }}, array(3)); }, i)
                .item<int>() == 30);
    }
    CHECK(run([&](Array k) { return switch_(k, std::tuple{[](Array y) { return y; }, [](Array y) { return 10 * y; }}, array(3)); },
              array(std::int64_t{1} << 32, int64))
              .item<int>() == 30);
  }
  CHECK(ints(dynamic_slice(x, {Array(half)}, {2})) == std::vector<int>{3, 4});
  CHECK_THROWS_AS(x(all), AxisError);
  CHECK_THROWS_AS(x(Array(half)), AxisError);
  CHECK(ints(x(slice(1, all))) == std::vector<int>{1, 2, 3, 4});
  CHECK(ints(x(slice(0, std::string::npos))) == same);
}
