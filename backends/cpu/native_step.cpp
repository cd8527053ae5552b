#include "backends/cpu/native_step.h"

#include "core/ops/fft.h"
#include "core/ops/sort.h"

namespace weft::detail {

std::unique_ptr<NativeStep> make_native_step(const Primitive& op, const ParamsBase& params, std::span<const Aval> operands,
                                             std::span<const Aval> results) {
  for (const Aval& a : results)
    if (a.size() == 0) return nullptr;
  if (&op == &primitive_of<Sort>) return make_sort(params, operands);
  if (&op == &primitive_of<TopKLargest>) return make_top_k(params, operands);
  if (op.kind == Kind::convolution) return make_convolution(params, operands, results[0]);
  if (is_fft(op)) return make_fft(params, operands[0], results[0]);
  if (is_fft_along(op)) return make_fft_along(params, operands[0]);
  return nullptr;
}

}  // namespace weft::detail
