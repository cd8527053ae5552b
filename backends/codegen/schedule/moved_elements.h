// Kernels that only move elements: concatenations, paddings, rotations and what is fused of them.
#pragma once
#include <vector>

#include "weft/backends/codegen/planner/program.h"

namespace weft::detail {

/// A kernel and the buffers of its arguments.
struct PlacedKernel {
  Kernel kernel;
  std::vector<BufferId> buffers;
};

/// Operations, beside moves, up to which a kernel may be cut: each part has code for them, and those along columns pass through memory
/// again.
constexpr int kOperationsOfParts = 8;

/// Cuts a kernel that only moves elements, but for so many operations on them, where its result's elements begin to come from another
/// place, so that each part is a copy of its own, whose loops need not ask where an element comes from and may be merged as its own
/// positions allow. Other kernels, and those whose parts would be too many or too small, are returned as they are.
std::vector<PlacedKernel> cut_moves(Kernel k, std::vector<BufferId> buffers, int operations);

/// Whether a kernel of one nest that is not complete, with its loops, its stores' arguments and loads of any arguments beyond them, would
/// be cut so that its parts (with operations) choose nothing any more: what is chosen may then be chosen several times.
bool come_apart(Kernel k);

/// Moves a few elements that stay side by side, such as the channels of a pixel, as one wider element, where the kernel only moves elements
/// and sizes allow it. Changes the dtypes of the kernel's arguments.
void widen_moves(Kernel& k);

}  // namespace weft::detail
