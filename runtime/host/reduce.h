// Reducing several operands to one: the arithmetic of collectives that sum, or take the maximum or minimum. The order is a balanced tree
// over the operands, so that a process which holds some of them can reduce its own subtrees first and the result is the same, bit for bit,
// however they are spread over processes.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/array/dtype.h"
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// In what order operands are reduced, as a program for a stack: an index pushes that operand, kMerge combines the two on top.
struct ReductionOrder {
  static constexpr int kMerge = -1;
  std::vector<int> program;
};
/// The balanced tree over n operands: the left part of a node has the largest power of two that is less than its size.
ReductionOrder balanced_order(int n);

/// A subtree whose operands all have one owner.
struct PartialReduction {
  int owner;
  int begin, end;
};
/// The largest such subtrees of the balanced tree, in order, and how they are reduced into the whole.
struct SplitReduction {
  std::vector<PartialReduction> parts;
  ReductionOrder order;
};
SplitReduction split_reduction(std::span<const int> owners);

/// The dtype in which parts of a reduction are kept: that of the operands, float32 for the half types, which are rounded once, at the end.
DType partial_dtype(DType dtype);
/// out[i] = a[i] reduced with b[i], for i in [0, n).
using CombineTwo = void (*)(const void* a, const void* b, void* out, std::int64_t n);
/// What combines two operands into a third of their dtype; null for the half types, whose sums are kept as float32.
CombineTwo combine_two(Combiner what, DType dtype);
/// Elements begin..end of the sources, reduced into target, which has the same positions. Both dtypes are the operands' or its
/// partial_dtype(). The dtype of the operands says what a sum means.
void reduce_elements(Combiner what, DType dtype, const ReductionOrder& order, std::span<const void* const> sources, DType source_dtype,
                     void* target, DType target_dtype, std::int64_t begin, std::int64_t end);

}  // namespace weft::detail
