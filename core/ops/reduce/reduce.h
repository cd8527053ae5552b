// Reductions, positions of extrema, and cumulative operations. All take axes in [0, ndim); the user's functions are in
// core/functions/reductions.h.
#pragma once
#include <vector>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

struct ReduceParams {
  std::vector<int> axes;
  friend bool operator==(const ReduceParams&, const ReduceParams&) = default;
};
struct ArgReduceParams {
  std::vector<int> axes;
  DType index_dtype = int32;
  friend bool operator==(const ArgReduceParams&, const ArgReduceParams&) = default;
};
struct CumulativeParams {
  int axis = 0;
  bool reverse = false;
  friend bool operator==(const CumulativeParams&, const CumulativeParams&) = default;
};

/// The result drops the axes. An empty list of axes gives x itself.
Array reduce_sum(const Array& x, const std::vector<int>& axes, SourceLoc loc = {});
Array reduce_prod(const Array& x, const std::vector<int>& axes, SourceLoc loc = {});
/// Of nothing: the lowest value (-inf). NaN wins.
Array reduce_max(const Array& x, const std::vector<int>& axes, SourceLoc loc = {});
Array reduce_min(const Array& x, const std::vector<int>& axes, SourceLoc loc = {});
/// Of booleans, or bit by bit of integers.
Array reduce_and(const Array& x, const std::vector<int>& axes, SourceLoc loc = {});
Array reduce_or(const Array& x, const std::vector<int>& axes, SourceLoc loc = {});
Array reduce_xor(const Array& x, const std::vector<int>& axes, SourceLoc loc = {});
/// The first position of the extremum along one axis; NaN wins.
Array arg_max(const Array& x, int axis, DType index_dtype = int32, SourceLoc loc = {});
Array arg_min(const Array& x, int axis, DType index_dtype = int32, SourceLoc loc = {});
Array cumulative_sum(const Array& x, int axis, bool reverse = false, SourceLoc loc = {});
Array cumulative_prod(const Array& x, int axis, bool reverse = false, SourceLoc loc = {});
Array cumulative_max(const Array& x, int axis, bool reverse = false, SourceLoc loc = {});
Array cumulative_min(const Array& x, int axis, bool reverse = false, SourceLoc loc = {});
Array cumulative_logsumexp(const Array& x, int axis, bool reverse = false, SourceLoc loc = {});
/// The running reduction by this combiner; null where no operation is.
using RunningReduction = Array (*)(const Array& x, int axis, bool reverse, SourceLoc loc);
RunningReduction running_reduction(Combiner c);

}  // namespace weft::detail
