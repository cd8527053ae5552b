// How scatters are partitioned: along dimensions that windows leave as they are, and along those of the updates where the combiner allows
// it.
#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/partition_moves.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/gather.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

std::size_t index(int d) { return static_cast<std::size_t>(d); }

ParamsRef with_mode(const Primitive& op, const ParamsBase& params, GatherScatterMode mode) {
  if (&op == &primitive_of<Scatter>) {
    Scatter::Params p = params_as<Scatter::Params>(params);
    p.mode = mode;
    return make_params(std::move(p));
  }
  ScatterParams p = params_as<ScatterParams>(params);
  p.mode = mode;
  return make_params(std::move(p));
}

/// The indices counted from the device's block along the dimensions `placed`: those of windows in other blocks are outside of it. With
/// `clips` windows are first moved into the operand along every dimension, as what is outside of a block is dropped.
Array positions_in_block(const PartitionContext& c, const IndexedGeometry& g, const std::vector<std::size_t>& placed,
                         const DimAxes& operand, const Array& indices, bool clips) {
  LocScope scope(c.eqn.loc);
  const int last = indices.ndim() - 1;
  const DType dtype = indices.dtype() == int32 ? int32 : indices.dtype().itemsize() < 4 ? int32 : int64;
  const Array all = convert(indices, dtype);
  std::vector<Array> columns;
  for (std::int64_t k = 0; k < all.shape()[last]; ++k) columns.push_back(slice_axis(all, last, k, k + 1, c.eqn.loc));
  for (std::size_t d = 0; clips && d < g.dims.size(); ++d) {
    if (g.dims[d].component < 0) continue;
    Array& column = columns[index(g.dims[d].component)];
    const std::int64_t last_window = c.in[0].whole[static_cast<int>(d)] - g.dims[d].window;
    column = minimum(maximum(column, make_literal(0, dtype)), make_literal(last_window, dtype));
  }
  for (std::size_t d : placed) {
    Array& column = columns[index(g.dims[d].component)];
    const std::int64_t block = c.in[0].whole[static_cast<int>(d)] / c.partition.parts(operand[d]);
    column = column - convert(position_along(c.partition, operand[d], c.eqn.loc), dtype) * make_literal(block, dtype);
  }
  return concatenate_along(columns, last, c.eqn.loc);
}

/// The sharded dimensions of a gather, in reverse. Along those that are indexed each device takes the updates that fall into its block.
/// Where the updates themselves are sharded, each device adds its own to zeros, and the sums are added up over the devices.
std::optional<ShardedValues> partition_scatter(const PartitionContext& c) {
  const ShardedValues& in = c.in;
  const ScatterDimensionNumbers n = scatter_params(*c.eqn.op, *c.eqn.params).dimension_numbers;
  const IndexedGeometry g = scatter_geometry(n, in[0].whole.size(), in[2].whole);
  const std::optional<Combiner>& combiner = c.eqn.op->combiner;
  const DType dtype = in[0].block.dtype();
  const bool adds = combiner == Combiner::sum && !dtype.is_bool();
  const bool extreme = (combiner == Combiner::max || combiner == Combiner::min) && !dtype.is_complex();
  DimAxes operand(in[0].axes.size()), indices(in[1].axes.size()), updates(in[2].axes.size());
  AxisAssignment assignment;
  std::vector<bool> is_batch(g.batch_dims.size());
  const DType index_dtype = in[1].block.dtype();
  std::vector<std::size_t> placed;  // dimensions that are sharded and indexed
  for (std::size_t d = 0; d < g.dims.size(); ++d) {
    const IndexedDim& dim = g.dims[d];
    if (dim.component < 0 || dim.window != 1 || c.partition.parts(in[0].axes[d]) == 1 || index_dtype == uint64) continue;
    operand[d] = assignment.claim(in[0].axes[d]);
    if (!operand[d].empty()) placed.push_back(d);
  }
  for (std::size_t d = 0; d < g.dims.size(); ++d) {
    const IndexedDim& dim = g.dims[d];
    if (dim.batch_dim >= 0) {
      const std::size_t b = index(dim.batch_dim), u = index(g.batch_dims[b]);
      std::vector<std::string> axes = assignment.claim_either(in[2].axes[u], in[1].axes[b]);
      if (axes.empty()) axes = assignment.claim(in[0].axes[d]);
      operand[d] = indices[b] = updates[u] = axes;
      is_batch[b] = true;
    } else if (dim.component < 0 && dim.window_dim >= 0 && dim.window == in[0].whole[static_cast<int>(d)]) {
      operand[d] = updates[index(dim.window_dim)] = assignment.claim_either(in[2].axes[index(dim.window_dim)], in[0].axes[d]);
    }
  }
  std::vector<std::string> over;
  for (std::size_t b = 0; (adds || extreme) && b < g.batch_dims.size(); ++b) {
    if (is_batch[b]) continue;
    const std::vector<std::string> axes = assignment.claim_either(in[2].axes[index(g.batch_dims[b])], in[1].axes[b]);
    indices[b] = updates[index(g.batch_dims[b])] = axes;
    over.insert(over.end(), axes.begin(), axes.end());
  }
  const Array x = c.reshard(in[0], operand).block, u = c.reshard(in[2], updates).block;
  Array i = c.reshard(in[1], indices).block;
  ParamsRef params = c.eqn.params;
  if (!placed.empty()) {
    const ScatterParams& p = scatter_params(*c.eqn.op, *c.eqn.params);
    i = positions_in_block(c, g, placed, operand, i, p.mode == GatherScatterMode::clip);
    params = with_mode(*c.eqn.op, *c.eqn.params, GatherScatterMode::fill_or_drop);
  }
  const auto bind = [&](const Array& into) { return bind_primitive(*c.eqn.op, params, std::array{into, i, u}, c.eqn.loc)[0]; };
  if (c.partition.parts(over) == 1) return ShardedValues{c.partition.of_block(bind(x), operand)};
  if (adds) return ShardedValues{c.partition.of_block(x + bind_psum(bind(zeros_of(x.aval(), c.eqn.loc)), over, {}, c.eqn.loc), operand)};
  const Array y = bind(x);
  return ShardedValues{
      c.partition.of_block(combiner == Combiner::max ? bind_pmax(y, over, {}, c.eqn.loc) : bind_pmin(y, over, {}, c.eqn.loc), operand)};
}

const PartitionRule<Scatter> scatter_rule(partition_scatter);
const PartitionRule<ScatterAdd> scatter_add_rule(partition_scatter);
const PartitionRule<ScatterSub> scatter_sub_rule(partition_scatter);
const PartitionRule<ScatterMul> scatter_mul_rule(partition_scatter);
const PartitionRule<ScatterMin> scatter_min_rule(partition_scatter);
const PartitionRule<ScatterMax> scatter_max_rule(partition_scatter);

}  // namespace
}  // namespace weft::detail
