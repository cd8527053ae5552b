// The partitioner's rules for kinds of operations. Internal to runtime/partition/; an operation's own rule goes before that of its kind
// (PartitionRule in core/ir/partition_rule.h).
#pragma once
#include "weft/core/ir/partition_moves.h"
#include "weft/core/ops/collective/shard_map.h"

namespace weft::detail {

/// The equation by its operation's rule or its kind's. No result: there is none that applies; run it on whole operands.
std::optional<ShardedValues> partition_eqn(const PartitionContext& c);

std::optional<ShardedValues> partition_movement(const PartitionContext& c);
std::optional<ShardedValues> partition_concatenate(const PartitionContext& c);
/// The result of a movement or concatenation that reverses or shifts its operand along dimensions that stay sharded.
std::optional<ShardedValue> partition_shift(const PartitionContext& c);
/// A slice of less than half along one sharded dimension: the devices that have elements of it give them to all.
std::optional<ShardedValue> partition_slice(const PartitionContext& c);
std::optional<ShardedValues> partition_convolution(const PartitionContext& c);
std::optional<ShardedValues> partition_gather(const PartitionContext& c);
std::optional<ShardedValues> partition_dynamic_slice(const PartitionContext& c);
std::optional<ShardedValues> partition_dynamic_update_slice(const PartitionContext& c);

std::optional<ShardedValues> partition_reduce_window(const PartitionContext& c);

/// Elements [first + k * step, first + k * step + size) of a whole dimension, on the device at position k along the axes that divide it.
struct BlockWindow {
  std::int64_t first = 0, step = 0, size = 0;
};
/// Whether the devices send less for such windows than for the whole, of `whole` elements in equal blocks on `devices` devices.
bool is_less_than_whole(const BlockWindow& w, std::int64_t whole, std::int64_t devices);
/// This device's window, of a dimension of its block: elements are sent by the devices that have them, those outside of the whole are
/// `fill`, or zeros.
Array window_of_block(const Partition& p, const Array& block, int dim, const std::vector<std::string>& axes, const BlockWindow& w,
                      const std::optional<Array>& fill, SourceLoc loc);

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
/// Whether the body of a map over some of the mesh's axes can be partitioned over the others.
bool can_partition_body(const Jaxpr& j, const MeshAxes& mesh);
bool same_mesh(const MeshAxes& a, const MeshAxes& b);
/// Whether a map is over axes of the mesh that are free; no free axes: all are, and the map is over the same mesh.
bool runs_over_free_axes(const ShardMapParams& map, const std::vector<std::string>& free, const MeshAxes& mesh);

}  // namespace weft::detail
