// What physicists, quants and roboticists compute.
#include "harness.h"

using namespace weft;

namespace bench {

void science_workloads(const Options& o) {
  auto black_scholes = [](Array s, Array k, Array t, Array r, Array v) {
    const Array d1 = (log(s / k) + (r + 0.5f * v * v) * t) / (v * sqrt(t)), d2 = d1 - v * sqrt(t);
    auto cdf = [](const Array& z) { return 0.5f * (1.f + erf(z * 0.70710678f)); };
    return s * cdf(d1) - k * exp(-r * t) * cdf(d2);
  };
  workload(
      o, "black_scholes_greeks_1M", [] { return std::tuple{fill(1 << 20, 40, 100), fill(1 << 20, 40, 100, 1), fill(1 << 20, 1, 1, 2)}; },
      jit([=](Array s, Array k, Array t) {
        return vmap(value_and_grad<0, 2, 4>(black_scholes), {.in_axes = {0, 0, 0, none, none}})(s, k, t, .03f, .25f);
      }));
  auto logreg = [](Array w, Array x, Array y) { return mean(log1p(exp(-y * matmul(x, w)))) + 0.01f * sum(w * w); };
  workload(
      o, "hessian_logreg_64", [] { return std::tuple{fill(64), fill({1797, 64}), sign(fill(1797, 1, 0, 1))}; },
      jit([=](Array w, Array x, Array y) { return hessian(logreg)(w, x, y); }));
  workload(
      o, "jacrev_256", [] { return std::tuple{fill(256), fill({256, 256}, .1, 0, 1)}; },
      jit([](Array x, Array w) { return jacrev([&](Array v) { return tanh(matmul(w, sin(matmul(w, v)))); })(x); }));
  workload(
      o, "third_derivative_scalar", [] { return std::tuple{array(0.3f)}; },
      jit(grad(grad(grad([](Array x) { return sin(x) * exp(x) * tanh(x); })))));
  auto arm = [](Array q) {  // a planar arm of 7 links: where its end is
    const Array a = cumsum(q);
    return stack({sum(cos(a)), sum(sin(a))});
  };
  workload(o, "arm_jacobian_100k", [] { return std::tuple{fill({100000, 7}, 6)}; }, jit([=](Array q) { return vmap(jacfwd(arm))(q); }));
}

}  // namespace bench
