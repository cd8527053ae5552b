// Which scatters may write into their operand's memory, and the order of equations that this asks for.
#pragma once
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// For each variable, the number of the scatter that may write its result into that variable's memory, or -1. The memory is that of a
/// donated input or of such a scatter's result; a variable that is a result of the program has none. `donated` as in plan_memory.
std::vector<int> scatters_in_place(const JaxprData& d, const std::vector<int>& donated);

/// The same program reordered so that readers of a variable come before the scatter that may overwrite it.
Jaxpr with_reads_before_updates(const Jaxpr& j, const std::vector<int>& donated);

}  // namespace weft::detail
