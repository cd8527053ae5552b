#include "weft/backends/codegen/schedule/pairs.h"

#include <algorithm>
#include <utility>

#include "weft/backends/codegen/schedule/kernel_accesses.h"

namespace weft::detail {
namespace {

std::int64_t size_of(const Kernel& k, int dim) { return k.dag.dims[static_cast<std::size_t>(dim)]; }

/// Whether the innermost loop runs over the two parts of complex elements, and along every other loop some array is strided.
bool goes_by_pairs(const Kernel& k, const std::vector<NodeId>& nodes) {
  const Nest& t = k.nests[0];
  if (k.nests.size() != 1 || !t.reduce.empty() || !t.repeats.empty()) return false;
  const std::vector<int>& loops = t.parallel.empty() ? k.outer : t.parallel;
  if (loops.empty() || size_of(k, loops.back()) != 2) return false;
  std::vector<NodeId> positions;
  for (NodeId id : nodes)
    if (const Node& n = k.dag[id]; n.kind == NodeKind::load && (n.dims >> loops.back() & 1)) positions.push_back(n.operands[0]);
  for (const Store& s : t.stores) positions.push_back(s.position);
  const auto strides = [&](int d, auto&& allowed) {
    return std::all_of(positions.begin(), positions.end(), [&](NodeId p) {
      std::int64_t s = 0;
      return k.dag.stride(p, d, s) && allowed(s);
    });
  };
  if (!strides(loops.back(), [](std::int64_t s) { return s == 1; })) return false;
  std::vector<int> others = k.outer;
  others.insert(others.end(), t.parallel.begin(), t.parallel.end());
  return std::none_of(others.begin(), others.end(), [&](int d) {
    return d != loops.back() && !runs_singly(k, d) && strides(d, [](std::int64_t s) { return s >= -2 && s <= 2; });
  });
}

}  // namespace

bool plan_pairs(const Kernel& k, const std::vector<NodeId>& nodes, const Target& target, Schedule& schedule) {
  if (!goes_by_pairs(k, nodes)) return false;
  const Nest& t = k.nests[0];
  const bool in_nest = !t.parallel.empty();
  std::vector<int> loops = in_nest ? t.parallel : k.outer;
  const int pair = loops.back();
  loops.pop_back();
  schedule.lanes = 2;
  const auto neighbours = [&](NodeId position, int dim) {
    std::int64_t s = 0;
    return k.dag.stride(position, dim, s) && s == 2;
  };
  std::vector<LoopPlan> plans, written, read;
  for (int d : loops) {
    bool reads = false, writes = false;
    for (NodeId id : nodes)
      if (const Node& n = k.dag[id]; n.kind == NodeKind::load && (n.dims >> pair & 1)) reads |= neighbours(n.operands[0], d);
    for (const Store& s : t.stores) writes |= neighbours(s.position, d);
    const int line = static_cast<int>(target.line_bytes) / (2 * k.args[static_cast<std::size_t>(t.stores[0].arg)].dtype.itemsize());
    const LoopPlan plan{d, runs_singly(k, d) || in_nest ? 1 : static_cast<int>(std::min<std::int64_t>(line, size_of(k, d))), false};
    if (in_nest)
      plans.push_back(plan);
    else if (writes)
      written.push_back(plan);
    else if (reads)
      read.push_back(plan);
    else
      plans.push_back({d, 1, false});
  }
  plans.insert(plans.end(), written.begin(), written.end());
  plans.insert(plans.end(), read.begin(), read.end());
  plans.push_back({pair, 1, true});
  NestSchedule nest;
  if (in_nest) {
    for (int d : k.outer) schedule.outer.push_back({d, 1, false});
    nest.parallel = std::move(plans);
  } else {
    schedule.outer = std::move(plans);
    schedule.vector_dim = pair;
  }
  schedule.nests.push_back(std::move(nest));
  return true;
}

}  // namespace weft::detail
