// Workloads that are bound by matmuls.
#include "harness.h"

using namespace weft;

namespace bench {

void matmul_workloads(const Options& o) {
  for (int n : {64, 256, 1024})
    workload(
        o, fmt::format("matmul_{}", n), [=] { return std::tuple{fill({n, n}), fill({n, n}, 1, 0, 1)}; },
        jit([](Array a, Array b) { return matmul(a, b); }));
  workload(
      o, "batched_matmul_256x64", [] { return std::tuple{fill({256, 64, 64}), fill({256, 64, 64}, 1, 0, 1)}; },
      jit([](Array a, Array b) { return matmul(a, b); }));
  workload(
      o, "matmul_bias_gelu_1024", [] { return std::tuple{fill({1024, 1024}), fill({1024, 1024}, 0.1, 0, 1), fill(1024, 1, 0, 2)}; },
      jit([](Array a, Array b, Array c) { return nn::gelu(matmul(a, b) + c); }));
}

}  // namespace bench
