// Derivatives of programs in which functions are written out as selections among formulas, of which each holds for some arguments only, as
// JAX writes erfc, lgamma and others into files: of a formula's element that is not taken, the cotangent is zero and the derivative may be
// infinite, and their product NaN.
#pragma once
#include "weft/core/ir/jaxpr.h"

namespace weft::detail::mlir {

/// The program, with the same results, in which no cotangent comes out of elements of a selection's case that are not taken: what such a
/// case is computed from, is `select(taken, x, stop_gradient(x))`. A program without such cases, or only with those whose derivatives are
/// finite, is given back as it is. Sub-programs stay as they are.
Jaxpr without_untaken_derivatives(const Jaxpr& j);

}  // namespace weft::detail::mlir
