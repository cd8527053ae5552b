// Loop partitioning (as Halide's pass of this name): a kernel that only moves elements, such as a concatenation, a padding, a rotation and
// what is fused of them, becomes several, in each of which conditions on the loops' coordinates are known.
#pragma once
#include <vector>

#include "weft/backends/codegen/planner/program.h"

namespace weft::detail {

/// A kernel and the buffers of its arguments.
struct PlacedKernel {
  Kernel kernel;
  std::vector<BufferId> buffers;
};

/// Operations, beside moves, up to which a kernel may be partitioned: each part has code for them, and those along columns pass through
/// memory again.
constexpr int kPartitionedOperations = 8;

/// Partitions the loops of a kernel that only moves elements, but for so many operations on them, where conditions change: each part is a
/// copy of its own, whose loops are merged as its own positions allow. Other kernels, and those whose parts would be too many or too small,
/// are returned as they are.
std::vector<PlacedKernel> partition_loops(Kernel k, std::vector<BufferId> buffers, int operations);

/// Whether no part would have conditions, if the loops of this kernel were partitioned: values that its conditions choose between may then
/// be fused into it several times. The kernel has one nest that is not complete, with its loops, its stores' arguments and loads of any
/// arguments beyond them; kPartitionedOperations are allowed.
bool partitions_without_conditions(Kernel k);

}  // namespace weft::detail
