// Resharding, and the partition rules that operations of several families share.
#include "weft/core/ir/partition_rule.h"

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/partition_moves.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/elementwise/bitcast.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

bool ShardedValue::is_sharded() const {
  return std::any_of(axes.begin(), axes.end(), [](const auto& dim) { return !dim.empty(); });
}

bool uses(const DimAxes& axes, const std::string& axis) {
  return std::any_of(axes.begin(), axes.end(), [&](const auto& dim) { return std::count(dim.begin(), dim.end(), axis) > 0; });
}

std::vector<std::string> unused(std::vector<std::string> axes, const DimAxes& in_use) {
  for (const std::string& a : axes)
    if (uses(in_use, a)) return {};
  return axes;
}

std::vector<std::string> AxisAssignment::claim(const std::vector<std::string>& axes) {
  for (const std::string& a : axes)
    if (uses(taken_, a)) return {};
  taken_.push_back(axes);
  return axes;
}

DimAxes dims_of(const PartitionSpec& spec, int ndim) {
  DimAxes axes;
  for (int d = 0; d < ndim; ++d) axes.push_back(spec.axes_of(d));
  return axes;
}

Shape Partition::block_of(const Shape& whole, const DimAxes& axes) const { return block_shape(mesh_, PartitionSpec::of(axes), whole); }

ShardedValue Partition::of_block(const Array& block, DimAxes axes) const {
  const Shape whole = whole_shape(mesh_, PartitionSpec::of(axes), block.shape());
  return {block, whole, std::move(axes)};
}

ShardedValue Partition::reshard(const ShardedValue& x, const DimAxes& wanted, SourceLoc loc) const {
  if (x.axes == wanted) return x;
  if (x.scalar) return {fill_shape(*x.scalar, block_of(x.whole, wanted), loc), x.whole, wanted, x.scalar};
  Array block = x.block;
  DimAxes now = x.axes;
  const auto num_common = [&](std::size_t d) {
    std::size_t n = 0;
    while (n < now[d].size() && n < wanted[d].size() && now[d][n] == wanted[d][n]) ++n;
    return n;
  };
  // The last axis of one dimension that becomes the next of another: parts are exchanged.
  for (std::size_t from = 0; from < now.size(); ++from)
    while (num_common(from) < now[from].size()) {
      const std::string axis = now[from].back();
      std::size_t to = 0;
      while (to < now.size() &&
             !(to != from && num_common(to) == now[to].size() && now[to].size() < wanted[to].size() && wanted[to][now[to].size()] == axis))
        ++to;
      if (to == now.size()) break;
      const std::int64_t n = parts({axis});
      if (block.shape()[static_cast<int>(to)] % n != 0) break;
      block = bind_all_to_all(block, {{}, axis, n, static_cast<int>(from), static_cast<int>(to), true}, loc);
      now[from].pop_back();
      now[to].push_back(axis);
    }
  for (std::size_t d = 0; d < now.size(); ++d)
    if (const std::size_t kept = num_common(d); kept < now[d].size()) {
      const std::vector<std::string> rest(now[d].begin() + static_cast<std::ptrdiff_t>(kept), now[d].end());
      block = bind_all_gather(block, {static_cast<int>(d), {}, rest, parts(rest), true}, loc);
      now[d].resize(kept);
    }
  DimAxes cut(now.size());
  for (std::size_t d = 0; d < now.size(); ++d)
    cut[d].assign(wanted[d].begin() + static_cast<std::ptrdiff_t>(now[d].size()), wanted[d].end());
  block = weft::detail::block_of(block, PartitionSpec::of(cut), mesh_, loc);
  return {block, x.whole, wanted};
}

ShardedValue Partition::keeping(const ShardedValue& x, const std::vector<bool>& keep, SourceLoc loc) const {
  DimAxes axes = x.axes;
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (!keep[d]) axes[d].clear();
  return reshard(x, axes, loc);
}

std::vector<Array> PartitionContext::bind(std::span<const Array> blocks) const {
  return bind_primitive(*eqn.op, eqn.params, blocks, eqn.loc);
}

DimAxes common_sharding(const Partition& p, const ShardedValues& in, const Shape& out) {
  DimAxes axes(static_cast<std::size_t>(out.size()));
  std::vector<const ShardedValue*> order;
  for (const ShardedValue& x : in)
    if (x.whole.size() == out.size()) order.push_back(&x);
  std::stable_sort(order.begin(), order.end(),
                   [](const ShardedValue* a, const ShardedValue* b) { return a->whole.num_elements() > b->whole.num_elements(); });
  for (const ShardedValue* x : order)
    for (std::size_t d = 0; d < axes.size(); ++d)
      if (axes[d].empty() && x->whole[static_cast<int>(d)] == out[static_cast<int>(d)] && p.parts(x->axes[d]) > 1)
        axes[d] = unused(x->axes[d], axes);
  return axes;
}

Array position_along(const Partition& p, const std::vector<std::string>& axes, SourceLoc loc) {
  LocScope scope(loc);
  Array position;
  for (const std::string& axis : axes) {
    const Array here = bind_axis_index(axis, loc);
    position = position.is_empty_handle() ? here : position * make_literal(p.mesh().size_of(axis), int32) + here;
  }
  return position.is_empty_handle() ? make_literal(0, int32) : position;
}

std::optional<Array> sum_of_one(const Array& x, const std::vector<std::string>& axes, SourceLoc loc) {
  const DType dtype = x.dtype();
  if (dtype.is_bool()) return bind_pmax(x, axes, {}, loc);
  if (dtype.is_integer()) return bind_psum(x, axes, {}, loc);
  if (!dtype.is_floating() || dtype.itemsize() < 2) return {};
  // Sums of floats would lose the sign of zeros.
  const DType bits = dtype.itemsize() == 8 ? uint64 : dtype.itemsize() == 4 ? uint32 : uint16;
  return bitcast_elements(bind_psum(bitcast_elements(x, bits, loc), axes, {}, loc), dtype, loc);
}

std::optional<DimAxes> exchanged(const Partition& p, const Shape& whole, const DimAxes& axes, int dimension) {
  DimAxes out = axes;
  std::vector<std::string> moved;
  moved.swap(out[static_cast<std::size_t>(dimension)]);
  for (int d = 0; d < whole.size(); ++d) {
    std::vector<std::string>& at = out[static_cast<std::size_t>(d)];
    if (d == dimension || whole[d] % (p.parts(at) * p.parts(moved)) != 0) continue;
    at.insert(at.end(), moved.rbegin(), moved.rend());
    return out;
  }
  return {};
}

namespace {

/// The equation of the operands sharded alike, with results that are sharded so too.
ShardedValues all_sharded(const PartitionContext& c, const DimAxes& axes) {
  std::vector<Array> blocks;
  for (const ShardedValue& x : c.in) blocks.push_back(c.reshard(x, axes).block);
  ShardedValues results;
  for (const Array& y : c.bind(blocks)) results.push_back(c.partition.of_block(y, axes));
  return results;
}

}  // namespace

std::optional<ShardedValues> partition_keeping(const PartitionContext& c, const std::vector<bool>& keep) {
  DimAxes axes(keep.size());
  AxisAssignment assignment;
  for (const ShardedValue& x : c.in)
    for (std::size_t d = 0; d < keep.size(); ++d)
      if (keep[d] && axes[d].empty()) axes[d] = assignment.claim(x.axes[d]);
  return all_sharded(c, axes);
}

// Results are sharded as the operands were: what was exchanged is exchanged back, of what was gathered each device keeps its own.
std::optional<ShardedValues> partition_along(const PartitionContext& c, int dimension) {
  const DimAxes axes = common_sharding(c.partition, c.in, c.in[0].whole);
  DimAxes along = axes;
  along[static_cast<std::size_t>(dimension)].clear();
  if (along == axes) return all_sharded(c, axes);
  if (const std::optional<DimAxes> other = exchanged(c.partition, c.in[0].whole, axes, dimension)) along = *other;
  ShardedValues results;
  for (const ShardedValue& y : all_sharded(c, along)) results.push_back(c.reshard(y, axes));
  return results;
}

std::optional<ShardedValues> partition_batched(const PartitionContext& c, int num_batch_dims) {
  const auto n = static_cast<std::size_t>(num_batch_dims);
  for (const ShardedValue& x : c.in) {
    if (x.axes.empty()) continue;
    if (x.axes.size() < n) return {};
    for (int d = 0; d < num_batch_dims; ++d)
      if (x.whole[d] != c.in[0].whole[d]) return {};
  }
  AxisAssignment assignment;
  DimAxes axes(n);
  for (const ShardedValue& x : c.in)
    for (std::size_t d = 0; d < std::min(n, x.axes.size()); ++d)
      if (axes[d].empty()) axes[d] = assignment.claim(x.axes[d]);
  // What divides a problem itself goes on to count problems, where their number allows that.
  for (std::size_t d = n; d < c.in[0].axes.size(); ++d) {
    const std::vector<std::string> over = assignment.claim(c.in[0].axes[d]);
    for (std::size_t b = 0; b < n && !over.empty(); ++b) {
      if (c.in[0].whole[static_cast<int>(b)] % (c.partition.parts(axes[b]) * c.partition.parts(over)) != 0) continue;
      axes[b].insert(axes[b].end(), over.rbegin(), over.rend());
      break;
    }
  }
  const auto for_rank = [&](int ndim) {
    DimAxes all = ndim == 0 ? DimAxes() : axes;
    all.resize(static_cast<std::size_t>(ndim));
    return all;
  };
  std::vector<Array> blocks;
  for (const ShardedValue& x : c.in) blocks.push_back(c.reshard(x, for_rank(x.whole.size())).block);
  ShardedValues results;
  const std::vector<Array> y = c.bind(blocks);
  for (std::size_t k = 0; k < y.size(); ++k) results.push_back(c.partition.of_block(y[k], for_rank(c.out[k].ndim())));
  return results;
}

}  // namespace weft::detail
