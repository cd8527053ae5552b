// Partitioning of sorts: each device sorts the lines that it has whole; a line that is sharded is sorted in blocks, which pairs of devices
// then merge.
#include <array>
#include <bit>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/indexing.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/partition_moves.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/sort.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

/// One exchange of blocks between pairs of devices.
struct Round {
  std::vector<std::pair<int, int>> perm;  ///< each device and its partner, both ways
  std::vector<int> keeps_high;            ///< by position: 1 for the device of a pair that keeps the greater half; -1 without a partner
};

/// The rounds of a network that merges sorted blocks into one sorted line: Batcher's bitonic network for powers of two, else odd-even
/// transposition.
std::vector<Round> rounds_of(int n) {
  std::vector<Round> rounds;
  const auto add = [&](auto partner, auto keeps_high) {
    Round r;
    for (int i = 0; i < n; ++i) {
      const int other = partner(i);
      r.keeps_high.push_back(other < 0 ? -1 : keeps_high(i));
      if (other >= 0) r.perm.push_back({i, other});
    }
    rounds.push_back(std::move(r));
  };
  if (std::has_single_bit(static_cast<unsigned>(n))) {
    for (int k = 2; k <= n; k *= 2)
      for (int j = k / 2; j > 0; j /= 2) add([&](int i) { return i ^ j; }, [&](int i) { return ((i & j) == 0) == ((i & k) == 0) ? 0 : 1; });
  } else {
    for (int turn = 0; turn < n; ++turn)
      add(
          [&](int i) {
            const int other = i % 2 == turn % 2 ? i + 1 : i - 1;
            return other < n ? other : -1;
          },
          [&](int i) { return i % 2 == turn % 2 ? 0 : 1; });
  }
  return rounds;
}

/// The element of the list at the device's position.
Array at_position(const std::vector<int>& list, const Array& position) {
  Array out = make_literal(list[0], int32);
  for (std::size_t i = 1; i < list.size(); ++i)
    if (list[i] != list[i - 1])
      out = where(position < make_literal(static_cast<std::int64_t>(i), int32), out, make_literal(list[i], int32));
  return out;
}

ShardedValues merge_blocks(const PartitionContext& c, const DimAxes& axes) {
  LocScope scope(c.eqn.loc);
  Sort::Params q = c.get<Sort::Params>();
  const int dim = q.dimension;
  const std::vector<std::string>& over = axes[static_cast<std::size_t>(dim)];
  const Array position = position_along(c.partition, over, c.eqn.loc);
  std::vector<Array> x;
  for (const ShardedValue& v : c.in) x.push_back(c.reshard(v, axes).block);
  // The elements' positions are the last key, so that the sort is stable.
  const std::int64_t block = x[0].shape()[dim];
  const DType counted = c.in[0].whole[dim] > 0x7fffffff ? int64 : int32;
  const Array places = iota_array(counted, x[0].shape(), dim, c.eqn.loc) + convert(position, counted) * make_literal(block, counted);
  x.insert(x.begin() + q.num_keys, places);
  ++q.num_keys;
  x = c.bind_with(q, x);
  for (const Round& round : rounds_of(static_cast<int>(c.partition.parts(over)))) {
    const Array half = at_position(round.keeps_high, position);
    std::vector<Array> both;
    for (const Array& own : x)
      both.push_back(concatenate_along(std::array{own, bind_ppermute(own, {over, round.perm}, c.eqn.loc)}, dim, c.eqn.loc));
    both = c.bind_with(q, both);
    std::vector<Array> start(static_cast<std::size_t>(x[0].ndim()), make_literal(0, int32));
    start[static_cast<std::size_t>(dim)] = maximum(half, make_literal(0, int32)) * make_literal(block, int32);
    const bool all_paired = round.perm.size() == round.keeps_high.size();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Array merged = dynamic_slice(both[i], start, x[i].shape());
      x[i] = all_paired ? merged : where(half >= make_literal(0, int32), merged, x[i]);
    }
  }
  x.erase(x.begin() + q.num_keys - 1);
  ShardedValues results;
  for (const Array& y : x) results.push_back(c.partition.of_block(y, axes));
  return results;
}

const PartitionRule<Sort> sort_partition([](const PartitionContext& c) -> std::optional<ShardedValues> {
  const int dim = c.get<Sort::Params>().dimension;
  const DimAxes axes = common_sharding(c.partition, c.in, c.in[0].whole);
  const std::int64_t devices = c.partition.parts(axes[static_cast<std::size_t>(dim)]);
  if (devices == 1 || c.in[0].whole.num_elements() == 0 || exchanged(c.partition, c.in[0].whole, axes, dim)) return partition_along(c, dim);
  return merge_blocks(c, axes);
});

}  // namespace
}  // namespace weft::detail
