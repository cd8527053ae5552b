// Products that sum nothing, written out in movements and a multiplication, for backends that fuse those.
#pragma once
#include <optional>

#include "core/primitive.h"

namespace weft::detail {

/// The program of a dot_general whose contracting dimensions are all of size 1, or that has none; nothing for others and for bools.
std::optional<Jaxpr> expand_dot(const Eqn& eqn, std::span<const Aval> in);
/// The parameters of the product of the operands in the other order, if the permutation of this one's result is what that one gives.
ParamsRef swapped_dot(const Eqn& dot, std::span<const Aval> in, const std::vector<int>& permutation);

}  // namespace weft::detail
