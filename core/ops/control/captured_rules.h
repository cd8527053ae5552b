// Rules of functions that captured traced values.
#pragma once
#include "weft/core/ops/control/custom_derivatives.h"

namespace weft::detail {

/// The rule for a call whose leading operands are the values that its function captured. It is given these, and the user's rule, which may
/// have captured the same, computes with them. The rule itself where there is nothing to give.
Ref<const JvpRule> with_captures(Ref<const JvpRule> rule, std::span<const Array> captured);
Ref<const VjpRule> with_captures(Ref<const VjpRule> rule, std::span<const Array> captured);

}  // namespace weft::detail
