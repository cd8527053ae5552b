// Updates of small windows of a donated array, written where the array is.
#pragma once
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// The same program where updates of small windows are written into donated memory; `donated` as in plan_memory.
Jaxpr with_window_updates(const Jaxpr& j, const std::vector<int>& donated);

}  // namespace weft::detail
