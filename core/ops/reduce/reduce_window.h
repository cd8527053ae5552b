// Reductions over sliding windows, and reductions by a program.
#pragma once
#include <vector>

#include "weft/core/ops/reduce/windows.h"

namespace weft::detail {

/// All lists have an entry for each dimension.
struct ReduceWindowParams {
  std::vector<std::int64_t> base_dilation;
  PadPairs padding;
  std::vector<std::int64_t> window_dilation;
  std::vector<std::int64_t> window_dimensions;
  std::vector<std::int64_t> window_strides;
  friend bool operator==(const ReduceWindowParams&, const ReduceWindowParams&) = default;
};
/// The same with a program that combines two values for each operand. Operands: the arrays, then a scalar for each to start from.
struct ReduceWindowProgramParams {
  std::vector<std::int64_t> base_dilation;
  Jaxpr jaxpr;
  PadPairs padding;
  std::vector<std::int64_t> window_dilation;
  std::vector<std::int64_t> window_dimensions;
  std::vector<std::int64_t> window_strides;
  friend bool operator==(const ReduceWindowProgramParams&, const ReduceWindowProgramParams&) = default;
};
struct ReduceProgramParams {
  std::vector<int> dimensions;
  Jaxpr jaxpr;
  friend bool operator==(const ReduceProgramParams&, const ReduceProgramParams&) = default;
};

/// Which element of a window is chosen: the greatest (ge) or the least (le), the first of equal ones.
enum class SelectPrim { ge, le };
std::string print_param(SelectPrim v);
void read_param(ParamReader& r, SelectPrim& v);
struct SelectAndGatherParams {
  std::vector<std::int64_t> base_dilation;
  PadPairs padding;
  SelectPrim select_prim = SelectPrim::ge;
  std::vector<std::int64_t> window_dilation;
  std::vector<std::int64_t> window_dimensions;
  std::vector<std::int64_t> window_strides;
  friend bool operator==(const SelectAndGatherParams&, const SelectAndGatherParams&) = default;
};
struct SelectAndScatterParams {
  PadPairs padding;
  SelectPrim select_prim = SelectPrim::ge;
  std::vector<std::int64_t> window_dimensions;
  std::vector<std::int64_t> window_strides;
  friend bool operator==(const SelectAndScatterParams&, const SelectAndScatterParams&) = default;
};

Array reduce_window_sum(const Array& x, ReduceWindowParams params, SourceLoc loc);
Array reduce_window_max(const Array& x, ReduceWindowParams params, SourceLoc loc);
Array reduce_window_min(const Array& x, ReduceWindowParams params, SourceLoc loc);
/// For each window the element of `tangents` at the place that is chosen in x.
Array select_and_gather_add(const Array& tangents, const Array& x, SelectAndGatherParams params, SourceLoc loc);
/// Zeros, with each element of `source` added at the place that is chosen in x under its window.
Array select_and_scatter_add(const Array& source, const Array& x, SelectAndScatterParams params, SourceLoc loc);

/// The program combines two values for each array.
std::vector<Array> reduce_by(std::span<const Array> xs, std::span<const Array> init, std::vector<int> dimensions, Jaxpr combine,
                             SourceLoc loc);
std::vector<Array> reduce_window_by(std::span<const Array> xs, std::span<const Array> init, const ReduceWindowParams& params, Jaxpr combine,
                                    SourceLoc loc);

}  // namespace weft::detail
