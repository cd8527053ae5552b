// shard_map: one program on all devices of a mesh, each on its block of the operands.
#pragma once
#include "core/mesh_axes.h"
#include "core/ops/collective.h"
#include "core/rewrite.h"

namespace weft::detail {

struct ShardMapParams {
  /// Whether the body marks which values vary over which axes (pvary, psum_invariant): then transposing follows the marks. Otherwise a
  /// replicated value's cotangent counts as the sum over the devices that hold it.
  bool check_vma = false;
  SpecList in_specs;   ///< one for each operand
  Jaxpr jaxpr;         ///< of blocks; collectives name the mesh's axes
  MeshAxes mesh;
  SpecList out_specs;  ///< one for each result
  friend bool operator==(const ShardMapParams&, const ShardMapParams&) = default;
};

PrimitiveList shard_map_primitives();
bool is_shard_map(const Primitive& op);
std::vector<Array> bind_shard_map(ShardMapParams params, std::span<const Array> inputs, SourceLoc loc);

/// The same program without shard_map equations in it: each runs as one program over the axis of a vmap (on the device that the program
/// itself runs on).
Jaxpr unroll_nested_maps(const Jaxpr& j);

}  // namespace weft::detail
