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

/// Of elementwise operations: whether the derivatives are bounded, so that they are finite whatever finite numbers the operands are, some
/// of which may be constants. Without a rule they may be infinite.
struct FiniteDerivativeTransform {
  static constexpr std::string_view name = "finite_derivative", doc = "Whether its derivatives are bounded.";
  using Function = bool(std::span<const bool> is_constant);
};

/// The rule of most.
inline bool always_finite(std::span<const bool>) { return true; }

/// Marks operations whose result is the larger or the smaller of their two operands, the one whose result is the difference of its
/// operands, and the one whose derivative jumps where its operand is 0; the rules themselves are never called.
struct ExtremumTransform {
  static constexpr std::string_view name = "extremum", doc = "Its result is the larger or the smaller of its two operands.";
  using Function = void();
};
struct DifferenceTransform {
  static constexpr std::string_view name = "difference", doc = "Its result is the difference of its operands.";
  using Function = void();
};
struct KinkTransform {
  static constexpr std::string_view name = "kink", doc = "Its derivative jumps where its operand is 0.";
  using Function = void();
};

}  // namespace weft::detail
