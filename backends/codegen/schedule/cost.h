// Rough costs, in units of about half a cycle for one vector of 32-bit elements.
#pragma once
#include "weft/backends/codegen/planner/dag.h"
#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// Of computing the node once, its operands given.
double node_cost(const Node& n);
/// Floating-point operations it stands for.
double node_flops(const Node& n);
/// Of one element of an expression's result, its operands given.
double equation_cost(const JaxprData& j, const Eqn& e);

}  // namespace weft::detail
