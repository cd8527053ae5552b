// Derivatives where two values are equal, of programs that write max(a, b) with |a - b| beside it, as JAX writes logaddexp and so softplus
// and log_sigmoid: the derivative of max is half of each there, and that of the modulus, taken from one side, would not meet it.
#pragma once
#include "weft/core/ir/jaxpr.h"

namespace weft::detail::mlir {

/// The program, with the same results, in which the modulus of a difference has no derivative at 0 where the maximum of the two, or their
/// minimum, is computed as well. A program without such values is given back as it is. Sub-programs stay as they are.
Jaxpr with_shared_ties(const Jaxpr& j);

}  // namespace weft::detail::mlir
