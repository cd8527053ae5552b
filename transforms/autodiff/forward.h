// Forward mode over a program, shared by jvp (tangents beside primals) and linearize (tangents in a linear companion trace).
#pragma once
#include "weft/core/ir/rewrite.h"

namespace weft::detail {

enum class ForwardMode { jvp, linearize };

/// Runs j in the current trace on primals and tangents, by each primitive's jvp rule. Equations without a nonzero tangent are repeated as
/// they are. Throws TracerError for a primitive that has no derivative, naming it and its line.
JvpResult forward(const Jaxpr& j, std::span<const Array> primals, std::span<const Tangent> tangents, ForwardMode mode);

// The rewrites of a whole program, given the values of its inputs, on which users' rules may branch; or none. Of a linear program those of
// the inputs that are not linear.
JvpProgram jvp_program(const Jaxpr& j, const std::vector<bool>& nonzero, std::span<const Array> values);
LinearizedProgram linearize_program(const Jaxpr& j, const std::vector<bool>& nonzero, std::span<const Array> values);
TransposedProgram transpose_program(const Jaxpr& j, const std::vector<bool>& linear, const std::vector<bool>& has_cotangent,
                                    std::span<const Array> values);

}  // namespace weft::detail
