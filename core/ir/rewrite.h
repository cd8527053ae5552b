// The rewrites of whole programs that rules of higher-order primitives (jit, scan, cond, shard_map, ...) need for their sub-programs.
// Declared here because rules live in core; defined in transforms/, one file each. All take programs without constants; the results may
// have constants that rules introduce.
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

struct JvpProgram {
  Jaxpr jaxpr;  ///< (inputs, nonzero tangents) -> (outputs, nonzero output tangents)
  std::vector<bool> nonzero_out;
};
/// Forward mode. `nonzero[i]`: whether input i has a tangent.
JvpProgram jvp_program(const Jaxpr& j, const std::vector<bool>& nonzero);

struct LinearizedProgram {
  Jaxpr primal;  ///< inputs -> (outputs, residuals)
  Jaxpr linear;  ///< (residuals, nonzero tangents) -> nonzero output tangents; linear in the tangents
  std::vector<bool> nonzero_out;
  int num_residuals = 0;
};
LinearizedProgram linearize_program(const Jaxpr& j, const std::vector<bool>& nonzero);

struct TransposedProgram {
  Jaxpr jaxpr;                ///< (known inputs, cotangents of the outputs that have one) -> cotangents of the linear inputs that have one
  std::vector<bool> nonzero;  ///< for each linear input, in order: whether it has a cotangent
};
/// The transpose of a program that is linear in the inputs where `linear[i]`. Throws TracerError if it is not linear.
TransposedProgram transpose_program(const Jaxpr& j, const std::vector<bool>& linear, const std::vector<bool>& has_cotangent);

struct BatchedProgram {
  Jaxpr jaxpr;
  std::vector<int> out_dims;  ///< kNotMapped where an output doesn't depend on the mapped axis
};
/// The batched program (vmap). Where `out_dims` is given, outputs are moved or broadcast to have the mapped axis there.
BatchedProgram batch_program(const Jaxpr& j, const MappedAxis& axis, const std::vector<int>& in_dims,
                             const std::optional<std::vector<int>>& out_dims = {});

/// Dead code elimination: removes equations whose results are not used, except those with effects, and the unused results, carries and
/// operands of loops, branches and calls. Keeps all inputs.
Jaxpr dce_program(const Jaxpr& j);

}  // namespace weft::detail
