// What differentiation may know of elementwise operations where some of their results are never read, as in the branch of a selection that
// is not taken.
#pragma once
#include <span>

#include "weft/core/ir/rules.h"

namespace weft::detail {

/// Marks operations whose first operand says from which of the others each element of the result is; the rule itself is never called.
struct ChoiceTransform {
  static constexpr std::string_view name = "choice", doc = "Each element of its result is that of one of its operands.";
  using Function = void();
};

/// Of elementwise operations: whether the derivatives are finite wherever the operands are, some of which may be constants. Without a rule
/// they may be infinite.
struct FiniteDerivativeTransform {
  static constexpr std::string_view name = "finite_derivative", doc = "Its derivatives are finite where its operands are.";
  using Function = bool(std::span<const bool> is_constant);
};

/// The rule of most.
inline bool always_finite(std::span<const bool>) { return true; }

}  // namespace weft::detail
