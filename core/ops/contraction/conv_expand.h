// Convolutions as products of matrices, for backends that have no function of their own for them.
#pragma once
#include <optional>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// The program of a convolution: the product of its kernel and of its windows, which are laid out as a matrix ("im2col": Chellapilla, Puri
/// and Simard, 2006), in pieces whose matrices take about `most_bytes` at most. Nothing where an operand or the result is empty, and where
/// these would be very many pieces.
std::optional<Jaxpr> expand_convolution(const Eqn& e, std::span<const Aval> in, double most_bytes);

}  // namespace weft::detail
