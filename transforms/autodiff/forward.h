// Forward mode over a program, shared by jvp (tangents beside primals) and linearize (tangents in a linear companion trace).
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

enum class ForwardMode { jvp, linearize };

/// Runs j in the current trace on primals and tangents, by each primitive's jvp rule. Equations without a nonzero tangent are repeated as
/// they are. Throws TracerError for a primitive that has no derivative, naming it and its line.
JvpResult forward(const Jaxpr& j, std::span<const Array> primals, std::span<const Tangent> tangents, ForwardMode mode);

}  // namespace weft::detail
