// shard_map: one program on all devices of a mesh, each on its block of the operands.
#pragma once
#include <string_view>

#include "weft/core/ir/mesh_axes.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/rules.h"
#include "weft/core/ops/collective/collective.h"

namespace weft::detail {

/// What the axis of a pmap without axis_name is called (as JAX calls it; nested ones get a number behind). Errors don't show it.
inline constexpr std::string_view kUnnamedAxis = "_internal_pmap_axis_name";

/// Names of axes, in the mesh's order; written as a frozenset.
struct AxisSet {
  std::vector<std::string> names;
  friend bool operator==(const AxisSet&, const AxisSet&) = default;
};
std::string print_param(const AxisSet& v);
void read_param(ParamReader& r, AxisSet& v);
/// The axes that a spec names.
std::vector<std::string> named_axes(const PartitionSpec& spec);

struct ShardMapParams {
  /// Whether the body marks which values vary over which axes (pvary, psum_invariant): then transposing follows the marks. Otherwise a
  /// replicated value's cotangent counts as the sum over the devices that hold it.
  bool check_vma = false;
  SpecList in_specs;  ///< one for each operand
  Jaxpr jaxpr;        ///< of blocks; collectives name the mesh's axes
  MeshAxes mesh;
  AxisSet newly_manual_axes;  ///< of the mesh, those that the body may name, and over which the specs divide; empty: all
  SpecList out_specs;         ///< one for each result
  /// The body was made by the partitioner from one program on whole arrays, which is then the same in all processes. Not in the text.
  bool partitioned = false;
  /// Those that are the body's, in the mesh's order.
  std::vector<std::string> manual_axes() const { return newly_manual_axes.names.empty() ? mesh.names : newly_manual_axes.names; }
  /// Those over which all devices see the same block.
  std::vector<std::string> replicated_axes(const PartitionSpec& spec) const;
  friend bool operator==(const ShardMapParams&, const ShardMapParams&) = default;
};

PrimitiveList shard_map_primitives();
/// Rules for operations of kind spmd that are maps over a mesh; they return the map's parameters.
struct DeviceMapTransform {
  static constexpr std::string_view name = "device_map", doc = "It is a map over a mesh.";
  using Function = const ShardMapParams&(const ParamsBase& params);
};
/// The parameters of an equation that is a map over a mesh; null for others.
const ShardMapParams* device_map(const Eqn& e);
std::vector<Array> bind_shard_map(ShardMapParams params, std::span<const Array> inputs, SourceLoc loc);

/// In a device's program: its block of a replicated array.
Array block_of(const Array& x, const PartitionSpec& spec, const MeshAxes& mesh, SourceLoc loc);

/// The same program for a device of the mesh without shard_map equations in it. One over `free_axes`, axes of this mesh that the program
/// around it leaves alone, runs on the mesh's devices; another as one program over the axis of a vmap.
Jaxpr unroll_nested_maps(const Jaxpr& j, const MeshAxes& mesh, const std::vector<std::string>& free_axes);
/// The params with the mesh extended by the axes of a map in the body, as long as there are devices for it: `num_devices` if the params
/// don't list them. Then nested maps spread over the devices.
ShardMapParams spread_nested_maps(const ShardMapParams& p, std::int64_t num_devices);

}  // namespace weft::detail
