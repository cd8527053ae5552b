// The schedule of a kernel on a GPU. A team of threads computes a point of the outer space: one thread, a warp, or a block. Within the
// point, the loops of each nest are distributed to the team's threads, or run by each of them. Depends on the kernel only, so that results
// do not depend on the device.
#pragma once
#include <vector>

#include "weft/backends/codegen/planner/kernel.h"

namespace weft::detail {

struct GpuNestSchedule {
  std::vector<int> in_order;     ///< loops that every thread of the team runs, slowest first
  std::vector<int> distributed;  ///< loops whose iterations are distributed to the team's threads, the last one fastest
  /// Consecutive iterations of the last distributed loop (of the reducing loops, where those are distributed) that one thread takes at
  /// once.
  int lanes = 1;
  bool reduces_across = false;  ///< the reducing loops are distributed too: partial results are combined across the team
};

struct GpuSchedule {
  std::vector<int> points;  ///< loops over points, the last one fastest
  int lanes = 1;            ///< consecutive points of the last of these loops that one thread takes as a vector
  int team = 1;             ///< threads of a point: 1, 32, or a block's
  /// The team's threads belong to different warps, and a warp's threads to different points, so that reductions along strided axes read
  /// coalesced.
  bool columns = false;
  int threads = 256;       ///< of a block
  std::int64_t teams = 1;  ///< points, or vectors of them, that there are work for
  std::vector<GpuNestSchedule> nests;
  bool atomic = false;  ///< stores combine atomically with what is there
  /// A block takes a tile of kTile x kTile points of the last two loops: these loads, which are side by side along the last but one, go
  /// through shared memory. `teams` counts tiles.
  std::vector<NodeId> transposed_loads;
  static constexpr std::int64_t kTile = 32;
  std::int64_t scratch = 0;  ///< bytes of one team's scratch
  /// Scratch is in memory of the device that the launch is given, `scratch` bytes for each team that runs.
  bool workspace = false;
  /// The kernel has one point, and its nests are launches of their own: the scratch in the device's memory is the same for all of them.
  bool common_scratch = false;

  std::int64_t blocks() const { return (teams * team + threads - 1) / threads; }
};

/// A planner's kernel as one or more launches: nests that communicate through memory only may be separate launches.
struct GpuLaunch {
  Kernel kernel;
  GpuSchedule schedule;
};
/// `aligned`: all arguments begin at whole vectors of 16 bytes.
std::vector<GpuLaunch> gpu_launches(const Kernel& k, bool aligned);

/// Whether all stores of the kernel combine with what is there by an operation of which the order does not matter (but for the rounding of
/// sums and products): by the hardware's atomic operations, or by comparing and exchanging.
bool combines_atomically(const Kernel& k);
/// The value that an atomic store combines with memory, and the operation; small floats are combined as float32. -1 if it can't.
NodeId atomic_operand(const Kernel& k, const Store& s, ScalarOp& op);

}  // namespace weft::detail
