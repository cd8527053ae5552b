// The partitioner's rules for kinds of operations. Internal to runtime/partition/; an operation's own rule (PartitionRule in
// core/ir/partition_rule.h) takes precedence.
#pragma once
#include "weft/core/ir/partition_moves.h"
#include "weft/core/ops/collective/shard_map.h"

namespace weft::detail {

/// Partitions the equation by its operation's rule or that of its kind. No result if no rule applies: it then runs on replicated operands.
std::optional<ShardedValues> partition_eqn(const PartitionContext& c);

std::optional<ShardedValues> partition_movement(const PartitionContext& c);
std::optional<ShardedValues> partition_concatenate(const PartitionContext& c);
/// The result of a movement or concatenation that reverses or shifts its operand along dimensions that stay sharded.
std::optional<ShardedValue> partition_shift(const PartitionContext& c);
/// A slice of less than half of one sharded dimension: the devices that have elements of the slice broadcast them.
std::optional<ShardedValue> partition_slice(const PartitionContext& c);
std::optional<ShardedValues> partition_convolution(const PartitionContext& c);
std::optional<ShardedValues> partition_gather(const PartitionContext& c);
std::optional<ShardedValues> partition_dynamic_slice(const PartitionContext& c);
std::optional<ShardedValues> partition_dynamic_update_slice(const PartitionContext& c);

std::optional<ShardedValues> partition_reduce_window(const PartitionContext& c);

/// A device's window of a dimension: elements [first + k * step, first + k * step + size) at position k along the axes that shard it.
struct BlockWindow {
  std::int64_t first = 0, step = 0, size = 0;
};
/// Whether exchanging such windows sends less than gathering the whole dimension, of `whole` elements in equal blocks on `devices` devices.
bool is_less_than_whole(const BlockWindow& w, std::int64_t whole, std::int64_t devices);
/// This device's window along a dimension of its block (a halo exchange): the devices that have its elements send them; elements outside of
/// the array are `fill`, or zeros.
Array window_of_block(const Partition& p, const Array& block, int dim, const std::vector<std::string>& axes, const BlockWindow& w,
                      const std::optional<Array>& fill, SourceLoc loc);

/// The movement from the operand to result `which` (for a concatenation, from operand `which` to the result), of whole arrays.
Movement movement_of(const PartitionContext& c, int which);
/// Whether a movement maps a dimension of the operand unchanged to a dimension of the result.
bool keeps_dim(const MovementDim& m, std::int64_t size, const Shape& out);
/// The slice that a movement takes along one sharded dimension; null if it slices none, or several.
std::shared_ptr<const ShardedSlice> slice_of(const PartitionContext& c, const Movement& m, const Shape& out);

/// Runs a program of whole arrays equation by equation on this device's blocks; returns its sharded results.
ShardedValues run_partitioned(const Partition& partition, const Jaxpr& program, const ShardedValues& inputs);
/// Whether the body of a map over some of the mesh's axes can be partitioned over the others.
bool can_partition_body(const Jaxpr& j, const MeshAxes& mesh);
bool same_mesh(const MeshAxes& a, const MeshAxes& b);
/// Whether a map runs over free axes of the mesh. If `free` is empty, all axes are free and the map must be over the same mesh.
bool runs_over_free_axes(const ShardMapParams& map, const std::vector<std::string>& free, const MeshAxes& mesh);

}  // namespace weft::detail
