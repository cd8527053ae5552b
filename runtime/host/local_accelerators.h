// Which of a machine's GPUs a process drives, where several processes run one program.
#pragma once
#include <vector>

#include "weft/core/errors/source_loc.h"

namespace weft::detail {

/// Of `found`: those that WEFT_LOCAL_DEVICE_IDS lists; else, where a launcher started several processes on each machine (`launched`) and
/// says which of them this is, the one of that number, as JAX has it; else all. One that alone is visible is taken by everybody: launchers
/// can show each process another one. Throws DeviceError for a number that there is not.
std::vector<int> local_accelerators(int found, bool launched, SourceLoc loc);

}  // namespace weft::detail
