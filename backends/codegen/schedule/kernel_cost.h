// How much of its arguments a kernel moves.
#pragma once
#include <vector>

#include "weft/backends/codegen/planner/kernel.h"

namespace weft::detail {

/// Elements of each argument that are read and written, each at most once as caches keep them.
struct KernelTraffic {
  std::vector<double> read, written;
};
KernelTraffic element_traffic(const Kernel& k);

}  // namespace weft::detail
