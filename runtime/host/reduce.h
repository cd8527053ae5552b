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

/// The order in which operands are reduced, as a program for a stack machine: an index pushes that operand, kMerge combines the two on top.
struct ReductionOrder {
  static constexpr int kMerge = -1;
  std::vector<int> program;
};
/// The balanced tree over n operands: the left part of a node has the largest power of two that is less than its size.
ReductionOrder balanced_order(int n);

/// A subtree of the reduction whose operands belong to one owner.
struct PartialReduction {
  int owner;
  int begin, end;
};
/// The largest such subtrees of the balanced tree, in order, and the order in which their results are reduced.
struct SplitReduction {
  std::vector<PartialReduction> parts;
  ReductionOrder order;
};
SplitReduction split_reduction(std::span<const int> owners);

/// The dtype of partial results: that of the operands, but float32 for 16-bit floats, which are rounded once, at the end.
DType partial_dtype(DType dtype);
/// out[i] = a[i] reduced with b[i], for i in [0, n).
using CombineTwo = void (*)(const void* a, const void* b, void* out, std::int64_t n);
/// The function that combines two operands into a third of their dtype; null for 16-bit floats, whose sums are kept as float32.
CombineTwo combine_two(Combiner what, DType dtype);

/// Several arrays that are reduced to one, element by element.
struct ArrayReduction {
  Combiner combiner;
  DType dtype;  ///< of the operands; sources and target each have it or its partial_dtype()
  const ReductionOrder& order;
  std::span<const void* const> sources;
  DType source_dtype;
  void* target;
  DType target_dtype;

  /// Reduces elements begin..end of the sources into the same elements of the target.
  void run(std::int64_t begin, std::int64_t end) const;
};

}  // namespace weft::detail
