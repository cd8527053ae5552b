// Other schedules for a kernel than the one that make_schedule chooses. Takes a kernel and the usual schedule; gives those that the same
// cost model comes to when one of its numbers (Target) is another (half as long vectors, another unrolling, other blocks), and the usual
// one with rows side by side. Which of them is fastest is for the caller to measure (backends/cpu/executable/schedule_search.h).
#pragma once
#include <vector>

#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

/// Whether code made by either schedule gives results of the same bits, whatever the operands are: both compute each function by the same
/// formula, and each sum has the same terms in the same order. False where that can't be told from the schedules.
bool same_bits(const Kernel& k, const Schedule& a, const Schedule& b);

/// At most `most` schedules that differ from `usual` and from each other, satisfy check_schedule, and have the same_bits as `usual`; the
/// ones that are best most often come first. They stream the same results as `usual` does: whether that pays depends on who reads them
/// next, which the kernel alone doesn't tell. None for kernels with loops that may never end, whose iterations run in order, or whose
/// updates are partitioned by rows.
std::vector<Schedule> proposed_schedules(const Kernel& k, const Schedule& usual, int vector_bytes, std::size_t most = 12);

}  // namespace weft::detail
