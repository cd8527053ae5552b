// Reductions over windows, written out in movements and elementwise primitives, for backends that fuse those.
#pragma once
#include <optional>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// The program of an equation that reduces over windows, chooses from them or adds to what they choose; nothing where it is better done
/// otherwise: choices among many elements, elements that many windows share and add to, programs as combiners.
std::optional<Jaxpr> expand_window(const Eqn& eqn, std::span<const Aval> in);

}  // namespace weft::detail
