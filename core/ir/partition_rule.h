// How the partitioner sees a value and an equation: what an operation's partition rule is given, and what rules share. A rule computes the
// blocks of one device, with collectives where devices need each other's data.
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
  std::optional<Array> scalar = {};                ///< if all elements are this one
  std::shared_ptr<const ShardedSlice> slice = {};  ///< if it is a slice of a sharded value

  bool is_sharded() const;
  Aval aval() const { return block.aval().with_shape(whole); }
};
using ShardedValues = std::vector<ShardedValue>;

/// A slice of a value along a dimension that is sharded: its elements from `start`. The slice itself is gathered; rules that only shift
/// what a slice was taken of read `base` instead.
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
  /// The same value sharded in another way: blocks gathered along some dimensions, exchanged, sliced along others.
  ShardedValue reshard(const ShardedValue& x, const DimAxes& wanted, SourceLoc loc) const;
  ShardedValue gathered(const ShardedValue& x, SourceLoc loc) const { return reshard(x, DimAxes(x.axes.size()), loc); }
  /// Stays sharded along the dimensions where `keep`, gathered along the others.
  ShardedValue keeping(const ShardedValue& x, const std::vector<bool>& keep, SourceLoc loc) const;
  Shape block_of(const Shape& whole, const DimAxes& axes) const;
  /// Into how many blocks the axes divide a dimension.
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
  /// The results of a sub-program, each of its equations on this device's blocks.
  ShardedValues (*run)(const Partition& partition, const Jaxpr& program, const ShardedValues& inputs) = nullptr;

  ShardedValue reshard(const ShardedValue& x, const DimAxes& wanted) const { return partition.reshard(x, wanted, eqn.loc); }
  ShardedValue keeping(const ShardedValue& x, const std::vector<bool>& keep) const { return partition.keeping(x, keep, eqn.loc); }
  /// The equation of other operands, its parameters as they are or others.
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

/// The partitioner as a transform, whose rules operations bring along; kinds have one of their own (runtime/partition/partition_rules.cpp).
/// No result: the equation runs on whole operands.
struct PartitionTransform {
  static constexpr std::string_view name = "partition", doc = "How it is sharded over a mesh, other than its kind is.";
  using Function = std::optional<ShardedValues>(const PartitionContext&);
};
template <class Op>
using PartitionRule = Rule<PartitionTransform, Op>;

/// The parameters of a movement for blocks, of an operation whose parameters name sizes.
struct BlockParamsTransform {
  static constexpr std::string_view name = "block_params", doc = "The parameters of a movement of blocks.";
  using Function = ParamsRef(const ParamsBase& params, const Shape& in_block, const Shape& out_block);
};
template <class Op>
using BlockParamsRule = Rule<BlockParamsTransform, Op>;

/// Mesh axes that dimensions of one equation are sharded over, each axis given to one of them.
class AxisAssignment {
 public:
  /// The axes, or none if one of them is taken.
  std::vector<std::string> claim(const std::vector<std::string>& axes);
  /// Those of the first, or of the second if there are none.
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
/// A sharding of a value of the shape that suits all operands of its rank; the largest operand's comes first.
DimAxes common_sharding(const Partition& p, const ShardedValues& in, const Shape& out);

/// Operands and results of one rank, with equal sizes along the dimensions where `keep`: these stay sharded, others are gathered.
std::optional<ShardedValues> partition_keeping(const PartitionContext& c, const std::vector<bool>& keep);
/// Operands of one shape that are combined along one dimension, which is gathered.
std::optional<ShardedValues> partition_along(const PartitionContext& c, int dimension);
/// Operands (but scalars) and results whose first `n` dimensions count problems that are solved on their own.
std::optional<ShardedValues> partition_batched(const PartitionContext& c, int n);

/// Which dimensions a window operation leaves as they are.
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
