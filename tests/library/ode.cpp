// odeint beside closed solutions and finite differences, nested in transforms, and what it refuses.
#include <doctest/doctest.h>
#include <weft/scipy.h>
#include <weft/weft.h>

#include <cmath>
#include <complex>
#include <string>

#include "tests/messages.h"

using namespace weft;
using test::has, test::message_of;

namespace {

struct Pendulum {
  Array angle, speed;
};

Array decay(const Array& y, const Array& t) { return -t * y; }

}  // namespace

TEST_CASE("odeint: closed solutions, forwards and backwards in time, of real and complex states") {
  const Array t = linspace(0.5, 3, 6, {.dtype = float64}), one = ones({}, float64);
  const Array want = exp(-(square(t) - 0.25) / 2);
  const auto solve = [&](Array y0) { return odeint(decay, y0, t); };
  CHECK(allclose(solve(one), want, 1e-7).item<bool>());
  CHECK(allclose(jit(solve)(one), want, 1e-7).item<bool>());
  const Array three = arange(1, 4, {.dtype = float64});
  CHECK(allclose(vmap(solve)(three), outer(three, want), 1e-7).item<bool>());
  CHECK(allclose(jit(vmap(solve))(three), outer(three, want), 1e-7).item<bool>());
  CHECK(allclose(odeint(decay, want(-1), flip(t)), flip(want), 1e-6).item<bool>());
  CHECK(allclose(odeint(decay, 1.f, array({0.f, 1.f, 1.f, 2.f})), exp(-square(array({0.f, 1.f, 1.f, 2.f})) / 2), 1e-5).item<bool>());
  const Array circle = odeint([](Array y, Array) { return std::complex<double>(0, 1) * y; }, ones({}, complex128), t - 0.5);
  CHECK(allclose(circle, exp(std::complex<double>(0, 1) * (t - 0.5)), 1e-7).item<bool>());
  const Scope stepwise = disable_jit();
  CHECK(allclose(jit(solve)(one), want, 1e-7).item<bool>());
}

TEST_CASE("odeint: trees, further arguments and derivatives of first and second order") {
  const Array t = linspace(0, 4, 9, {.dtype = float64});
  const auto motion = [](const Pendulum& s, Array, Array g) { return Pendulum{s.speed, -g * sin(s.angle)}; };
  const auto last = [&](Array g, Array angle) {
    return odeint(motion, Pendulum{angle, zeros({}, float64)}, t, g, OdeOptions{.rtol = 1e-11, .atol = 1e-11}).angle;
  };
  const auto loss = [&](Array g, Array angle) { return sum(square(last(g, angle))); };
  const Array g = full({}, 9.81, float64), angle = full({}, 0.7, float64);
  const auto value = [&](double dg, double da) { return loss(g + dg, angle + da).item<double>(); };
  const double h = 1e-5;
  const auto [by_g, by_angle] = jit(grad<0, 1>(loss))(g, angle);
  CHECK(by_g.item<double>() == doctest::Approx((value(h, 0) - value(-h, 0)) / (2 * h)).epsilon(1e-5));
  CHECK(by_angle.item<double>() == doctest::Approx((value(0, h) - value(0, -h)) / (2 * h)).epsilon(1e-5));
  const Array forwards = jvp(loss, std::tuple{g, angle}, std::tuple{ones_like(g), zeros_like(g)}).second;
  CHECK(allclose(forwards, by_g, 1e-9).item<bool>());
  const Array gs = stack({g, g / 2, g / 10}), angles = stack({angle, angle, angle});
  const Array mapped = jit(vmap(grad(loss)))(gs, angles);
  for (int i = 0; i < 3; ++i) CHECK(allclose(mapped(i), grad(loss)(gs(i), angle), 1e-9).item<bool>());
  const double second = Array(hessian(loss)(g, angle)).item<double>();
  const auto gradient = [&](double dg) { return grad(loss)(g + dg, angle).item<double>(); };
  CHECK(second == doctest::Approx((gradient(1e-4) - gradient(-1e-4)) / 2e-4).epsilon(1e-4));

  // By the times: y = exp((t0^2 - t^2) / 2).
  const Array times = array({0.5, 1., 1.5}, float64), j = jacobian([](Array ts) { return odeint(decay, ones({}, float64), ts); })(times);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) {
      const double y = std::exp((0.25 - std::pow(times(i).item<double>(), 2)) / 2);
      const double want = i == 0 ? 0 : k == 0 ? 0.5 * y : k == i ? -times(i).item<double>() * y : 0;
      CHECK(j(i, k).item<double>() == doctest::Approx(want).epsilon(1e-6));
    }
}

TEST_CASE("odeint: too many steps, solutions that end, and what is refused") {
  const Array t = array({0.f, 0.5f, 3.f});
  CHECK(array_equal(isnan(odeint([](Array y, Array) { return y * y; }, 1.f, t)), array({false, false, true})).item<bool>());
  CHECK(isnan(odeint(decay, 1.f, t, {.mxstep = 2})(2)).item<bool>());
  CHECK(!isnan(odeint(decay, 1.f, t, {.mxstep = 200})(2)).item<bool>());
  CHECK(allclose(odeint(decay, 1.f, t, {.rtol = 1e-4, .atol = 1e-4, .hmax = 0.01}), exp(-square(t) / 2), 1e-5).item<bool>());
  CHECK(has(message_of<ShapeError>([&] { odeint([](Array y, Array) { return stack({y, y}); }, 1.f, t); }),
            "f(y, t) is f32[2]; it must have the shape of the state, f32[]"));
  CHECK(has(message_of<ShapeError>([&] { odeint(decay, 1.f, 2.f); }), "they must be a vector"));
  CHECK(has(message_of<DTypeError>([&] { odeint([](Array y, Array) { return complex(y, y); }, 1.f, t); }), "begin with a complex state"));
  CHECK(has(message_of<Error>([&] { odeint(decay, 1.f, t, {.rtol = -1}); }), "must not be negative"));
}
