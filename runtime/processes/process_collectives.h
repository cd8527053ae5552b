// Collectives whose devices belong to several processes: each process first combines the operands of its own devices, then processes
// exchange messages, then each distributes the results to its devices.
#pragma once
#include "weft/runtime/host/collective_engine.h"

namespace weft::detail {

CollectiveEngine& process_engine();

}  // namespace weft::detail
