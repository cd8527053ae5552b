// Partitioning by kinds of operations: elementwise operations, reductions, matmuls; and the choice of a rule.
#include "weft/runtime/partition/partition_rules.h"

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/indexing.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/ops/reduce/reduce_window.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/reduce.h"

namespace weft::detail {
namespace {

std::optional<ShardedValues> elementwise(const PartitionContext& c) {
  const DimAxes axes = common_sharding(c.partition, c.in, c.out[0].shape);
  std::vector<Array> blocks;
  for (const ShardedValue& x : c.in) {
    if (x.whole.size() == 0) {
      blocks.push_back(x.block);
      continue;
    }
    DimAxes own = axes;
    for (std::size_t d = 0; d < own.size(); ++d)
      if (x.whole[static_cast<int>(d)] != c.out[0].shape[static_cast<int>(d)]) own[d].clear();
    blocks.push_back(c.reshard(x, own).block);
  }
  ShardedValues results;
  for (const Array& y : c.bind(blocks)) results.push_back(c.partition.of_block(y, axes));
  return results;
}

/// Each device reduces its block; results are reduced over the axes of the reduced dimensions by a collective, or once more.
std::optional<ShardedValues> reduce(const PartitionContext& c) {
  const ShardedValue& x = c.in[0];
  const std::vector<int>& reduced = c.get<ReduceParams>().axes;
  std::vector<std::string> over;
  DimAxes axes;
  for (std::size_t d = 0; d < x.axes.size(); ++d)
    if (!std::count(reduced.begin(), reduced.end(), static_cast<int>(d)))
      axes.push_back(x.axes[d]);
    else
      over.insert(over.end(), x.axes[d].begin(), x.axes[d].end());
  const std::optional<Combiner>& combiner = c.eqn.op->combiner;
  const bool joins = c.partition.parts(over) > 1, rounds = combiner == Combiner::sum || combiner == Combiner::prod;
  const Array block = joins && rounds ? convert(x.block, partial_dtype(x.block.dtype())) : x.block;
  Array r = c.bind(std::span(&block, 1))[0];
  if (joins) {
    const DType dtype = block.dtype();
    if (combiner == Combiner::sum && !dtype.is_bool()) {
      r = bind_psum(r, over, {}, c.eqn.loc);
    } else if ((combiner == Combiner::max && !dtype.is_complex()) || (combiner == Combiner::logical_or && dtype.is_bool())) {
      r = bind_pmax(r, over, {}, c.eqn.loc);
    } else if ((combiner == Combiner::min && !dtype.is_complex()) || (combiner == Combiner::logical_and && dtype.is_bool())) {
      r = bind_pmin(r, over, {}, c.eqn.loc);
    } else {
      ReduceParams q = c.get<ReduceParams>();
      q.axes = {0};
      const Array all = bind_all_gather(r, {0, {}, over, c.partition.parts(over), false}, c.eqn.loc);
      r = c.bind_with(q, std::span(&all, 1))[0];
    }
    r = convert(r, c.out[0].dtype);
  }
  return ShardedValues{c.partition.of_block(r, axes)};
}

Array combine(Combiner combiner, const Array& a, const Array& b) {
  switch (combiner) {
    case Combiner::sum: return a + b;
    case Combiner::prod: return a * b;
    case Combiner::max: return maximum(a, b);
    case Combiner::min: return minimum(a, b);
    default: return logaddexp(a, b);
  }
}

/// Along a sharded dimension devices exchange parts with another one; where there is none, each starts from the result of those before it.
std::optional<ShardedValues> cumulative(const PartitionContext& c) {
  const CumulativeParams& q = c.get<CumulativeParams>();
  const ShardedValue& x = c.in[0];
  const int dim = q.axis;
  const std::vector<std::string>& over = x.axes[static_cast<std::size_t>(dim)];
  const std::int64_t n = c.partition.parts(over), block = x.block.shape()[dim];
  const std::optional<Combiner>& combiner = c.eqn.op->combiner;
  const bool combines = combiner && (*combiner == Combiner::sum || *combiner == Combiner::prod || *combiner == Combiner::max ||
                                     *combiner == Combiner::min || *combiner == Combiner::logsumexp);
  if (n == 1 || !combines || c.in.size() != 1 || x.block.dtype().is_bool() || x.whole.num_elements() == 0 ||
      exchanged(c.partition, x.whole, x.axes, dim))
    return partition_along(c, dim);
  LocScope scope(c.eqn.loc);
  const bool rounds = *combiner == Combiner::sum || *combiner == Combiner::prod || *combiner == Combiner::logsumexp;
  const Array values = rounds ? convert(x.block, partial_dtype(x.block.dtype())) : x.block;
  const Array own = c.bind(std::span(&values, 1))[0];
  const std::int64_t last = q.reverse ? 0 : block - 1;
  const Array total = slice_axis(own, dim, last, last + 1, c.eqn.loc);
  const Array totals = bind_all_gather(total, {dim, {}, over, n, true}, c.eqn.loc);
  const Array running = c.bind(std::span(&totals, 1))[0];
  const Array position = position_along(c.partition, over, c.eqn.loc);
  const auto number = [](std::int64_t v) { return make_literal(v, int32); };
  std::vector<Array> start(static_cast<std::size_t>(own.ndim()), number(0));
  start[static_cast<std::size_t>(dim)] =
      q.reverse ? minimum(position + number(1), number(n - 1)) : maximum(position - number(1), number(0));
  const Array before = broadcast_to(dynamic_slice(running, start, total.shape()), own.shape());
  const Array is_first = position == number(q.reverse ? n - 1 : 0);
  return ShardedValues{c.partition.of_block(convert(where(is_first, own, combine(*combiner, before, own)), c.out[0].dtype), x.axes)};
}

std::optional<ShardedValues> arg_reduce(const PartitionContext& c) {
  const ShardedValue& x = c.in[0];
  const std::vector<int>& reduced = c.get<ArgReduceParams>().axes;
  std::vector<bool> keep;
  for (std::size_t d = 0; d < x.axes.size(); ++d) keep.push_back(!std::count(reduced.begin(), reduced.end(), static_cast<int>(d)));
  const ShardedValue y = c.keeping(x, keep);
  DimAxes axes;
  for (std::size_t d = 0; d < x.axes.size(); ++d)
    if (keep[d]) axes.push_back(y.axes[d]);
  return ShardedValues{c.partition.of_block(c.bind(std::span(&y.block, 1))[0], axes)};
}

/// Batch and free dimensions stay sharded, where one axis isn't wanted for two of them. Along sharded contracted dimensions each device has
/// a part of the sum.
std::optional<ShardedValues> dot(const PartitionContext& c) {
  const Partition& p = c.partition;
  const ShardedValues& in = c.in;
  const DotDimensions& dims = c.get<DotParams>().dimension_numbers;
  std::array<DimAxes, 2> wanted{DimAxes(in[0].axes.size()), DimAxes(in[1].axes.size())};
  DimAxes result;
  AxisAssignment assignment;
  const auto pair = [&](const std::array<std::vector<int>, 2>& both, std::size_t k) {
    const auto i = static_cast<std::size_t>(both[0][k]), j = static_cast<std::size_t>(both[1][k]);
    std::vector<std::string> axes = assignment.claim_either(in[0].axes[i], in[1].axes[j]);
    wanted[0][i] = wanted[1][j] = axes;
    return axes;
  };
  for (std::size_t k = 0; k < dims.batch[0].size(); ++k) result.push_back(pair(dims.batch, k));
  for (int side : {0, 1})
    for (int d : dot_free_dims(dims, side, in[static_cast<std::size_t>(side)].whole.size())) {
      const auto s = static_cast<std::size_t>(side), i = static_cast<std::size_t>(d);
      wanted[s][i] = assignment.claim(in[s].axes[i]);
      result.push_back(wanted[s][i]);
    }
  std::vector<std::string> over;
  for (std::size_t k = 0; k < dims.contracting[0].size(); ++k) {
    const std::vector<std::string> axes = pair(dims.contracting, k);
    over.insert(over.end(), axes.begin(), axes.end());
  }
  const std::array blocks{c.reshard(in[0], wanted[0]).block, c.reshard(in[1], wanted[1]).block};
  if (p.parts(over) == 1) return ShardedValues{p.of_block(c.bind(blocks)[0], result)};
  const DType dtype = c.out[0].dtype;
  DotParams q = c.get<DotParams>();
  if (partial_dtype(dtype) != dtype) q.preferred_element_type = partial_dtype(dtype);
  Array r = c.bind_with(std::move(q), blocks)[0];
  r = dtype.is_bool() ? bind_pmax(r, over, {}, c.eqn.loc) : convert(bind_psum(r, over, {}, c.eqn.loc), dtype);
  return ShardedValues{p.of_block(r, result)};
}

}  // namespace

std::optional<ShardedValues> partition_eqn(const PartitionContext& c) {
  if (PartitionTransform::Function* const rule = find_rule<PartitionTransform>(*c.eqn.op)) return rule(c);
  switch (c.eqn.op->kind) {
    case Kind::elementwise: return elementwise(c);
    case Kind::movement: return partition_movement(c);
    case Kind::concatenate: return partition_concatenate(c);
    case Kind::reduce: return reduce(c);
    case Kind::arg_reduce: return arg_reduce(c);
    case Kind::cumulative: return cumulative(c);
    case Kind::dot: return dot(c);
    case Kind::convolution: return partition_convolution(c);
    case Kind::gather: return partition_gather(c);
    case Kind::dynamic_slice: return partition_dynamic_slice(c);
    case Kind::dynamic_update_slice: return partition_dynamic_update_slice(c);
    case Kind::reduce_window: return partition_reduce_window(c);
    case Kind::random: return partition_batched(c, c.in[0].whole.size());
    default: return {};
  }
}

}  // namespace weft::detail
