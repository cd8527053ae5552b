// Loops around one parallel kernel that reads, of what it carried, the neighbourhood of what it writes: stencils. Several iterations run
// over a piece of the arrays while it is in the cache, before the next piece (time skewing: Wonnacott, "Using time skewing to eliminate
// idle time due to memory bandwidth and network limitations", 2000).
#pragma once
#include <optional>
#include <vector>

#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

struct SteppedKernel {
  int step = -1;  ///< of the body. The others have nothing to do with the memory that it reads and writes
  struct Carried {
    int number = 0;  ///< of the carried value
    int from = -1,
        to = -1;  ///< which of the kernel's pointers is the value of the iteration before (-1: it does not read it), and the new one
  };
  std::vector<Carried> carried;
  std::int64_t radius = 1;  ///< a block of an iteration needs this many neighbours on each side from the iteration before
  std::int64_t tile = 1;    ///< iterations in which as many blocks as are in flight fit into a core's cache
};

/// The stepped kernel of a scan; nothing if its body has another form.
std::optional<SteppedKernel> find_stepped_kernel(const ControlStep& scan, const std::vector<Kernel>& kernels,
                                                 const std::vector<Schedule>& schedules);

}  // namespace weft::detail
