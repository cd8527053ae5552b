// Collectives whose devices belong to several processes: each process joins what its own devices have, then processes exchange messages,
// then each gives its devices what they get.
#pragma once
#include "weft/runtime/host/collective_engine.h"

namespace weft::detail {

CollectiveEngine& process_engine();

}  // namespace weft::detail
