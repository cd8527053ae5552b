// The partitioner's values and contexts: what an operation's partition rule is given, and what rules share. A rule computes the blocks of
// one device, with collectives where devices need each other's data.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/mesh_axes.h"
#include "weft/core/ir/rules.h"

namespace weft::detail {

/// The mesh axes that each dimension is sharded over; one entry for each dimension.
using DimAxes = std::vector<std::vector<std::string>>;

struct ShardedSlice;

/// A value of the program: this device's block, and how blocks make up the whole.
struct ShardedValue {
  Array block;
  Shape whole;
  DimAxes axes;
  std::optional<Array> scalar = {};                ///< the value of all elements, if they are equal
  std::shared_ptr<const ShardedSlice> slice = {};  ///< not null if it is a slice of a sharded value

  bool is_sharded() const;
  Aval aval() const { return block.aval().with_shape(whole); }
};
using ShardedValues = std::vector<ShardedValue>;

/// A slice of a value along a sharded dimension, beginning at `start`. The slice itself is gathered; rules for shifts (halo exchanges) read
/// `base` instead.
struct ShardedSlice {
  std::shared_ptr<const ShardedValue> base;
  int dim = 0;
  std::int64_t start = 0;
};

/// The mesh, and moves between shardings over it.
class Partition {
 public:
  /// `free_axes`: those that are partitioned over, where the program is the body of a map over the others. None given: all.
  explicit Partition(const MeshAxes& mesh, std::vector<std::string> free_axes = {}) : mesh_(mesh), free_axes_(std::move(free_axes)) {}
  const MeshAxes& mesh() const { return mesh_; }
  const std::vector<std::string>& free_axes() const { return free_axes_; }

  ShardedValue replicated(const Array& x) const { return {x, x.shape(), DimAxes(static_cast<std::size_t>(x.ndim()))}; }
  ShardedValue of_block(const Array& block, DimAxes axes) const;
  /// The same value with another sharding: its blocks are gathered along some dimensions, and exchanged or sliced along others.
  ShardedValue reshard(const ShardedValue& x, const DimAxes& wanted, SourceLoc loc) const;
  ShardedValue gathered(const ShardedValue& x, SourceLoc loc) const { return reshard(x, DimAxes(x.axes.size()), loc); }
  /// The value sharded along the dimensions where `keep` is true, and gathered along the others.
  ShardedValue keeping(const ShardedValue& x, const std::vector<bool>& keep, SourceLoc loc) const;
  Shape block_of(const Shape& whole, const DimAxes& axes) const;
  /// The number of blocks into which the axes divide a dimension.
  std::int64_t parts(const std::vector<std::string>& axes) const { return mesh_.size_of(axes); }

 private:
  const MeshAxes& mesh_;
  const std::vector<std::string> free_axes_;
};

struct PartitionContext {
  const Partition& partition;
  const Eqn& eqn;
  const ShardedValues& in;
  std::span<const Aval> out;
  /// Partitions a sub-program: runs each of its equations on this device's blocks.
  ShardedValues (*run)(const Partition& partition, const Jaxpr& program, const ShardedValues& inputs) = nullptr;

  ShardedValue reshard(const ShardedValue& x, const DimAxes& wanted) const { return partition.reshard(x, wanted, eqn.loc); }
  ShardedValue keeping(const ShardedValue& x, const std::vector<bool>& keep) const { return partition.keeping(x, keep, eqn.loc); }
  /// Binds the equation's primitive to other operands, with its parameters or with others.
  std::vector<Array> bind(std::span<const Array> blocks) const;
  template <class P>
  std::vector<Array> bind_with(P params, std::span<const Array> blocks) const {
    return bind_primitive(*eqn.op, make_params(std::move(params)), blocks, eqn.loc);
  }
  template <class P>
  const P& get() const {
    return params_as<P>(*eqn.params);
  }
};

/// The partitioner as a transform. Operations without a rule use that of their kind (runtime/partition/partition_rules.cpp). Where a rule
/// returns nullopt, the equation runs on gathered operands.
struct PartitionTransform {
  static constexpr std::string_view name = "partition", doc = "How it is sharded over a mesh, other than its kind is.";
  using Function = std::optional<ShardedValues>(const PartitionContext&);
};
template <class Op>
using PartitionRule = Rule<PartitionTransform, Op>;

/// Whether an equation with these parameters decides shardings itself, so that it is partitioned also where no operand is sharded.
struct DecidesShardingTransform {
  static constexpr std::string_view name = "decides_sharding", doc = "It decides shardings itself, also of unsharded operands.";
  using Function = bool(const ParamsBase&);
};
template <class Op>
using DecidesShardingRule = Rule<DecidesShardingTransform, Op>;

/// The parameters that a movement has on blocks, for operations whose parameters contain sizes.
struct BlockParamsTransform {
  static constexpr std::string_view name = "block_params", doc = "The parameters of a movement of blocks.";
  using Function = ParamsRef(const ParamsBase& params, const Shape& in_block, const Shape& out_block);
};
template <class Op>
using BlockParamsRule = Rule<BlockParamsTransform, Op>;

/// Assigns mesh axes to the dimensions of one equation, each axis to one dimension at most.
class AxisAssignment {
 public:
  /// Takes the axes and returns them; returns none if one of them is taken.
  std::vector<std::string> claim(const std::vector<std::string>& axes);
  /// Claims `a`, or `b` where that gives none.
  std::vector<std::string> claim_either(const std::vector<std::string>& a, const std::vector<std::string>& b) {
    std::vector<std::string> axes = claim(a);
    return axes.empty() ? claim(b) : axes;
  }

 private:
  DimAxes taken_;
};

DimAxes dims_of(const PartitionSpec& spec, int ndim);
bool uses(const DimAxes& axes, const std::string& axis);
/// The axes, or none if one of them is in use.
std::vector<std::string> unused(std::vector<std::string> axes, const DimAxes& in_use);
/// A sharding of a value of this shape that all operands of its rank can take; the largest operand's has precedence.
DimAxes common_sharding(const Partition& p, const ShardedValues& in, const Shape& out);

/// Partitions an equation whose operands and results have one rank and equal sizes where `keep`: those dimensions stay sharded.
std::optional<ShardedValues> partition_keeping(const PartitionContext& c, const std::vector<bool>& keep);
/// Partitions an equation that combines operands of one shape along one dimension, which is gathered.
std::optional<ShardedValues> partition_along(const PartitionContext& c, int dimension);
/// Partitions an equation whose first `n` dimensions are batch dimensions, in all results and in all operands but scalars.
std::optional<ShardedValues> partition_batched(const PartitionContext& c, int n);

/// The dimensions along which a window operation has windows of one element, without strides, padding and dilation.
template <class P>
std::vector<bool> without_windows(const P& q) {
  std::vector<bool> keep;
  for (std::size_t d = 0; d < q.padding.size(); ++d) {
    bool plain = q.window_dimensions[d] == 1 && q.window_strides[d] == 1 && q.padding[d] == std::remove_cvref_t<decltype(q.padding[d])>();
    if constexpr (requires { q.base_dilation; }) plain = plain && q.base_dilation[d] == 1 && q.window_dilation[d] == 1;
    keep.push_back(plain);
  }
  return keep;
}

}  // namespace weft::detail
