// Partitioning of data movements and concatenations: sharded dimensions are followed from operands to results by the operation's Movement,
// so that an operation needs no rule of its own; one whose parameters name sizes says what they are for blocks (BlockParamsRule).
#include <algorithm>

#include "weft/core/ops/movement/movement.h"
#include "weft/runtime/partition/partition_rules.h"

namespace weft::detail {
namespace {

std::size_t at(int d) { return static_cast<std::size_t>(d); }

/// The equation of other operands, for a result of the given shape.
std::vector<Array> bind_blocks(const PartitionContext& c, std::span<const Array> blocks, const Shape& out) {
  BlockParamsTransform::Function* const rule = find_rule<BlockParamsTransform>(*c.eqn.op);
  if (!rule) return c.bind(blocks);
  return bind_primitive(*c.eqn.op, rule(*c.eqn.params, blocks[0].shape(), out), blocks, c.eqn.loc);
}

/// The value of all elements of a movement's result, if they are equal.
std::optional<Array> scalar_of(const ShardedValue& x) { return x.scalar || x.whole.size() > 0 ? x.scalar : x.block; }

/// Dimensions of operand and result fall into groups of the same number of elements. The sharding of the first of a group goes over to the
/// first of the other side, or to several from the first on, where their sizes allow that.
std::optional<ShardedValues> reshape(const PartitionContext& c, const Movement& m) {
  if (!m.order.empty()) return {};
  const ShardedValue& x = c.in[0];
  const Shape& shape = c.out[0].shape;
  DimAxes axes(at(shape.size()));
  std::vector<bool> keep(x.axes.size());
  const int n = x.whole.size(), k = shape.size();
  for (int i = 0, j = 0; i < n && j < k;) {
    const int first = i, to = j;
    std::int64_t a = x.whole[i++], b = shape[j++];
    while (a != b && (a < b ? i < n : j < k)) (a < b ? a : b) *= a < b ? x.whole[i++] : shape[j++];
    if (a != b || a == 0) break;
    // Leading dimensions of size 1 can't be sharded.
    int f = first, t = to;
    while (f < i - 1 && x.whole[f] == 1) ++f;
    while (t < j - 1 && shape[t] == 1) ++t;
    // The first axes may divide the first of the result's dimensions into single elements; the others then divide the next.
    std::vector<std::string> rest = x.axes[at(f)];
    DimAxes over(at(shape.size()));
    bool fits = true;
    for (; fits && t < j && shape[t] % c.partition.parts(rest) != 0; ++t) {
      std::vector<std::string>& head = over[at(t)];
      while (!rest.empty() && c.partition.parts(head) < shape[t]) head.push_back(rest.front()), rest.erase(rest.begin());
      fits = c.partition.parts(head) == shape[t];
    }
    if (!fits || t == j || shape[t] % c.partition.parts(rest) != 0) continue;
    over[at(t)] = rest;
    keep[at(f)] = true;
    for (std::size_t d = 0; d < over.size(); ++d)
      if (!over[d].empty()) axes[d] = over[d];
  }
  const ShardedValue y = c.keeping(x, keep);
  const Array block = bind_blocks(c, std::span(&y.block, 1), c.partition.block_of(shape, axes))[0];
  return ShardedValues{{block, shape, axes, scalar_of(x)}};
}

}  // namespace

Movement movement_of(const PartitionContext& c, int which) {
  std::vector<Aval> in;
  for (const ShardedValue& x : c.in) in.push_back(x.aval());
  const std::size_t result = c.eqn.op->kind == Kind::movement ? at(which) : 0;
  return c.eqn.op->movement(*c.eqn.params, in, c.out[result], which);
}

std::optional<ShardedValues> partition_movement(const PartitionContext& c) {
  if (std::optional<ShardedValue> shifted = partition_shift(c)) return ShardedValues{std::move(*shifted)};
  if (std::optional<ShardedValue> sliced = partition_slice(c)) return ShardedValues{std::move(*sliced)};
  ShardedValue x = c.in[0];
  std::vector<Movement> movements;
  for (std::size_t k = 0; k < c.out.size(); ++k) movements.push_back(movement_of(c, static_cast<int>(k)));
  if (movements.empty()) return {};
  if (movements[0].reshape) return reshape(c, movements[0]);
  std::vector<bool> keep(x.axes.size(), true);
  for (std::size_t k = 0; k < movements.size(); ++k)
    for (std::size_t d = 0; d < keep.size(); ++d)
      keep[d] = keep[d] && keeps_dim(movements[k].dims[d], x.whole[static_cast<int>(d)], c.out[k].shape);
  for (std::size_t d = 0; d < keep.size(); ++d)
    if (!keep[d] && c.partition.parts(x.axes[d]) == 1) x.axes[d].clear();  // one block is the whole
  const ShardedValue y = c.keeping(x, keep);
  std::vector<DimAxes> axes;
  for (std::size_t k = 0; k < movements.size(); ++k) {
    axes.emplace_back(at(c.out[k].ndim()));
    for (std::size_t d = 0; d < keep.size(); ++d)
      if (keep[d]) axes[k][at(movements[k].dims[d].out_dim)] = y.axes[d];
  }
  std::vector<Array> blocks{y.block};
  for (std::size_t i = 1; i < c.in.size(); ++i) blocks.push_back(c.partition.gathered(c.in[i], c.eqn.loc).block);
  const std::vector<Array> out = bind_blocks(c, blocks, c.partition.block_of(c.out[0].shape, axes[0]));
  ShardedValues results;
  for (std::size_t k = 0; k < out.size(); ++k) {
    results.push_back({out[k], c.out[k].shape, axes[k]});
    if (!movements[k].guarded) results.back().scalar = scalar_of(x);
    results.back().slice = slice_of(c, movements[k], c.out[k].shape);
  }
  return results;
}

std::optional<ShardedValues> partition_concatenate(const PartitionContext& c) {
  if (std::optional<ShardedValue> shifted = partition_shift(c)) return ShardedValues{std::move(*shifted)};
  std::vector<Movement> movements;
  for (std::size_t k = 0; k < c.in.size(); ++k) movements.push_back(movement_of(c, static_cast<int>(k)));
  const auto goes_to = [&](std::size_t k, std::size_t d) {
    const MovementDim& m = movements[k].dims[d];
    return m.out_dim != movements[k].part_dim && keeps_dim(m, c.in[k].whole[static_cast<int>(d)], c.out[0].shape) ? m.out_dim : -1;
  };
  std::vector<std::size_t> order(c.in.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return c.in[a].whole.num_elements() > c.in[b].whole.num_elements(); });
  DimAxes axes(at(c.out[0].ndim()));
  for (std::size_t k : order)
    for (std::size_t d = 0; d < c.in[k].axes.size(); ++d)
      if (const int to = goes_to(k, d); to >= 0 && axes[at(to)].empty() && c.partition.parts(c.in[k].axes[d]) > 1)
        axes[at(to)] = unused(c.in[k].axes[d], axes);
  std::vector<Array> blocks;
  for (std::size_t k = 0; k < c.in.size(); ++k) {
    DimAxes own(c.in[k].axes.size());
    for (std::size_t d = 0; d < own.size(); ++d)
      if (const int to = goes_to(k, d); to >= 0) own[d] = axes[at(to)];
    blocks.push_back(c.reshard(c.in[k], own).block);
  }
  return ShardedValues{c.partition.of_block(c.bind(blocks)[0], axes)};
}

}  // namespace weft::detail
