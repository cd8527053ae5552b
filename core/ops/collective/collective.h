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

/// The parameters of psum, pmax and pmin.
struct PsumParams {
  AxisRefs axes;
  IndexGroups axis_index_groups;
  friend bool operator==(const PsumParams&, const PsumParams&) = default;
};
/// The parameters of pvary and psum_invariant.
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

/// How the devices of a group exchange data, by MPI's names. The set is closed, as that of kinds is: threads, processes and GPUs have one
/// routine for each. The set of primitives is open.
enum class Exchange {
  none,            ///< no exchange: the result is the device's own operand
  position,        ///< no operand: the result is the device's index along the axis
  allreduce,       ///< all devices get the combined operands
  allgather,       ///< all devices get all operands, joined along `dim`
  reduce_scatter,  ///< each device gets its part, along `dim`, of the combined operands
  alltoall,        ///< each device sends parts along `dim`, and joins those that it receives along `concat_dim`
  permute,         ///< point to point: `perm` says who sends to whom
  broadcast        ///< all devices get the operand of `source`
};
/// The details of an exchange, from an equation's parameters.
struct ExchangeParts {
  int dim = 0, concat_dim = 0;
  std::vector<std::pair<int, int>> perm = {};  ///< (from, to), indices in a group
  int source = 0;                              ///< index in a group
};
/// The local part of a reduction that is also over dimensions of the operand: these dimensions, and the parameters of the reduction over
/// devices that remains (null if none does).
struct LocalReduction {
  std::vector<int> dims;
  ParamsRef rest;
};

/// The rules of a primitive of kind collective: for executing it, for renaming its axes, and for the axes over which values vary.
struct CollectiveRules {
  Exchange exchange;
  std::string_view called;  ///< in messages: the function that makes it
  ExchangeParts (*parts)(const ParamsBase&);
  std::vector<std::string> (*axes)(const ParamsBase&);
  const IndexGroups* (*groups)(const ParamsBase&);  ///< null if there are none
  ParamsRef (*renamed)(const ParamsBase&, const std::string& from, const std::string& to);
  /// Whether the results are equal on all devices of the axes.
  bool (*agrees)(const ParamsBase&);
  bool marks;  ///< says itself which values vary (check_vma), and is not to be told
  std::optional<LocalReduction> (*local_reduction)(const ParamsBase&);
  Array (*local)(const Array& x, const std::vector<int>& dims, SourceLoc loc);  ///< of one that has local reductions
};

/// The named axes of a collective's parameters: their field `axes` or `axis_name`.
template <class P>
auto& axes_field(P& p) {
  if constexpr (requires { p.axes; })
    return p.axes;
  else
    return p.axis_name;
}
/// Calls f(name) for each named axis.
template <class F>
void each_axis(std::string& name, F&& f) {
  f(name);
}
template <class F>
void each_axis(std::vector<std::string>& names, F&& f) {
  for (std::string& name : names) f(name);
}
template <class F>
void each_axis(AxisRefs& axes, F&& f) {
  for (AxisRef& a : axes)
    if (a.is_named()) f(a.name);
}

template <class Op>
constexpr CollectiveRules make_collective() {
  using P = typename Op::Params;
  static_assert(
      requires {
        { Op::exchange } -> std::convertible_to<Exchange>;
      }, "weft: a collective needs `static constexpr Exchange exchange`");
  constexpr bool combines = Op::exchange == Exchange::allreduce || Op::exchange == Exchange::reduce_scatter;
  if constexpr (combines) {
    static_assert(requires { Op::combiner; }, "weft: a collective that reduces needs `static constexpr Combiner combiner`");
    static_assert(Op::combiner == Combiner::sum || Op::combiner == Combiner::max || Op::combiner == Combiner::min,
                  "weft: devices combine by sum, max and min");
  }
  CollectiveRules r{};
  r.exchange = Op::exchange;
  if constexpr (requires { Op::called; })
    r.called = Op::called;
  else
    r.called = Op::name;
  r.parts = [](const ParamsBase& p) {
    if constexpr (requires(const P& q) { Op::parts(q); }) return Op::parts(params_as<P>(p));
    return ExchangeParts();
  };
  r.axes = [](const ParamsBase& p) {
    P q = params_as<P>(p);
    std::vector<std::string> names;
    each_axis(axes_field(q), [&](std::string& name) { names.push_back(std::move(name)); });
    return names;
  };
  r.groups = [](const ParamsBase& p) -> const IndexGroups* {
    if constexpr (requires(const P& q) { q.axis_index_groups; })
      if (const IndexGroups& groups = params_as<P>(p).axis_index_groups) return &groups;
    return nullptr;
  };
  r.renamed = [](const ParamsBase& p, const std::string& from, const std::string& to) {
    P q = params_as<P>(p);
    each_axis(axes_field(q), [&](std::string& name) {
      if (name == from) name = to;
    });
    return make_params(std::move(q));
  };
  r.agrees = [](const ParamsBase& p) {
    if constexpr (requires(const P& q) { Op::agrees(q); }) return Op::agrees(params_as<P>(p));
    return false;
  };
  if constexpr (requires { Op::marks; }) r.marks = Op::marks;
  r.local_reduction = [](const ParamsBase& p) -> std::optional<LocalReduction> {
    if constexpr (requires(const P& q) { Op::local_reduction(q); }) return Op::local_reduction(params_as<P>(p));
    return {};
  };
  if constexpr (requires(const Array& x, const std::vector<int>& dims, SourceLoc loc) { Op::local(x, dims, loc); }) r.local = Op::local;
  return r;
}
template <class Op>
inline constexpr CollectiveRules collective_rules_of = make_collective<Op>();

/// The base of primitives of kind collective. Self has `exchange`, and where they apply `combiner`, `parts`, `agrees`, `marks`,
/// `local_reduction` and `local`.
template <class Self>
struct CollectiveOp {
  static constexpr Kind kind = Kind::collective;
  static const CollectiveRules& collective() { return collective_rules_of<Self>; }
};

/// The rules of a primitive of kind collective; throws Error for one of another kind.
const CollectiveRules& collective_rules(const Primitive& op);
/// The names of the axes over which an equation of kind collective communicates.
std::vector<std::string> collective_axes(const Primitive& op, const ParamsBase& params);
/// The axis_index_groups of an equation of kind collective, or null.
const IndexGroups* collective_groups(const Primitive& op, const ParamsBase& params);

// These bind the primitives on one array, over named axes.
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
