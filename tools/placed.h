// Programs run on devices other than the first ones.
#pragma once
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::tools {

/// The program with its maps over devices on these instead of the first ones.
Jaxpr placed_on(const Jaxpr& program, const std::vector<int>& device_ids);

}  // namespace weft::tools
