#include "weft/runtime/processes/process_parts.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <mutex>

#include "weft/core/base/hash.h"
#include "weft/core/base/process_wide.h"
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

namespace {

constexpr std::size_t kKeptGroups = 16;

struct KnownGroups {
  const ProcessWorld* world;
  DeviceGroups groups;
  std::vector<int> device_ids;
  std::vector<std::int64_t> mesh_shape;
  std::shared_ptr<const CollectiveGroups> common;
};

std::shared_ptr<const CollectiveGroups> make_groups(const KnownGroups& of, ProcessWorld& world) {
  auto common = std::make_shared<CollectiveGroups>();
  const std::vector<int> ranks = processes().processes_of(of.device_ids);
  common->everyone = &world.group(ranks);
  std::vector<std::vector<int>> own;
  for (const std::vector<int>& positions : *of.groups) own.push_back(processes_at(of.device_ids, positions));
  common->device_ids = of.device_ids;
  common->layouts = {&world.layout(*common->everyone, process_lines(of.device_ids, of.mesh_shape)), &world.layout(*common->everyone, own)};
  std::uint64_t& h = common->signature = kFnvStart;
  const auto add = [&](const std::vector<int>& list) {
    h = fnv_with(h, list.size());
    for (const int v : list) h = fnv_with(h, static_cast<std::uint64_t>(v));
  };
  add(of.device_ids), add(ranks);
  for (const std::vector<int>& positions : *of.groups) {
    add(positions);
    if (SharedGroup g = group_of_processes(positions, of.device_ids, world); !g.mine.empty()) common->mine.push_back(std::move(g));
  }
  return common;
}

}  // namespace

std::shared_ptr<const CollectiveGroups> groups_of_processes(const DeviceGroups& groups, std::span<const int> device_ids,
                                                            std::span<const std::int64_t> mesh_shape, ProcessWorld& world) {
  static auto& mutex = process_wide<std::mutex>();
  static auto& known = process_wide<std::deque<KnownGroups>>();
  const std::lock_guard lock(mutex);
  const auto same = std::find_if(known.begin(), known.end(), [&](const KnownGroups& k) {
    return k.world == &world && (k.groups == groups || *k.groups == *groups) &&
           std::equal(k.device_ids.begin(), k.device_ids.end(), device_ids.begin(), device_ids.end()) &&
           std::equal(k.mesh_shape.begin(), k.mesh_shape.end(), mesh_shape.begin(), mesh_shape.end());
  });
  if (same != known.end()) return same->common;
  KnownGroups k{&world, groups, {device_ids.begin(), device_ids.end()}, {mesh_shape.begin(), mesh_shape.end()}, {}};
  k.common = make_groups(k, world);
  if (known.size() == kKeptGroups) known.pop_back();
  known.push_front(std::move(k));
  return known.front().common;
}

ShortSum short_sum(const SharedGroup& g, const CollectivePlan& plan) {
  ShortSum s;
  const std::int64_t size = plan.in.size();
  for (int step = 0; step < g.steps; ++step) {
    const int peer = g.partner(step);
    const DType before = g.dtype_before(step, plan.in.dtype), after = g.dtype_after(step, plan.in.dtype);
    s.doubling.push_back({peer, g.channel->place(peer), (g.my_part >> step & 1) != 0, before, after, size * before.itemsize(),
                          size * after.itemsize(), before == after ? combine_two(plan.combiner, plan.in.dtype) : nullptr});
  }
  if (g.steps > 0 && g.whole_parts) s.leaf = g.reduction.parts[static_cast<std::size_t>(g.my_part)].begin;
  return s;
}

}  // namespace weft::detail
