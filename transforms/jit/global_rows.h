// A map over several processes is lowered for the rows that each process has. This is the same map of global arrays, whose rows are those
// of all processes: it takes and gives arrays over the map's mesh, and nothing is moved into or out of it.
#pragma once
#include <optional>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// Nothing if the program moves none of its inputs to a global array, or uses one otherwise, or reads a result that it moved out of one.
std::optional<Jaxpr> with_global_rows(const Jaxpr& program);

}  // namespace weft::detail
