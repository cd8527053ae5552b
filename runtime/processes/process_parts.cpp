#include "weft/runtime/processes/process_parts.h"

#include <algorithm>
#include <bit>

#include "weft/runtime/processes/processes.h"

namespace weft::detail {

SharedGroup group_of_processes(const std::vector<int>& positions, std::span<const int> device_ids, ProcessWorld& world) {
  const Processes& all = processes();
  const auto device = [&](std::size_t index) { return device_ids[static_cast<std::size_t>(positions[index])]; };
  SharedGroup g;
  g.positions = positions;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    g.owners.push_back(all.process_of(device(i)));
    if (g.owners.back() == all.index) g.mine.push_back(static_cast<int>(i));
  }
  if (g.mine.empty()) return g;
  g.ranks = processes_at(device_ids, positions);
  if (g.ranks.size() > 1) g.channel = &world.group(g.ranks);
  g.my_rank = static_cast<int>(std::find(g.ranks.begin(), g.ranks.end(), all.index) - g.ranks.begin());
  g.device = device(static_cast<std::size_t>(g.mine[0]));
  g.reduction = split_reduction(g.owners);
  for (const PartialReduction& p : g.reduction.parts) g.whole_parts &= p.end - p.begin == 1;
  const std::size_t n = g.reduction.parts.size();
  for (std::size_t p = 0; p < n; ++p)
    if (g.reduction.parts[p].owner == all.index) g.my_part = static_cast<int>(p);
  if (n == g.ranks.size() && std::has_single_bit(n) && g.reduction.order.program == balanced_order(static_cast<int>(n)).program)
    g.steps = std::countr_zero(n);
  return g;
}

void prepare_doubling(SharedGroup& g, const CollectivePlan& plan) {
  const std::int64_t size = plan.in.size();
  for (int step = 0; step < g.steps; ++step) {
    const int peer = g.partner(step);
    const DType before = g.dtype_before(step, plan.in.dtype), after = g.dtype_after(step, plan.in.dtype);
    g.doubling.push_back({peer, g.channel->place(peer), (g.my_part >> step & 1) != 0, before, after, size * before.itemsize(),
                          size * after.itemsize(), before == after ? combine_two(plan.combiner, plan.in.dtype) : nullptr});
  }
  if (g.steps > 0 && g.whole_parts) g.leaf = g.reduction.parts[static_cast<std::size_t>(g.my_part)].begin;
}

}  // namespace weft::detail
