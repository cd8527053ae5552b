// custom_root: derivatives by the implicit function theorem.
#include "tests/transforms/checks.h"

namespace {
using namespace weft;
using namespace weft::test;

/// The root of a scalar function by Newton's method, which could not be differentiated in reverse mode.
const auto kNewton = [](auto f, Array guess) {
  return while_loop([=](Array x) { return abs(f(x)) > 1e-13; },
                    [=](Array x) { return x - f(x) / jvp(f, std::tuple{x}, std::tuple{ones_like(x)}).second; }, guess);
};
const auto kDivide = [](auto linear, Array y) { return y / linear(ones_like(y)); };
/// x^3 + a x = b for a > 0 has one root.
Array root(const Array& a, const Array& b) {
  return custom_root([=](Array x) { return x * x * x + a * x - b; }, ones({}, float64), kNewton, kDivide);
}

TEST_CASE("custom_root: derivatives are those of the equation") {
  const Array a = array(2., float64), b = array(3., float64);
  const double x = root(a, b).item<double>(), rise = 3 * x * x + 2;
  CHECK(x == doctest::Approx(1).epsilon(1e-12));
  // dx/da = -x / (3 x^2 + a), dx/db = 1 / (3 x^2 + a).
  const auto [da, db] = grad<0, 1>([](Array p, Array q) { return root(p, q); })(a, b);
  CHECK(da.item<double>() == doctest::Approx(-x / rise).epsilon(1e-12));
  CHECK(db.item<double>() == doctest::Approx(1 / rise).epsilon(1e-12));
  CHECK(jvp([&](Array q) { return root(a, q); }, std::tuple{b}, std::tuple{ones_like(b)}).second.item<double>() ==
        doctest::Approx(1 / rise).epsilon(1e-12));
  // d2x/db2 = -6 x / (3 x^2 + a)^3, in each order of modes.
  auto of_b = [&](Array q) { return root(a, q); };
  const double second = -6 * x / (rise * rise * rise);
  CHECK(grad(grad(of_b))(b).item<double>() == doctest::Approx(second).epsilon(1e-11));
  CHECK(hessian(of_b)(b).item<double>() == doctest::Approx(second).epsilon(1e-11));
  CHECK(jacfwd(jacfwd(of_b))(b).item<double>() == doctest::Approx(second).epsilon(1e-11));
  // The guess has no influence.
  CHECK(grad([&](Array g) { return custom_root([=](Array v) { return v * v - 2; }, g, kNewton, kDivide); })(array(1., float64))
            .item<double>() == 0);
}

TEST_CASE("custom_root under jit, vmap, scan and checkpoint") {
  const Array a = linspace(1., 4., 5, {.dtype = float64}), b = linspace(-2., 3., 5, {.dtype = float64});
  std::vector<double> values, derivatives;
  for (int i = 0; i < 5; ++i) {
    const double x = root(a(i), b(i)).item<double>();
    values.push_back(x);
    derivatives.push_back(-x / (3 * x * x + a(i).item<double>()));
  }
  auto derivative = grad([](Array p, Array q) { return root(p, q); });
  CHECK(near(vmap(root)(a, b), values, 1e-11));
  CHECK(near(jit(vmap(derivative))(a, b), derivatives, 1e-11));
  CHECK(near(vmap(jit(derivative))(a, b), derivatives, 1e-11));
  CHECK(near(vmap(grad(checkpoint([](Array p, Array q) { return root(p, q); })))(a, b), derivatives, 1e-11));
  // In a loop whose carry the equation captures.
  auto chain = [](Array p) {
    return std::get<0>(scan([](Array c, None) { return std::pair{root(c, c + 1), none}; }, p, none, {.length = 3}));
  };
  const Array p = array(2., float64);
  const double h = 1e-5;
  CHECK(grad(chain)(p).item<double>() == doctest::Approx((chain(p + h) - chain(p - h)).item<double>() / (2 * h)).epsilon(1e-8));
}

struct Circle {
  Array x, y;
};
TEST_CASE("custom_root: trees, and linear systems for the derivative") {
  // Where a circle of radius r meets the line y = k x, by Newton's method in two dimensions.
  auto meet = [](Array r, Array k) {
    auto f = [=](Circle p) { return Circle{p.x * p.x + p.y * p.y - r * r, p.y - k * p.x}; };
    auto in_two = [](auto g, Circle y) {
      const auto [v, back] = tree::ravel(y);
      auto flat = [&, back = back](Array u) { return tree::ravel(g(back(u))).first; };
      return back(linalg::solve(jacfwd(flat)(v), v));
    };
    auto newton = [=](auto g, Circle start) {
      return fori_loop(
          0, 20,
          [=](Array, Circle p) {
            auto linear = [&](Circle v) { return jvp(g, std::tuple{p}, std::tuple{v}).second; };
            const Circle step = in_two(linear, g(p));
            return Circle{p.x - step.x, p.y - step.y};
          },
          start);
    };
    return custom_root(f, Circle{ones({}, float64), ones({}, float64)}, newton, in_two);
  };
  const Array r = array(2., float64), k = array(.5, float64);
  const double x = 2 / std::sqrt(1.25);
  CHECK(meet(r, k).x.item<double>() == doctest::Approx(x).epsilon(1e-12));
  auto of_x = [&](Array rr, Array kk) { return meet(rr, kk).x; };
  CHECK(grad(of_x)(r, k).item<double>() == doctest::Approx(1 / std::sqrt(1.25)).epsilon(1e-12));
  CHECK(grad<1>(of_x)(r, k).item<double>() == doctest::Approx(-2 * .5 * std::pow(1.25, -1.5)).epsilon(1e-11));
}

TEST_CASE("custom_root: tangent_solve may capture values of a trace that is over by then") {
  auto root = [](Array a, Array b) {
    const Array scale = stop_gradient(a);
    auto divide = [=](auto linear, Array y) { return y * scale / linear(scale); };
    return custom_root([=](Array x) { return a * x - b; }, b, [=](auto, Array x) { return x / scale; }, divide);
  };
  const Array a = array(4., float64), b = array(6., float64);
  CHECK(root(a, b).item<double>() == 1.5);
  CHECK(near(jacfwd(root)(a, b), {-.375}));
  CHECK(near(grad<1>(root)(a, b), {.25}));
  CHECK(near(jit(grad(root))(a, b), {-.375}));
  CHECK(near(grad(grad<1>(root))(a, b), {-.0625}));
  CHECK(near(vmap(grad(root), {none, 0})(a, stack({b, 2 * b})), {-.375, -.75}));
}

TEST_CASE("custom_root: what solve captures has no derivative") {
  auto root = [](Array a, Array b) {
    const Array x = b / a;
    return custom_root([=](Array y) { return a * y - b; }, zeros_like(b), [=](auto, Array) { return x; }, kDivide);
  };
  const Array a = array(4., float64), b = array(6., float64);
  CHECK(root(a, b).item<double>() == 1.5);
  CHECK(near(grad(root)(a, b), {-.375}));
  CHECK(near(jacfwd<1>(root)(a, b), {.25}));
  CHECK(near(jit(grad<1>(root))(a, b), {.25}));
  CHECK(near(grad(jit(root))(a, b), {-.375}));
  CHECK(near(grad(grad<1>(root))(a, b), {-.0625}));
  CHECK(near(vmap(grad(root), {none, 0})(a, stack({b, 2 * b})), {-.375, -.75}));
}

TEST_CASE("what custom_root refuses") {
  const Array g = ones({}, float64);
  CHECK(refuses<ShapeError>([&] { custom_root([](Array x) { return stack({x, x}); }, g, kNewton, kDivide); },
                            {"custom_root", "f64[2]", "f64[]", "guess", "custom_root.cpp"}));
  CHECK(refuses<DTypeError>([&] { custom_root([](Array x) { return convert(x, float32); }, g, kNewton, kDivide); }, {"f32[]", "f64[]"}));
  CHECK(refuses<DTypeError>([&] { custom_root([](Array x) { return x; }, array(1), kNewton, kDivide); }, {"guess", "i32[]", "floating"}));
}

}  // namespace
