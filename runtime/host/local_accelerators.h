// Chooses the GPUs of a machine that a process drives, where several processes run one program.
#pragma once
#include <vector>

#include "weft/core/errors/source_loc.h"

namespace weft::detail {

/// The positions, among `found` GPUs, of those that WEFT_LOCAL_DEVICE_IDS lists; else, if a launcher started several processes on each
/// machine (`launched`) and gives this one's local rank, the GPU of that number, as in JAX; else all. A single visible GPU is always used,
/// since launchers can make a different one visible to each process. Throws DeviceError for a number out of range.
std::vector<int> local_accelerators(int found, bool launched, SourceLoc loc);

}  // namespace weft::detail
