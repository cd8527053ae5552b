// Liveness in the body of a loop, whose carry goes from one step to the next: which of its results are read, in this step or a later one.
#pragma once
#include "weft/core/ir/liveness.h"

namespace weft::detail {

/// The carry of a loop's body: the position of the first one among the inputs, and how many results are carried.
struct LoopCarry {
  std::size_t first, count;
};
/// pruned_live_set_of for a loop's body: a carry that is read makes the result that it is in the next step live, too. `carries_read`, which
/// may be empty: the carries that are read elsewhere, as by a condition.
LiveSet pruned_live_set_of_loop(const Jaxpr& body, const LoopCarry& carry, const std::vector<bool>& outputs,
                                const std::vector<bool>& carries_read = {});

}  // namespace weft::detail
