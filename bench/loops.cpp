// Many steps on little data, and loops over grids: what robotics, control and simulation code looks like.
#include <array>

#include "harness.h"

using namespace weft;

namespace bench {

namespace {

struct Bodies {
  Array q, v;
};
Array nbody_energy(Array q, Array v, Array m) {
  constexpr float dt = 1e-3f;
  auto acceleration = [&](const Array& q) {
    const Array d = expand_dims(q, 0) - expand_dims(q, 1);
    const Array r2 = sum(d * d, -1) + 1e-2f;
    return sum(d * (reshape(m, {1, -1, 1}) * expand_dims(1.f / (r2 * sqrt(r2)), -1)), 1);
  };
  const Bodies end = fori_loop(
      0, 100,
      [&](Array, Bodies b) {
        b.v = b.v + dt * acceleration(b.q);
        return Bodies{b.q + dt * b.v, b.v};
      },
      Bodies{q, v});
  return 0.5f * sum(expand_dims(m, 1) * end.v * end.v);
}

struct Orbit {
  Array re, im, steps;
};
Array mandelbrot(Array re, Array im) {
  return while_loop([](const Orbit& s) { return (s.steps < 200) & (s.re * s.re + s.im * s.im < 4.f); },
                    [&](const Orbit& s) { return Orbit{s.re * s.re - s.im * s.im + re, 2.f * s.re * s.im + im, s.steps + 1}; },
                    Orbit{0.f, 0.f, 0})
      .steps;
}

Array heat(Array u) {
  return fori_loop(
      0, 200,
      [](Array, Array u) {
        const Array p = pad(u, 1);
        return u + 0.2f * (p(slice(2, none), slice(1, -1)) + p(slice(none, -2), slice(1, -1)) + p(slice(1, -1), slice(2, none)) +
                           p(slice(1, -1), slice(none, -2)) - 4.f * u);
      },
      u);
}

Array chain(Array x) {
  for (int k = 0; k < 250; ++k) x = x * 1.0001f + sin(x) * (0.001f * static_cast<float>(k));
  return x;
}

struct Estimate {
  Array mean, covariance;
};
Array kalman(Array F, Array H, Array Q, Array R, Array zs) {
  auto step = [&](const Estimate& s, const Array& z) {
    const Array m = matmul(F, s.mean), P = matmul(matmul(F, s.covariance), transpose(F)) + Q;
    const Array S = matmul(matmul(H, P), transpose(H)) + R;
    const Array K = transpose(linalg::solve(S, matmul(H, P)));
    const Array r = z - matmul(H, m);
    return std::pair{Estimate{m + matmul(K, r), P - matmul(matmul(K, H), P)}, sum(r * r)};
  };
  return sum(scan(step, Estimate{zeros(6), eye(6)}, zs).second);
}

Array pendulum_cost(Array u) {  // direct shooting: one Runge-Kutta step for each control
  auto slope = [](const Array& s, const Array& u) { return stack({s(1), -9.81f * sin(s(0)) - 0.1f * s(1) + u}); };
  auto step = [&](const Array& s, const Array& u) {
    constexpr float h = 0.02f;
    const Array k1 = slope(s, u), k2 = slope(s + h / 2 * k1, u), k3 = slope(s + h / 2 * k2, u), k4 = slope(s + h * k3, u);
    return std::pair<Array, None>{s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4), none};
  };
  const Array s = scan(step, array({0.1f, 0.f}), u).first;
  return square(s(0) - 3.14159265358979f) + square(s(1)) + 1e-3f * sum(u * u);
}

using Leaves = std::array<Array, 16>;

}  // namespace

void loop_workloads(const Options& o) {
  auto bodies = [](std::int64_t n) { return [n] { return std::tuple{fill({n, 3}, 2), fill({n, 3}, 1, 0, 1), fill(n, 1, 1, 2)}; }; };
  workload(o, "nbody_256_100steps", bodies(256), jit(nbody_energy));
  workload(o, "nbody_grad_64_100steps", bodies(64), jit([](Array q, Array v, Array m) { return grad<0, 1>(nbody_energy)(q, v, m); }));

  workload(
      o, "mandelbrot_vmap_512", [] { return std::tuple{linspace(-2, 0.6, 512), linspace(-1.2, 1.2, 512)}; },
      jit([](Array x, Array y) { return vmap([=](Array b) { return vmap([=](Array a) { return mandelbrot(a, b); })(x); })(y); }));
  workload(o, "heat_1024_200steps", [] { return std::tuple{fill({1024, 1024})}; }, jit(heat));
  workload(o, "chain_1000ops", [] { return std::tuple{fill(16)}; }, jit(chain));

  workload(
      o, "scan_16leaves_f32x8_10k",
      [] {
        Leaves c;
        for (unsigned k = 0; k < 16; ++k) c[k] = fill(8, 1, 0, k);
        return std::tuple{c};
      },
      jit([](const Leaves& start) {
        auto step = [](const Leaves& c, None) {
          Leaves next;
          for (std::size_t i = 0; i < 16; ++i) next[i] = tanh(c[i]) + 0.01f * roll(c[(i + 1) % 16], 1);
          return std::pair<Leaves, None>{next, none};
        };
        return scan(step, start, none, {.length = 10000}).first;
      }));
  workload(
      o, "kalman_6x3_1000_grad",
      [] { return std::tuple{0.9f * eye(6) + fill({6, 6}, .02), fill({3, 6}, 1, 0, 1), 0.1f * eye(6), eye(3), fill({1000, 3}, 1, 0, 2)}; },
      jit([](Array F, Array H, Array Q, Array R, Array zs) { return value_and_grad<0, 1>(kalman)(F, H, Q, R, zs); }));
  workload(
      o, "solve_4x4_batch_10k", [] { return std::tuple{fill({10000, 4, 4}) + 2 * eye(4), fill({10000, 4, 1}, 1, 0, 1)}; },
      jit([](Array a, Array b) { return linalg::solve(a, b); }));
  workload(o, "pendulum_shooting_hessian_50", [] { return std::tuple{fill(50, 4)}; }, jit(hessian(pendulum_cost)));
  workload(o, "pendulum_shooting_grad_200", [] { return std::tuple{fill(200, 4)}; }, jit(value_and_grad(pendulum_cost)));
}

}  // namespace bench
