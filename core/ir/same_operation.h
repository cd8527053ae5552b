// Whether two equations compute alike: given equal operands, they give equal results.
#pragma once
#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Whether both equations are of one operation with equal parameters. Operands, types and effects are the caller's to compare.
inline bool same_operation(const Eqn& a, const Eqn& b) { return a.op == b.op && a.op->params_equal(*a.params, *b.params); }

}  // namespace weft::detail
