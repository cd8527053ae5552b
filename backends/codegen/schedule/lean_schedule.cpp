// Schedules for baseline code: the estimated loss of a schedule with few optimisations, and the leaner schedule that is used instead.
#include <algorithm>
#include <utility>

#include "weft/backends/codegen/schedule/kernel_accesses.h"
#include "weft/backends/codegen/schedule/schedule.h"

namespace weft::detail {

double expected_slack(const Kernel& k, const Schedule& s) {
  double factor = 0.3;
  for (std::size_t i = 0; i < k.nests.size(); ++i) {
    if (!k.nests[i].repeats.empty()) factor = std::max(factor, 6.0);
    if (k.nests[i].reductions.empty()) continue;
    std::int64_t tile = 1;
    for (const std::vector<LoopPlan>* loops : {&s.outer, &s.nests[i].parallel, &s.nests[i].reduce})
      for (const LoopPlan& l : *loops) tile *= l.unroll;
    factor = std::max(factor, tile > 4 ? 6.0 : 0.6);
  }
  return factor * k.cost.cycles;
}

Schedule lean_schedule(Schedule s) {
  int dropped = 1;
  const auto drop = [&](LoopPlan& l) { dropped *= std::exchange(l.unroll, 1); };
  for (LoopPlan& l : s.outer)
    if (l.vector || (l.unroll != s.lanes && !contains(s.record_dims, l.dim))) drop(l);
  bool reduces = false;
  for (NestSchedule& n : s.nests) {
    for (LoopPlan& l : n.parallel)
      if (!contains(s.record_dims, l.dim) && (l.vector || l.unroll != s.lanes)) drop(l);
    if (s.vector_dim >= 0)
      for (LoopPlan& l : n.reduce) drop(l);
    reduces |= !n.reduce.empty();
  }
  s.records.clear();
  // A single accumulator is a dependency chain: each step waits for the one before.
  if (reduces && dropped > 1) s.slack *= std::min(dropped, 5);
  return s;
}

}  // namespace weft::detail
