// Elements that stay side by side where a kernel moves them, such as the channels of a pixel, are moved as one wider element.
#pragma once
#include "weft/backends/codegen/planner/program.h"

namespace weft::detail {

/// Widens the elements of a kernel that only moves elements, where sizes allow it. Changes the dtypes of the kernel's arguments.
void widen_moves(Kernel& k);

}  // namespace weft::detail
