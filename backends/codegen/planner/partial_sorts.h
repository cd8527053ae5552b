// Sorts of which only the first or the last elements are read become top_k.
#pragma once
#include "weft/backends/codegen/planner/simplify.h"

namespace weft::detail {

/// Numbers, the order of which when sorted is that of top_k: integers for integers and real numbers.
Array codes_of_largest(const Array& x, SourceLoc loc);

/// The same program where arrays are not sorted of which only the first or the last few sorted elements are read: those are chosen by
/// top_k. Programs of backends that have no top_k of their own stay as they are.
Jaxpr with_partial_sorts(const Jaxpr& j, Expansion expansion);

}  // namespace weft::detail
