// What others call a library for: random numbers, sorting, factorisations.
#include "harness.h"

using namespace weft;

namespace bench {

void library_workloads(const Options& o) {
  workload(
      o, "normal_rng_4M", [] { return std::tuple{array(std::vector<std::uint32_t>{0, 42})}; },
      jit([](Array words) { return random::normal(random::wrap_key_data(words), {1 << 22}); }));
  workload(o, "sort_1M", [] { return std::tuple{fill(1 << 20)}; }, jit([](Array x) { return sort(x); }));
  workload(
      o, "cholesky_solve_512", [] { return std::tuple{fill({512, 512}), fill(512, 1, 0, 1)}; }, jit([](Array a, Array b) {
        const Array l = linalg::cholesky(matmul(a, transpose(a)) + 512 * eye(512));
        return linalg::triangular_solve(l, linalg::triangular_solve(l, b), {.transpose_a = true});
      }));
}

}  // namespace bench
