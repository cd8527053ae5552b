// Contractions in forms that suit backends which fuse what surrounds them: those that sum nothing as movements and a multiplication, others
// with the second operand's neighbours along the result's.
#pragma once
#include <optional>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// The program of a dot_general whose contracting dimensions are all of size 1, or that has none; nothing for others and for bools.
std::optional<Jaxpr> expand_dot(const Eqn& eqn, std::span<const Aval> in);
/// The program of a large matrix times a vector whose sums go down columns, or are few, as a multiplication and a sum: those read rows in
/// order, and long sums are divided among threads. Nothing for others, for complex numbers and bools.
std::optional<Jaxpr> reduce_dot(const Eqn& eqn, std::span<const Aval> in);
/// The parameters with which a product takes what was permuted to give its operand (0 or 1) instead; null if the result would be permuted
/// too.
ParamsRef dot_before_transpose(const Eqn& dot, int operand, const std::vector<int>& permutation);
/// Whether a product's sums are short and each element of its second operand is in many of them: then vectors should go along the result's
/// last dimension, and the second operand be transposed so that they read it in order.
bool worth_transposing(const Eqn& dot, std::span<const Aval> in);
/// The program of such a product whose second operand is summed along its last dimension, as that of the transpose; nothing for others.
std::optional<Jaxpr> transpose_dot(const Eqn& eqn, std::span<const Aval> in);
/// The program of a large product one of whose operands is summed along dimensions between its free ones, of which the last have few
/// elements (an image along its rows or columns, pixel by pixel), as that of a transpose whose free dimensions are side by side: one
/// product instead of many tiny ones. Nothing for others.
std::optional<Jaxpr> join_free_dims(const Eqn& eqn, std::span<const Aval> in);
/// Free elements in a row from which on such a product is left as it is.
inline constexpr std::int64_t kFreeRow = 16;
/// The parameters of the product of the operands in the other order, if the permutation of this one's result is what that one gives.
ParamsRef swapped_dot(const Eqn& dot, std::span<const Aval> in, const std::vector<int>& permutation);

}  // namespace weft::detail
