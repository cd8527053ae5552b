// Attention: softmax(scale * q k^T + bias) v for each head. A composite, so that a backend may compute it in blocks, with its derivative as
// two more composites. All three are described by their bodies (attention.cpp) and may be replaced by name.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "weft/core/ops/control/composite.h"

namespace weft::detail {

/// What attention has beside its operands.
struct AttentionForm {
  bool causal = false;  ///< position t of q sees positions 0 to t of k
  double scale = 1;
  bool bias = false, mask = false;  ///< which operands it has
};
/// Nothing where the attributes are others, or the operands are not those of the composite of that name: anybody may write a program that
/// has one.
std::optional<AttentionForm> attention_form(const CompositeParams& p, std::span<const Aval> in);

/// Operands: q (B, T, N, H), k (B, S, K, H), v (B, S, K, D), N a multiple of K; then, if it has them, bias (B, N, T, S) and mask, of bools,
/// of which any size may be 1. Results: (B, T, N, D) in q's dtype; and for each row, (B, N, T), in float32 or wider: the highest score,
/// which derivatives take for a constant, and the sum of the exponentials of all scores less that.
inline constexpr std::string_view kAttention = "weft.dot_product_attention";
/// Its tangent. Operands: those of attention; the rows' highest scores and sums; the result; a tangent for each of q, k, v (and bias).
/// Results: tangents of the result and of the sums.
inline constexpr std::string_view kAttentionTangent = "weft.dot_product_attention_tangent";
/// The transpose of that. Operands: those of attention; the rows' highest scores and sums; for each row, (B, N, T), the sum of result times
/// cotangent, less the sum times its own cotangent; the result's cotangent. Results: cotangents of q, k, v (and bias).
inline constexpr std::string_view kAttentionGradient = "weft.dot_product_attention_gradient";

/// The operands of attention by name, out of the leading operands of any of the three.
struct AttentionOperands {
  Array q, k, v;
  std::optional<Array> bias, mask;
  std::size_t count;  ///< how many they are
  AttentionOperands(std::span<const Array> in, const AttentionForm& form);
};

/// Attention, its first result.
Array attention(const AttentionForm& form, std::span<const Array> operands, SourceLoc loc);

/// The scores' size in bytes; from kLongAttention on they are worth never being stored: a backend that can goes through them in blocks.
double score_bytes(std::span<const Aval> operands);
inline constexpr double kLongAttention = 24e6;

/// What stands for the score of a position that is masked: so low that it weighs nothing beside any other, and finite, so that a row of
/// such ones is their mean.
double masked_score(DType dtype);

}  // namespace weft::detail
