// Programs on arrays that are sharded over a mesh, as programs of one device: "computation follows data". Each value of the program gets a
// spec, chosen from those of the operands that it is made of; where operands must be divided otherwise, blocks are cut and collectives put
// in.
#pragma once
#include <optional>

#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/core/ops/collective/shard_map.h"

namespace weft::detail {

/// A program of whole arrays as a shard_map over the mesh, with these in_specs; its out_specs follow. The sharding of a result is stated
/// over the mesh of the sharding_constraint that it comes from, others over `results_over` if that is given and they can be. Nothing if the
/// program holds what can't run so: effects, or maps over other meshes. Throws ShardingError for a sharding_constraint that can't be stated
/// over the mesh.
std::optional<Jaxpr> partition(const Jaxpr& j, const MeshAxes& mesh, const std::vector<PartitionSpec>& in_specs,
                               const MeshAxes* results_over = nullptr);

/// The params of a map over some of its mesh's axes as those of a map over all of them: maps in its body over the axes that it leaves free
/// are taken apart, and operands and results are sharded over those axes, too, where the maps in the body divide them. Nothing if there are
/// none, or if the body holds what can't run so.
std::optional<ShardMapParams> partition_free_axes(const ShardMapParams& p);

}  // namespace weft::detail
