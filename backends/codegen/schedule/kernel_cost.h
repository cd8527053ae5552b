// The memory traffic of a kernel.
#pragma once
#include <vector>

#include "weft/backends/codegen/planner/kernel.h"

namespace weft::detail {

/// The elements of each argument that are read and written, each counted at most once, as if caches kept them.
struct KernelTraffic {
  std::vector<double> read, written;
};
KernelTraffic element_traffic(const Kernel& k);

}  // namespace weft::detail
