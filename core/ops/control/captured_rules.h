// Rules of functions that captured traced values.
#pragma once
#include "weft/core/ops/control/custom_derivatives.h"

namespace weft::detail {

/// The rule for a call whose leading operands are captured values: `own` of the rule only, then those of its function. It is given these,
/// and the user's rule, which may have captured the same, computes with them. The rule itself where there is nothing to give.
Ref<const JvpRule> with_captures(Ref<const JvpRule> rule, std::span<const Array> captured, std::size_t own = 0);
Ref<const VjpRule> with_captures(Ref<const VjpRule> rule, std::span<const Array> captured, std::size_t own = 0);

}  // namespace weft::detail
