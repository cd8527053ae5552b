// Dispatch, and what memory bandwidth bounds.
#include "harness.h"

using namespace weft;

namespace bench {

void elementwise_workloads(const Options& o) {
  workload(o, "dispatch_add1", [] { return std::tuple{fill(16)}; }, jit([](Array x) { return x + 1.f; }));
  workload(
      o, "dispatch_100args",
      [] {
        std::vector<Array> xs;
        for (unsigned k = 0; k < 100; ++k) xs.push_back(fill(16, 1, 0, k));
        return std::tuple{xs};
      },
      jit([](const std::vector<Array>& xs) {
        Array sum = xs[0];
        for (std::size_t k = 1; k < xs.size(); ++k) sum = sum + xs[k];
        return sum;
      }));

  const int n = 1 << 24;
  workload(o, "axpy_16M", [=] { return std::tuple{fill(n), fill(n, 1, 0, 1)}; }, jit([](Array x, Array y) { return 2.5f * x + y; }));
  workload(
      o, "gelu_chain_16M", [=] { return std::tuple{fill(n, 8)}; },
      jit([](Array x) { return 0.5f * x * (1.f + tanh(0.7978845608f * (x + 0.044715f * x * x * x))) * exp(-0.1f * x * x); }));
  workload(
      o, "transcendental_4M", [] { return std::tuple{fill(1 << 22, 8)}; },
      jit([](Array x) { return sin(x) * log1p(exp(-abs(x))) + erf(x) * cos(x); }));
  workload(o, "sum_16M", [=] { return std::tuple{fill(n)}; }, jit([](Array x) { return sum(x); }));
  workload(o, "softmax_4096x1024", [] { return std::tuple{fill({4096, 1024}, 10)}; }, jit([](Array x) { return nn::softmax(x, -1); }));
  workload(
      o, "layernorm_4096x1024", [] { return std::tuple{fill({4096, 1024}, 10), fill(1024, 1, 1, 1), fill(1024, 1, 0, 2)}; },
      jit([](Array x, Array g, Array b) {
        const Array m = mean(x, -1, keepdims), v = mean(square(x - m), -1, keepdims);
        return (x - m) * rsqrt(v + 1e-5f) * g + b;
      }));
  workload(o, "colsum_4096x1024", [] { return std::tuple{fill({4096, 1024})}; }, jit([](Array x) { return sum(x, 0); }));
  workload(o, "transpose_4096x4096", [] { return std::tuple{fill({4096, 4096})}; }, jit([](Array x) { return transpose(x) + 1.f; }));
  workload(o, "cumsum_4M", [] { return std::tuple{fill(1 << 22)}; }, jit([](Array x) { return cumsum(x); }));
  workload(
      o, "chain_1000ops", [] { return std::tuple{fill(16)}; }, jit([](Array x) {
        for (int k = 0; k < 250; ++k) x = x * 1.0001f + sin(x) * (0.001 * k);
        return x;
      }));
}

}  // namespace bench
