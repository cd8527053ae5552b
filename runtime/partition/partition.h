// The SPMD partitioner: rewrites a program on arrays that are sharded over a mesh into the program of one device ("computation follows
// data"). Each value gets a spec, propagated from those of its operands; where an operand needs another sharding, it is resharded by
// slicing blocks and by collectives.
#pragma once
#include <optional>

#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/core/ops/collective/shard_map.h"

namespace weft::detail {

/// The partitioned program: one shard_map equation over the mesh, with these in_specs and the out_specs that propagation gives. The
/// sharding of a result is stated over the mesh of the sharding_constraint that it comes from, others over `results_over` if given and
/// possible. Nothing if the program can't be partitioned (effects, or maps over other meshes). Throws ShardingError for a
/// sharding_constraint that can't be stated over the mesh.
std::optional<Jaxpr> partition(const Jaxpr& j, const MeshAxes& mesh, const std::vector<PartitionSpec>& in_specs,
                               const MeshAxes* results_over = nullptr);

/// The parameters of a map over some of its mesh's axes, rewritten as a map over all of them: maps in its body over the free axes are
/// inlined, and operands and results are sharded over those axes too, as the inner maps shard them. Nothing if there are no such maps, or
/// if the body can't be rewritten.
std::optional<ShardMapParams> partition_free_axes(const ShardMapParams& p);

}  // namespace weft::detail
