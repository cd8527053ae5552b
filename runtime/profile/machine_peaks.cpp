#include "weft/runtime/profile/machine_peaks.h"

#include <algorithm>
#include <chrono>

#include "weft/core/array/array_functions.h"
#include "weft/core/array/constructors.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/executable.h"

namespace weft::detail {
namespace {

/// The shortest time of a program of two float32 matrices of this many rows and columns.
double best_time(const char* text, std::int64_t rows, std::int64_t columns, int runs) {
  const EagerScope eager;
  const Ref<Executable> code = backend("cpu").compile(parse(text), {"machine_peaks"});
  const std::vector<Array> inputs{full({rows, columns}, 1.f, float32), full({rows, columns}, 0.5f, float32)};
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    code->call(inputs, 0);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

MachinePeaks measure() {
  constexpr double n = 1024, m = 4096, k = 2048;
  const double product = best_time(
      "{ lambda ; a:f32[1024,1024] b:f32[1024,1024]. let c:f32[1024,1024] = dot_general["
      "dimension_numbers=(([1], [0]), ([], [])) preferred_element_type=float32] a b in (c,) }",
      1024, 1024, 16);
  const double sum = best_time("{ lambda ; a:f32[4096,2048] b:f32[4096,2048]. let c:f32[4096,2048] = add a b in (c,) }", 4096, 2048, 16);
  return {2 * n * n * n / product, 3 * 4 * m * k / sum};
}

}  // namespace

const MachinePeaks& host_peaks() {
  static const MachinePeaks& peaks = process_wide<MachinePeaks>(measure());
  return peaks;
}

}  // namespace weft::detail
