// Nested derivatives keep their perturbations apart, and functions may capture what outer transforms trace.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>

#include "functions.h"

using namespace weft;

namespace {

Array forward(const test::Fn& f, const Array& x) { return jvp(f, std::tuple{x}, std::tuple{ones_like(x)}).second; }
Array reverse(const test::Fn& f, const Array& x) { return grad(f)(x); }
using Derivative = Array (*)(const test::Fn&, const Array&);
constexpr Derivative kDerivatives[] = {forward, reverse};

double number(const Array& x) { return x.item<double>(); }

}  // namespace

// From autodidax2: https://docs.jax.dev/en/latest/autodidax2_part1.html
TEST_CASE("a function that ignores its argument has a derivative of zero, whatever it captures") {
  auto f = [](Array x) {
    auto g = [&](Array) { return x; };
    const Array should_be_zero = jvp(g, std::tuple{0.f}, std::tuple{1.f}).second;
    return x * should_be_zero;
  };
  const auto [y, dy] = jvp(f, std::tuple{0.f}, std::tuple{1.f});
  CHECK(number(y) == 0);
  CHECK(number(dy) == 0);
}

// Siskind and Pearlmutter, Nesting forward-mode AD in a functional framework, 2008.
TEST_CASE("the inner derivative is not by the outer variable") {
  for (Derivative outer : kDerivatives)
    for (Derivative inner : kDerivatives) {
      auto f = [&](Array x) { return x * inner([&](Array y) { return x + y; }, 1.f); };
      CHECK(number(outer(f, 1.f)) == 1);
      auto g = [&](Array x) { return x * inner([&](Array y) { return x * y; }, 2.f); };
      CHECK(number(outer(g, 3.f)) == 6);
      auto h = [&](Array x) { return inner([&](Array y) { return x * x * y * y * y; }, x); };  // 3 x^4
      CHECK(number(outer(h, 2.f)) == doctest::Approx(96));
    }
}

TEST_CASE("three levels, the innermost of which uses all variables") {
  for (Derivative a : kDerivatives)
    for (Derivative b : kDerivatives)
      for (Derivative c : kDerivatives) {
        auto f = [&](Array x) {
          return b([&](Array y) { return c([&](Array z) { return x * x * y * y * z * z + sin(x * y * z); }, y * 0.5); }, x * 2.);
        };
        // The same by hand: c gives p(x, y) = x^2 y^3 + x y cos(x y^2 / 2), where y also stands in z's place.
        auto p = [](double x, double y) { return x * x * y * y * y + x * y * std::cos(x * y * y / 2); };
        const double h = 1e-4, x0 = 0.7;
        auto by_y = [&](double x) { return (p(x, 2 * x + h) - p(x, 2 * x - h)) / (2 * h); };
        const double want = (by_y(x0 + h) - by_y(x0 - h)) / (2 * h);
        CHECK(number(a(f, array({x0}, float64)[0])) == doctest::Approx(want).epsilon(1e-5));
      }
}

TEST_CASE("vmap lanes of an outer and an inner map don't mix") {
  const Array x = array({1., 2., 3.}), y = array({10., 20.});
  const Array table = vmap([&](Array a) { return vmap([&](Array b) { return a * b + sum(x) * a; })(y); })(x);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 2; ++k) CHECK(number(table[i][k]) == (i + 1.) * 10 * (k + 1) + 6 * (i + 1));
  // The inner axis has the outer one's name, and hides it.
  auto both = [&](Array a) { return psum(a, "i") + vmap([&](Array b) { return psum(b, "i") + 0. * a; }, {.axis_name = "i"})(y); };
  CHECK(tree::all_close(vmap(both, {.axis_name = "i"})(x), full({3, 2}, 36.)));
  auto named = [&](Array a) {
    return vmap([&](Array b) { return psum(a * b, "outer") + psum(a * b, "inner"); }, {.axis_name = "inner"})(y);
  };
  const Array sums = vmap(named, {.axis_name = "outer"})(x);
  CHECK(number(sums[1][0]) == 60 + 60);
  CHECK(number(sums[2][1]) == 120 + 90);
}

TEST_CASE("a jitted function that captures what an outer transform traces") {
  auto scaled = [](Array x) {
    auto times_x = jit([&](Array y) { return x * y; });
    return times_x(x) + times_x(2. * x);  // the second call may not use what the first one captured for another trace
  };
  CHECK(number(grad(scaled)(array({1.5})[0])) == 9);
  CHECK(number(grad(grad(scaled))(array({1.5})[0])) == 6);
  CHECK(tree::all_close(vmap(grad(scaled))(array({1., 2.})), array({6., 12.})));
  CHECK(tree::all_close(jit(vmap(jit(scaled)))(array({1., 2.})), array({3., 12.})));
}

TEST_CASE("one jitted function under different transforms") {
  auto cube = jit([](Array x) { return x * x * x; });
  const Array x = array({1., 2.});
  CHECK(tree::all_close(cube(x), array({1., 8.})));
  CHECK(number(grad(cube)(x[1])) == 12);
  CHECK(tree::all_close(vmap(grad(cube))(x), array({3., 12.})));
  CHECK(tree::all_close(vmap(vmap(grad(grad(cube))))(stack({x, x})), stack({6. * x, 6. * x})));
  CHECK(tree::all_close(pmap(cube, {.devices = test::some_devices(2)})(x), array({1., 8.})));
  CHECK(tree::all_close(cube(x), array({1., 8.})));
}

TEST_CASE("a value that grad computes on demand decides the inner program") {
  auto f = [](Array x) {
    Array y = x;
    while (number(y) < 10) y = y * y;  // a C++ loop over values
    return grad([&](Array z) {
      if (z > y) return z * y;
      return z * z * y;
    })(y - 1.);
  };
  // x = 2: y = x^4 = 16, then 2 z y at z = 15: 2 (y - 1) y, whose derivative is (4 y - 2) 4 x^3.
  CHECK(number(grad(f)(array({2.})[0])) == doctest::Approx((4 * 16 - 2) * 32));
}
