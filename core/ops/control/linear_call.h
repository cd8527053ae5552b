// A call of a function that is linear in some of its operands and brings its own transpose.
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Operands: those that are known, then those in which the call is linear (jax.custom_derivatives.linear_call).
struct LinearCallParams {
  Jaxpr call_jaxpr;       ///< (known, linear) -> results
  Jaxpr transpose_jaxpr;  ///< (known, cotangents of all results) -> cotangents of the linear operands
  int num_known = 0;
  friend bool operator==(const LinearCallParams&, const LinearCallParams&) = default;
};

/// Applies it. Constants of either program become known operands.
std::vector<Array> bind_linear_call(const LinearCallParams& params, std::span<const Array> inputs, SourceLoc loc);

}  // namespace weft::detail
