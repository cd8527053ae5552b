// Primitives that communicate over named axes: of vmap, where they turn into reductions and moves along the mapped dimension, and of pmap
// and shard_map, where devices exchange data. Names and parameters as JAX prints them.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// What psum reduces over: a named axis, or a dimension of the operand (JAX writes the latter after vmap).
struct AxisRef {
  std::string name;  ///< empty: a position
  int position = -1;
  bool is_named() const { return !name.empty(); }
  friend bool operator==(const AxisRef&, const AxisRef&) = default;
};
using AxisRefs = std::vector<AxisRef>;
std::string print_param(const AxisRefs& v);
void read_param(ParamReader& r, AxisRefs& v);

using IndexGroups = std::optional<std::vector<std::vector<int>>>;

/// Of psum, pmax, pmin.
struct PsumParams {
  AxisRefs axes;
  IndexGroups axis_index_groups;
  friend bool operator==(const PsumParams&, const PsumParams&) = default;
};
/// Of pvary and psum_invariant.
struct VaryParams {
  std::vector<std::string> axes;
  friend bool operator==(const VaryParams&, const VaryParams&) = default;
};
struct AllGatherParams {
  int all_gather_dimension = 0;
  IndexGroups axis_index_groups;
  std::vector<std::string> axis_name;  ///< several: in row-major order
  std::int64_t axis_size = 1;          ///< devices in a group
  bool tiled = false;
  friend bool operator==(const AllGatherParams&, const AllGatherParams&) = default;
};
struct ReduceScatterParams {
  IndexGroups axis_index_groups;
  std::vector<std::string> axis_name;
  std::int64_t axis_size = 1;
  int scatter_dimension = 0;
  bool tiled = false;
  friend bool operator==(const ReduceScatterParams&, const ReduceScatterParams&) = default;
};
struct AllToAllParams {
  IndexGroups axis_index_groups;
  std::string axis_name;
  std::int64_t axis_size = 0;  ///< devices in a group; 0 in a text of JAX's, which leaves it out: then what the operand's shape says
  int concat_axis = 0;
  int split_axis = 0;
  bool tiled = false;
  friend bool operator==(const AllToAllParams&, const AllToAllParams&) = default;
};
struct PpermuteParams {
  std::vector<std::string> axis_name;
  std::vector<std::pair<int, int>> perm;  ///< (from, to); a device that nothing is sent to gets zeros
  friend bool operator==(const PpermuteParams&, const PpermuteParams&) = default;
};
struct PbroadcastParams {
  std::vector<std::string> axis_name;
  int source = 0;
  friend bool operator==(const PbroadcastParams&, const PbroadcastParams&) = default;
};
struct AxisIndexParams {
  std::string axis_name;
  friend bool operator==(const AxisIndexParams&, const AxisIndexParams&) = default;
};

PrimitiveList collective_reduction_primitives();
PrimitiveList collective_move_primitives();

/// The operation that a collective does, for whoever executes it.
enum class Collective { psum, pmax, pmin, pvary, all_gather, reduce_scatter, all_to_all, ppermute, pbroadcast, axis_index };
/// Which collective a primitive is; throws Error for one of another kind. psum_invariant is a psum.
Collective collective_of(const Primitive& op);
/// Names of the axes that an equation of kind collective communicates over.
std::vector<std::string> collective_axes(const Primitive& op, const ParamsBase& params);
/// Its groups, or null.
const IndexGroups* collective_groups(const Primitive& op, const ParamsBase& params);

// The primitives, on one array. All axes named.
Array bind_psum(const Array& x, const std::vector<std::string>& axes, const IndexGroups& groups, SourceLoc loc);
Array bind_pmax(const Array& x, const std::vector<std::string>& axes, const IndexGroups& groups, SourceLoc loc);
Array bind_pmin(const Array& x, const std::vector<std::string>& axes, const IndexGroups& groups, SourceLoc loc);
Array bind_psum_invariant(const Array& x, const std::vector<std::string>& axes, SourceLoc loc);
Array bind_pvary(const Array& x, const std::vector<std::string>& axes, SourceLoc loc);
Array bind_all_gather(const Array& x, AllGatherParams params, SourceLoc loc);
Array bind_reduce_scatter(const Array& x, ReduceScatterParams params, SourceLoc loc);
Array bind_all_to_all(const Array& x, AllToAllParams params, SourceLoc loc);
Array bind_ppermute(const Array& x, PpermuteParams params, SourceLoc loc);
Array bind_pbroadcast(const Array& x, PbroadcastParams params, SourceLoc loc);
Array bind_axis_index(const std::string& axis, SourceLoc loc);

}  // namespace weft::detail
