// How convolutions, gathers and dynamic slices are partitioned: along dimensions that they don't mix.
#include <array>

#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/dynamic_slice.h"
#include "weft/core/ops/movement/gather.h"
#include "weft/core/ops/product/conv.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/partition/partition_rules.h"

namespace weft::detail {
namespace {

std::size_t index(int d) { return static_cast<std::size_t>(d); }

}  // namespace

/// Sharded along the batch and the output's features; where the input's features are sharded, each device has a part of the sum.
std::optional<ShardedValues> partition_convolution(const PartitionContext& c) {
  const ShardedValues& in = c.in;
  const ConvParams& q = c.get<ConvParams>();
  const ConvDimensions& n = q.dimension_numbers;
  DimAxes lhs(in[0].axes.size()), rhs(in[1].axes.size()), out(lhs.size());
  AxisAssignment assignment;
  if (q.batch_group_count == 1) out[index(n.out_spec[0])] = lhs[index(n.lhs_spec[0])] = assignment.claim(in[0].axes[index(n.lhs_spec[0])]);
  std::vector<std::string> over;
  if (q.batch_group_count == 1 && q.feature_group_count == 1) {
    out[index(n.out_spec[1])] = rhs[index(n.rhs_spec[0])] = assignment.claim(in[1].axes[index(n.rhs_spec[0])]);
    over = assignment.claim_either(in[0].axes[index(n.lhs_spec[1])], in[1].axes[index(n.rhs_spec[1])]);
    lhs[index(n.lhs_spec[1])] = rhs[index(n.rhs_spec[1])] = over;
  }
  Array y = bind_primitive(*c.eqn.op, c.eqn.params, std::array{c.reshard(in[0], lhs).block, c.reshard(in[1], rhs).block}, c.eqn.loc)[0];
  if (c.partition.parts(over) > 1) y = bind_psum(y, over, {}, c.eqn.loc);
  return ShardedValues{c.partition.of_block(y, out)};
}

/// The result is sharded as the indices are, and along window dimensions that are as wide as the operand.
std::optional<ShardedValues> partition_gather(const PartitionContext& c) {
  const ShardedValues& in = c.in;
  Gather::Params q = c.get<Gather::Params>();
  const IndexedGeometry g = gather_geometry(q.dimension_numbers, q.slice_sizes, c.out[0].ndim());
  DimAxes operand(in[0].axes.size()), indices(in[1].axes.size()), result(index(c.out[0].ndim()));
  AxisAssignment assignment;
  for (std::size_t d = 0; d < g.dims.size(); ++d)
    if (const int b = g.dims[d].batch_dim; b >= 0)
      operand[d] = indices[index(b)] = assignment.claim_either(in[0].axes[d], in[1].axes[index(b)]);
  for (std::size_t b = 0; b < g.batch_dims.size(); ++b) {
    if (indices[b].empty()) indices[b] = assignment.claim(in[1].axes[b]);
    // A batch dimension of the operand that another one of the indices' axes came first for is whole.
    result[index(g.batch_dims[b])] = indices[b];
  }
  for (std::size_t d = 0; d < g.dims.size(); ++d) {
    const IndexedDim& dim = g.dims[d];
    if (dim.batch_dim >= 0) operand[d] = indices[index(dim.batch_dim)];
    if (dim.component >= 0 || dim.batch_dim >= 0 || dim.window_dim < 0 || dim.window != in[0].whole[static_cast<int>(d)]) continue;
    operand[d] = result[index(dim.window_dim)] = assignment.claim(in[0].axes[d]);
    q.slice_sizes[static_cast<int>(d)] /= c.partition.parts(operand[d]);
  }
  const Array y = bind_primitive(*c.eqn.op, make_params(std::move(q)),
                                 std::array{c.reshard(in[0], operand).block, c.reshard(in[1], indices).block}, c.eqn.loc)[0];
  return ShardedValues{c.partition.of_block(y, result)};
}

/// Positions along dimensions that are as wide as the operand are 0, whatever is asked for.
std::optional<ShardedValues> partition_dynamic_slice(const PartitionContext& c) {
  const ShardedValues& in = c.in;
  DynamicSlice::Params q = c.get<DynamicSlice::Params>();
  std::vector<bool> keep;
  for (int d = 0; d < q.slice_sizes.size(); ++d) keep.push_back(q.slice_sizes[d] == in[0].whole[d]);
  const ShardedValue x = c.keeping(in[0], keep);
  std::vector<Array> blocks{x.block};
  for (std::size_t k = 1; k < in.size(); ++k) blocks.push_back(in[k].block);
  for (int d = 0; d < q.slice_sizes.size(); ++d)
    if (keep[index(d)]) q.slice_sizes[d] = x.block.shape()[d];
  return ShardedValues{c.partition.of_block(bind_primitive(*c.eqn.op, make_params(std::move(q)), blocks, c.eqn.loc)[0], x.axes)};
}
std::optional<ShardedValues> partition_dynamic_update_slice(const PartitionContext& c) {
  const ShardedValues& in = c.in;
  DimAxes axes(in[0].axes.size());
  AxisAssignment assignment;
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (in[0].whole[static_cast<int>(d)] == in[1].whole[static_cast<int>(d)])
      axes[d] = assignment.claim_either(in[0].axes[d], in[1].axes[d]);
  std::vector<Array> blocks{c.reshard(in[0], axes).block, c.reshard(in[1], axes).block};
  for (std::size_t k = 2; k < in.size(); ++k) blocks.push_back(in[k].block);
  return ShardedValues{c.partition.of_block(bind_primitive(*c.eqn.op, c.eqn.params, blocks, c.eqn.loc)[0], axes)};
}

}  // namespace weft::detail
