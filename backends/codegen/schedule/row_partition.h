// Takes a kernel that may be partitioned by rows (scatters), gives the blocks of its schedule.
#pragma once
#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

/// Each task goes through all iterations, so that there are many blocks, but few tasks. Neighbouring rows are in one block as far as they
/// share a cache line; blocks have their rows all over, as what is hit often is mostly in one place. A kernel of little work stays whole.
void partition_rows(const Kernel& k, const Target& target, Schedule& s);

}  // namespace weft::detail
