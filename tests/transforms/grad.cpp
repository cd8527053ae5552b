// grad and value_and_grad.
#include "tests/transforms/checks.h"

namespace {
using namespace weft;
using namespace weft::test;

struct Layer {
  Array w, b;
};
struct Model {
  std::vector<Layer> layers;
  int times = 2;
};
Array loss(const Model& m, const Array& x) {
  Array y = x;
  for (int i = 0; i < m.times; ++i)
    for (const Layer& l : m.layers) y = tanh(y * l.w + l.b);
  return sum(y);
}

TEST_CASE("the gradient of a struct is such a struct, static fields included") {
  const Model m{{{2.f, .5f}, {array({1.f, 3.f}), -1.f}}, 3};
  const Model g = grad(loss)(m, array({.1f, .2f}));
  CHECK(g.times == 3);
  CHECK(g.layers.size() == 2);
  CHECK(g.layers[1].w.shape() == Shape{2});
  const double h = 1e-3;
  auto moved = [&](double step) {
    Model n = m;
    n.layers[0].b = n.layers[0].b + step;
    return loss(n, array({.1f, .2f})).item<double>();
  };
  CHECK(std::abs(g.layers[0].b.item<double>() - (moved(h) - moved(-h)) / (2 * h)) < 1e-2);
}

TEST_CASE("argument numbers, values and auxiliary results") {
  auto f = [](Array a, Array b) { return std::pair{a * a * b, std::vector<Array>{b, 2.f}}; };
  const auto [g, aux] = grad<1>(f, has_aux)(3.f, 4.f);
  CHECK(near(g, {9}));
  CHECK(aux.size() == 2);
  const auto [value, both] = value_and_grad<1, 0>(f, has_aux)(3.f, 4.f);
  CHECK(near(value.first, {36}));
  CHECK(near(std::get<0>(both), {9}));
  CHECK(near(std::get<1>(both), {24}));
}

TEST_CASE("what grad refuses") {
  auto same = [](Array x) { return x; };
  CHECK(refuses<ShapeError>([&] { grad(same)(ones(3)); }, {"grad", "f32[3]", "scalar"}));
  CHECK(refuses<DTypeError>([&] { grad(same)(3); }, {"grad", "args[0]", "i32[]", "allow_int"}));
  CHECK(refuses<DTypeError>([&] { grad([](Array x) { return convert(sum(x), int32); })(ones(3)); }, {"grad", "i32[]"}));
  CHECK(refuses<DTypeError>([&] { grad([](const Layer& l) { return l.w * l.b; })(Layer{1.f, 2}); }, {"args[0].b", "i32[]"}));
  CHECK(refuses<DTypeError>([&] { grad(same, {.holomorphic = true})(1.f); }, {"holomorphic", "f32[]"}));
  CHECK(near(grad([](const Layer& l) { return l.w * l.b; }, {.allow_int = true})(Layer{1.f, 2}).w, {2}));
}

TEST_CASE("a function that does not depend on its argument has a zero gradient") {
  CHECK(near(grad([](Array) { return Array(1.f); })(ones(2)), {0, 0}));
  CHECK(near(grad([](Array x) { return stop_gradient(x) * 2; })(3.f), {0}));
}

TEST_CASE("perturbation confusion") {
  auto f = [](Array x) { return x * grad([&](Array y) { return x + y; })(1.f); };
  CHECK(near(grad(f)(2.f), {1}));
  auto g = [](Array x) { return x * grad([&](Array y) { return x * y * y; })(3.f); };  // x * 6x
  CHECK(near(grad(g)(2.f), {24}));
  CHECK(near(jvp(g, std::tuple{2.f}, std::tuple{1.f}).second, {24}));
}

TEST_CASE("values are computed on demand") {
  auto f = [](Array x) {
    Array y = x * x;
    for (int i = 0; i < 10 && y < 100; ++i) y = y * x;
    return y;
  };
  CHECK(near(grad(f)(2.f), {7 * 64}));
  CHECK(near(grad(grad(f))(2.f), {42 * 32}));
  CHECK_THROWS_AS(jit(grad(f))(2.f), ConcretizationError);
}

TEST_CASE("jvp, vjp, linearize") {
  auto f = [](const Layer& l, Array x) { return std::pair{l.w * x, sin(l.b)}; };
  const Layer l{array({1.f, 2.f}), .5f};
  const auto [y, push] = linearize(f, l, 3.f);
  const auto d = push(Layer{ones(2), 1.f}, 1.f);
  CHECK(near(d.first, {4, 5}));
  CHECK(near(d.second, {std::cos(.5)}));
  const auto [y2, pull] = vjp(f, l, 3.f);
  const auto [cl, cx] = pull({array({1.f, 10.f}), 2.f});
  CHECK(near(cl.w, {3, 30}));
  CHECK(near(cl.b, {2 * std::cos(.5)}));
  CHECK(near(cx, {21}));
  CHECK(refuses<ShapeError>([&, p = pull] { p({ones(3), 1.f}); }, {"vjp", "cotangent[0]", "f32[3]", "f32[2]"}));
  CHECK(refuses<ShapeError>([&] { jvp([](Array a) { return a; }, std::tuple{ones(2)}, std::tuple{ones(3)}); },
                            {"jvp", "args[0]", "f32[2]", "f32[3]"}));
  const auto [value, aux_pull, aux] = vjp([](Array x) { return std::pair{x * x, x + 1}; }, has_aux, 3.f);
  CHECK(near(std::get<0>(aux_pull(1.f)), {6}));
  CHECK(near(aux, {4}));
  const auto with_extra = [](Array x) { return std::pair{x * x, x + 1}; };
  const auto [v, dv, extra] = jvp(with_extra, has_aux, std::tuple{3.f}, std::tuple{2.f});
  CHECK(tree::all_close(jvp(with_extra, std::tuple{3.f}, std::tuple{2.f}, has_aux), std::tuple{v, dv, extra}));
  CHECK(tree::all_close(jvp(with_extra, 3.f, 2.f, has_aux), std::tuple{v, dv, extra}));
  CHECK(near(dv, {12}));
  CHECK(near(extra, {4}));
}

TEST_CASE("a pull can be used under other transforms, and again") {
  const Array x = array({1.f, 2.f, 3.f});
  const auto [y, pull] = vjp([](Array a) { return a * a; }, x);
  CHECK(near(std::get<0>(vmap(pull)(eye(3))), {2, 0, 0, 0, 4, 0, 0, 0, 6}));
  CHECK(near(std::get<0>(jit(pull)(ones(3))), {2, 4, 6}));
  CHECK(near(std::get<0>(pull(ones(3))), {2, 4, 6}));
}

TEST_CASE("linear_transpose wants shapes only, and a linear function") {
  const auto t =
      linear_transpose([](Array a, Array b) { return 2 * a + sum(b); }, ShapeDtypeStruct{{2}, float32}, ShapeDtypeStruct{{3}, float32});
  const auto [a, b] = t(array({1.f, 10.f}));
  CHECK(near(a, {2, 20}));
  CHECK(near(b, {11, 11, 11}));
  CHECK_THROWS_AS(linear_transpose([](Array x) { return sin(x); }, 1.f), TracerError);
}

TEST_CASE("auxiliary results may stand in a tuple of two") {
  auto f = [](Array x) { return std::tuple{sum(x * x), std::tuple{x + 1, sum(x)}}; };
  const Array x = array({1.f, 2.f});
  const auto [result, g] = value_and_grad(f, has_aux)(x);
  const auto [loss, aux] = result;
  CHECK(near(loss, {5}));
  CHECK(near(std::get<0>(aux), {2, 3}));
  CHECK(near(g, {2, 4}));
  const auto [same, kept] = jit(grad(f, has_aux))(x);
  CHECK(near(same, {2, 4}));
  CHECK(near(std::get<1>(kept), {3}));
  const auto [rows, rest] = jacrev([](Array v) { return std::tuple{v * v, 2 * v}; }, has_aux)(x);
  CHECK(near(rows, {2, 0, 0, 4}));
  CHECK(near(rest, {2, 4}));
  const auto [y, pull, beside] = vjp(f, has_aux, x);
  CHECK(near(std::get<0>(pull(1.f)), {2, 4}));
  CHECK(near(std::get<1>(beside), {3}));
  const auto [value, tangent, third] = jvp(f, has_aux, std::tuple{x}, std::tuple{ones(2)});
  CHECK(near(tangent, {6}));
  CHECK(near(std::get<0>(third), {2, 3}));
}

TEST_CASE("derivatives of powers are right at 0, whichever numbers the exponents are") {
  const Array x = array({0.f, 0.f, 0.f, 0.f, 2.f}), exponents = array({0.f, 1.f, 2.f, 3.f, 2.f});
  const Array whole = exponents.astype(int32);
  const auto third_and_before = [&](auto f, std::vector<std::vector<double>> want) {
    const auto total = [](auto g) { return [=](Array v) { return sum(g(v)); }; };
    const auto first = grad(total(f)), second = grad(total(first)), third = grad(total(second));
    CHECK(near(first(x), want[0]));
    CHECK(near(second(x), want[1]));
    CHECK(near(third(x), want[2]));
    CHECK(near(jit(third)(x), want[2]));
    CHECK(near(jvp(second, std::tuple{x}, std::tuple{ones(5)}).second, want[2]));
  };
  third_and_before([&](Array v) { return pow(v, exponents); }, {{0, 1, 0, 0, 4}, {0, 0, 2, 0, 2}, {0, 0, 0, 6, 0}});
  third_and_before([&](Array v) { return pow(v, whole); }, {{0, 1, 0, 0, 4}, {0, 0, 2, 0, 2}, {0, 0, 0, 6, 0}});
  third_and_before([&](Array v) { return pow(v, whole.astype(uint8)); }, {{0, 1, 0, 0, 4}, {0, 0, 2, 0, 2}, {0, 0, 0, 6, 0}});
  third_and_before([](Array v) { return v.at(4).power(2.5f); },
                   {{1, 1, 1, 1, 2.5 * std::pow(2., 1.5)}, {0, 0, 0, 0, 3.75 * std::sqrt(2.)}, {0, 0, 0, 0, 1.875 / std::sqrt(2.)}});
  // By both the base and an exponent of 0.
  const auto mixed = grad([](Array y) { return grad([=](Array b) { return pow(b, y); })(4.f); });
  CHECK(near(mixed(0.f), {0.25}));
}

}  // namespace
