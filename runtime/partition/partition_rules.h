// The partitioner's rules for kinds of operations. Internal to runtime/partition/; an operation's own rule goes before that of its kind
// (PartitionRule in core/ir/partition_rule.h).
#pragma once
#include "weft/core/ir/partition_rule.h"
#include "weft/core/ops/collective/shard_map.h"

namespace weft::detail {

/// The equation by its operation's rule or its kind's. No result: there is none that applies; run it on whole operands.
std::optional<ShardedValues> partition_eqn(const PartitionContext& c);

std::optional<ShardedValues> partition_movement(const PartitionContext& c);
std::optional<ShardedValues> partition_concatenate(const PartitionContext& c);
/// The result of a movement or concatenation that reverses or shifts its operand along dimensions that stay sharded.
std::optional<ShardedValue> partition_shift(const PartitionContext& c);
std::optional<ShardedValues> partition_convolution(const PartitionContext& c);
std::optional<ShardedValues> partition_gather(const PartitionContext& c);
std::optional<ShardedValues> partition_dynamic_slice(const PartitionContext& c);
std::optional<ShardedValues> partition_dynamic_update_slice(const PartitionContext& c);

/// From the operand to result `which` (of a concatenation: from operand `which`), for whole values.
Movement movement_of(const PartitionContext& c, int which);
/// Whether a movement takes a dimension of the operand over to one of the result as it is.
bool keeps_dim(const MovementDim& m, std::int64_t size, const Shape& out);
/// What a movement takes a slice of; null: of nothing sharded, or along several dimensions.
std::shared_ptr<const ShardedSlice> slice_of(const PartitionContext& c, const Movement& m, const Shape& out);

/// f(program) of each program that the equation has.
template <class F>
void each_program(const Eqn& e, F&& f) {
  for (const ParamText& p : e.op->params_list(*e.params)) {
    if (p.jaxpr) f(*p.jaxpr);
    if (p.jaxprs)
      for (const Jaxpr& j : *p.jaxprs) f(j);
  }
}

/// The results of a program of whole arrays, each of its equations on this device's blocks.
ShardedValues run_partitioned(const Partition& partition, const Jaxpr& program, const ShardedValues& inputs);
/// Whether a map is over axes of the mesh that are free; no free axes: all are, and the map is over the same mesh.
bool runs_over_free_axes(const ShardMapParams& map, const std::vector<std::string>& free, const MeshAxes& mesh);

}  // namespace weft::detail
