// Products in forms that suit backends which fuse what surrounds them: those that sum nothing as movements and a multiplication, others
// with the second operand's neighbours along the result's.
#pragma once
#include <optional>

#include "core/primitive.h"

namespace weft::detail {

/// The program of a dot_general whose contracting dimensions are all of size 1, or that has none; nothing for others and for bools.
std::optional<Jaxpr> expand_dot(const Eqn& eqn, std::span<const Aval> in);
/// Whether a product's sums are short and each element of its second operand is in many of them: then vectors should go along the result's
/// last dimension, and the second operand be turned so that they read it in order.
bool worth_turning(const Eqn& dot, std::span<const Aval> in);
/// The program of such a product whose second operand is summed along its last dimension, as that of the transpose; nothing for others.
std::optional<Jaxpr> turn_dot(const Eqn& eqn, std::span<const Aval> in);
/// The parameters of the product of the operands in the other order, if the permutation of this one's result is what that one gives.
ParamsRef swapped_dot(const Eqn& dot, std::span<const Aval> in, const std::vector<int>& permutation);

}  // namespace weft::detail
