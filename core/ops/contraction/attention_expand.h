// Attention and its gradient in blocks of rows and columns, for backends that have no kernel of their own for it.
#pragma once
#include <optional>

#include "weft/core/ops/contraction/attention.h"

namespace weft::detail {

/// A program of loops over blocks of scores in place of attention's body (or its gradient's) on operands of these types; nothing where the
/// scores are few or there are none. It takes memory in proportion to the lengths, not to their product. A block of rows goes through the
/// columns with its highest score and its sum so far (Milakov and Gimelshein, Online normalizer calculation for softmax, arXiv:1805.02867);
/// the gradient computes the weights again out of the rows' highest scores and sums (Dao et al., FlashAttention, arXiv:2205.14135). A
/// causal one leaves out the blocks of which no row sees a column.
std::optional<Jaxpr> expand_attention(const CompositeParams& p, std::span<const Aval> in);
std::optional<Jaxpr> expand_attention_gradient(const CompositeParams& p, std::span<const Aval> in);

}  // namespace weft::detail
