// Collectives whose devices belong to several processes: each process joins what its own devices have, then processes exchange messages, then each
// gives its devices what they get.
#pragma once
#include "runtime/collective_engine.h"

namespace weft::detail {

CollectiveEngine& process_engine();

/// Bytes that this process has sent to others since it began.
std::int64_t bytes_sent_to_processes();

}  // namespace weft::detail
