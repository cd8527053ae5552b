// Vectorises the epilogue of a reduction, the code computed from each of its results, along another loop than the reduction's.
#pragma once
#include "weft/backends/codegen/planner/kernel.h"

namespace weft::detail {

/// Vectorises the epilogue of a reduction. A kernel that reduces along its vectors and then computes something expensive from each single
/// result (`tanh(m @ v + x)`) does the latter for one element at a time. Here the kernel reduces a block of rows first, with the results in
/// scratch memory, and then computes the epilogue in a loop over the block, by vectors. Returns false, with the kernel unchanged, if it has
/// another form or if this would not pay off.
bool split_reduction_epilogue(Kernel& k, int vector_bytes);

}  // namespace weft::detail
