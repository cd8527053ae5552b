// Schedules of kernels that move complex numbers.
#pragma once
#include <vector>

#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

/// Vectorises over pairs, where the innermost loop runs over the two parts of complex elements, and along every other loop some array is
/// strided. The loops along which pairs are contiguous come last, a cache line at a time, with those of contiguous loads innermost. Returns
/// whether the kernel is such a one; else the schedule stays as it is. `nodes`: of the first nest.
bool plan_pairs(const Kernel& k, const std::vector<NodeId>& nodes, const Target& target, Schedule& schedule);

}  // namespace weft::detail
