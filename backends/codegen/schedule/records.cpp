#include "weft/backends/codegen/schedule/records.h"

#include <algorithm>
#include <utility>

namespace weft::detail {
namespace {

/// The loop over the elements between lanes; -1: there is none.
int record_loop(const Kernel& k, NodeId position, int vector, std::int64_t stride) {
  const Nest& t = k.nests[0];
  if (stride < 2 || stride > kLongestRecord || k.nests.size() != 1 || !t.parallel.empty() || !t.reduce.empty() || !t.repeats.empty())
    return -1;
  for (int d : k.outer) {
    std::int64_t s = 0;
    const std::int64_t n = k.dag.dims[static_cast<std::size_t>(d)];
    if (d == vector || n < 2 || n > stride || (k.sequential >> d & 1) || !k.dag.stride(position, d, s)) continue;
    if ((s == 1 || s == -1) && std::none_of(k.limits.begin(), k.limits.end(), [&](const LoopLimit& l) { return l.outer == d; })) return d;
  }
  return -1;
}

}  // namespace

int record_of(const Kernel& k, NodeId position, int vector, std::int64_t stride) {
  const int d = record_loop(k, position, vector, stride);
  return d < 0 ? 0 : static_cast<int>(k.dag.dims[static_cast<std::size_t>(d)]);
}

void join_records(const Kernel& k, const std::vector<NodeId>& nodes, Schedule& schedule) {
  const auto look = [&](NodeId position) {
    std::int64_t along = 0;
    if (!k.dag.stride(position, schedule.vector_dim, along)) return;
    if (const int d = record_loop(k, position, schedule.vector_dim, along); d >= 0) schedule.record_dim = d;
  };
  for (NodeId id : nodes)
    if (const Node& n = k.dag[id]; n.kind == NodeKind::load && n.operands[1] < 0) look(n.operands[0]);
  for (const Store& s : k.nests[0].stores) look(s.position);
  if (schedule.record_dim < 0) return;
  const auto n = static_cast<int>(k.dag.dims[static_cast<std::size_t>(schedule.record_dim)]);
  LoopPlan lanes = schedule.outer.back();
  lanes.unroll = std::max(1, lanes.unroll / n);
  std::vector<LoopPlan> loops;
  for (const LoopPlan& l : schedule.outer)
    if (l.dim != schedule.record_dim && !l.vector) loops.push_back(l);
  loops.push_back({schedule.record_dim, n, false});
  loops.push_back(lanes);
  schedule.outer = std::move(loops);
}

}  // namespace weft::detail
