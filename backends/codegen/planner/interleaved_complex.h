// Complex elements as pairs of interleaved reals, for kernels that treat both parts alike.
#pragma once
#include "weft/backends/codegen/planner/kernel.h"

namespace weft::detail {

/// A kernel that does the same with real as with imaginary parts (moves, sums, differences, choices) has no need of two vectors, which
/// would have to be taken out of memory where they alternate:
/// - elements of two 32-bit parts that are only moved are moved as one of 64 bits;
/// - else the kernel works on real elements: a loop along which complex elements are contiguous becomes one of twice as many steps; where
///   there is none, the two parts become the innermost loop.
///
/// Leaves the kernel as it is where neither applies.
void interleave_complex(Kernel& k);

}  // namespace weft::detail
