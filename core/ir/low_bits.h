// Operations on integers that compute the low bits of their result from the low bits of their operand, as sums do and quotients don't.
#pragma once
#include "weft/core/ir/rules.h"

namespace weft::detail {

/// Marks operations of one operand, of whose integer result the low bits are what the same operation gives for the low bits of the operand
/// in a narrower type; the rule itself is never called. Elementwise operations need no mark: kernels know their scalar operations.
struct LowBitsTransform {
  static constexpr std::string_view name = "low_bits", doc = "Low bits of its result depend on low bits of its operand only.";
  using Function = void();
};

}  // namespace weft::detail
