// Whether two equations compute alike: given equal operands, they give equal results.
#pragma once
#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// Whether both equations are of one operation with equal parameters, programs among them compared by structure. Operands, types and
/// effects are the caller's to compare.
bool same_operation(const Eqn& a, const Eqn& b);

}  // namespace weft::detail
