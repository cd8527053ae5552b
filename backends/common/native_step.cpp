#include "weft/backends/common/native_step.h"

namespace weft::detail {

std::unique_ptr<NativeStep> make_native_step(const Primitive& op, const ParamsBase& params, std::span<const Aval> operands,
                                             std::span<const Aval> results) {
  for (const Aval& a : results)
    if (a.size() == 0) return nullptr;
  if (NativeStepRules::Function* const rule = find_rule<NativeStepRules>(op)) return rule(params, operands, results);
  return nullptr;
}

}  // namespace weft::detail
