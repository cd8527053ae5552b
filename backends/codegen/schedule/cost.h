// Rough costs, in units of about half a cycle for one vector of 32-bit elements.
#pragma once
#include "weft/backends/codegen/planner/dag.h"
#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// The cost of computing the node once from its operands.
double node_cost(const Node& n);
/// Floating-point operations it stands for.
double node_flops(const Node& n);
/// The cost of one element of an expression's result from its operands.
double equation_cost(const JaxprData& j, const Eqn& e);

}  // namespace weft::detail
