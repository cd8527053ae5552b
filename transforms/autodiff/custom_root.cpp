#include "weft/transforms/autodiff/custom_root.h"

#include "weft/core/array/array_lists.h"
#include "weft/core/ops/control/call.h"
#include "weft/transforms/autodiff/linear_solve.h"

namespace weft::detail {

Hoisted trace_residual(FlatFunction& f, SourceLoc loc) {
  return hoist_consts(trace_keeping_types("custom_root", "the function", "guess", f, loc));
}

std::vector<Array> call_residual(const Jaxpr& program, std::span<const Array> captured, std::vector<Array> leaves) {
  return eval_jaxpr(program, concat(captured, leaves));
}

}  // namespace weft::detail
