// The groups of a collective over several processes: the owners of their devices, and how the work of their sums is divided.
#pragma once
#include <array>
#include <memory>
#include <span>
#include <vector>

#include "weft/runtime/host/collectives.h"
#include "weft/runtime/host/reduce.h"
#include "weft/runtime/processes/process_world.h"

namespace weft::detail {

/// One exchange of an all-reduce by recursive doubling.
struct SumStep {
  int peer, place;  ///< the other process, and its place in the group
  bool right;       ///< whether this process's subtree is the right operand
  DType before, after;
  std::int64_t bytes, sum_bytes;  ///< of what is exchanged, and of its sum
  CombineTwo combine;             ///< null: the general one
};

/// One group of a collective, as this process sees it.
struct SharedGroup {
  std::vector<int> positions, owners;  ///< in order of the index along the axes; which process each belongs to
  std::vector<int> mine;               ///< indices in the group
  std::vector<int> ranks;              ///< the processes that have some, in order
  ProcessGroup* channel = nullptr;     ///< of those; null if it is this one alone
  int my_rank = 0;                     ///< position in `ranks`
  int device = 0;                      ///< the first of this process's in it
  SplitReduction reduction;
  bool whole_parts = true;  ///< each part of the reduction is one device's
  int my_part = -1;         ///< of the reduction
  int steps = 0;            ///< where each process has one part and their number is a power of two: its logarithm; else 0

  /// The dtype of partial results that are exchanged, for operands of the dtype.
  DType part_dtype(DType dtype) const { return whole_parts ? dtype : partial_dtype(dtype); }
  DType dtype_before(int step, DType dtype) const { return step == 0 ? part_dtype(dtype) : partial_dtype(dtype); }
  DType dtype_after(int step, DType dtype) const { return step + 1 == steps ? dtype : partial_dtype(dtype); }
  /// The process that is the peer in this step.
  int partner(int step) const { return reduction.parts[static_cast<std::size_t>(my_part ^ (1 << step))].owner; }
};

/// How a short sum runs in a group.
struct ShortSum {
  std::vector<SumStep> doubling;  ///< empty where it runs otherwise
  int leaf = -1;                  ///< whose value alone is this process's part of it, if it is one's alone
};

/// If this process has no device in the group, `mine` is empty and the other fields are not set.
SharedGroup group_of_processes(const std::vector<int>& positions, std::span<const int> device_ids, ProcessWorld& world);
/// What collectives over the same groups of the same devices have in common.
struct CollectiveGroups {
  ProcessGroup* everyone = nullptr;         ///< all processes of the mesh
  std::array<ProcessLayout*, 2> layouts{};  ///< of the mesh's axes, and of the groups
  std::vector<SharedGroup> mine;            ///< those in which this process has devices
  std::uint64_t signature = 0;              ///< a hash of devices, processes and groups
  std::vector<int> device_ids;              ///< of the mesh's positions
};
/// The latest are kept: a program has many collectives over few of them.
std::shared_ptr<const CollectiveGroups> groups_of_processes(const DeviceGroups& groups, std::span<const int> device_ids,
                                                            std::span<const std::int64_t> mesh_shape, ProcessWorld& world);
/// The exchanges of a short sum.
ShortSum short_sum(const SharedGroup& group, const CollectivePlan& plan);

}  // namespace weft::detail
