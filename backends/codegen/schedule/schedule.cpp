// Schedules: the order of their making, and the tasks that threads take.
#include "weft/backends/codegen/schedule/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "weft/backends/codegen/schedule/memory_steps.h"
#include "weft/backends/codegen/schedule/pairs.h"
#include "weft/backends/codegen/schedule/records.h"
#include "weft/backends/codegen/schedule/row_partition.h"
#include "weft/backends/codegen/schedule/scheduler.h"

namespace weft::detail {

Scheduler::Scheduler(const Kernel& k, const Target& target, int vector_loop)
    : k_(k), target_(target), vector_bytes_(target.vector_bytes), vector_loop_(vector_loop) {
  std::vector<char> seen(k.dag.nodes.size());
  for (const Nest& t : k.nests) {
    std::vector<NodeId> nodes;
    std::fill(seen.begin(), seen.end(), 0);
    std::vector<NodeId> stack = wanted_nodes(t);
    while (!stack.empty()) {
      const NodeId n = stack.back();
      stack.pop_back();
      if (n < 0 || seen[static_cast<std::size_t>(n)]) continue;
      seen[static_cast<std::size_t>(n)] = 1;
      nodes.push_back(n);
      for (NodeId o : k.dag[n].operands) stack.push_back(o);
      if (k.dag[n].kind == NodeKind::index)
        for (const AffineTerm& a : k.dag.affine(n).terms)
          if (a.atom < 0) stack.push_back(~a.atom);
    }
    nodes_.push_back(std::move(nodes));
  }
}

Schedule Scheduler::run() {
  std::int64_t longest = 1;
  for (std::int64_t d : k_.dag.dims) longest = std::max(longest, d);
  schedule_.lanes = choose_lanes(longest);
  lane_bytes_ = vector_bytes_ / schedule_.lanes;
  // No wider than the longest loop.
  while (schedule_.lanes > 4 && schedule_.lanes / 2 >= longest) schedule_.lanes /= 2;
  if (vector_bytes_ >= 16 && plan_pairs(k_, nodes_[0], target_, schedule_)) {
    nest_vector_.assign(1, schedule_.vector_dim >= 0 ? -1 : schedule_.nests[0].parallel.back().dim);
  } else {
    choose_vector_loops();
    for (std::size_t n = 0; n < k_.nests.size(); ++n) plan_nest(n);
    plan_outer();
    unroll();
    take_rows_together();
    if (!transpose_squares()) join_records(k_, nodes_, target_.square_nodes, schedule_), take_points_together();
  }
  plan_tasks();
  if (!has_vectors()) schedule_.lanes = 1;
  choose_memory_steps(k_, target_, schedule_);
  schedule_.slack = expected_slack(k_, schedule_);
  return std::move(schedule_);
}

bool Scheduler::has_vectors() const {
  return std::any_of(nest_vector_.begin(), nest_vector_.end(), [](int d) { return d >= 0; }) || schedule_.vector_dim >= 0;
}

int Scheduler::choose_lanes(std::int64_t longest) const {
  double narrow = 0, wide = 0, pairs = 0, bytes_alone = 0, bools = 0;
  // Positions have as many bits as they need, whatever dtype indices are converted to: alone they don't make lanes wide.
  double positions = 0;
  std::vector<char> is_position(k_.dag.nodes.size());
  for (const Affine& a : k_.dag.affines)
    for (const AffineTerm& t : a.terms)
      if (t.atom < 0) is_position[static_cast<std::size_t>(~t.atom)] = k_.dag[~t.atom].op == ScalarOp::convert;
  for (const std::vector<NodeId>& nodes : nodes_)
    for (NodeId id : nodes) {
      const Node& n = k_.dag[id];
      if (n.kind != NodeKind::op && n.kind != NodeKind::math && n.kind != NodeKind::load) continue;
      if (n.dims == 0) continue;
      if (is_position[static_cast<std::size_t>(id)]) {
        positions += node_cost(n);
        continue;
      }
      if (n.dtype.is_bool()) {
        bools += n.kind == NodeKind::load;
        continue;
      }
      const int bytes = n.dtype.itemsize();
      (bytes == 8 ? wide : bytes == 4 ? narrow : bytes == 2 ? pairs : bytes_alone) += std::max(0.25, node_cost(n));
    }
  if (wide > 0) wide += positions;
  if (wide > narrow) return std::max(1, vector_bytes_ / 8);
  if (narrow > 0 || wide > 0) return std::max(1, vector_bytes_ / 4);
  if (pairs == 0) bytes_alone += bools;
  // Vectors of bytes have many lanes, which leave long remainders of short loops.
  if (pairs == 0 && bytes_alone > 0 && longest >= 16 * vector_bytes_) return std::max(1, vector_bytes_);
  return std::max(1, vector_bytes_ / (pairs > 0 || bytes_alone > 0 ? 2 : 4));
}

void Scheduler::plan_nest(std::size_t i) {
  const Nest& t = k_.nests[i];
  NestSchedule s;
  const auto plan = [&](const std::vector<int>& dims, std::vector<LoopPlan>& out) {
    for (int d : dims)
      if (d != nest_vector_[i]) out.push_back({d, 1, false});
    for (int d : dims)
      if (d == nest_vector_[i]) out.push_back({d, 1, true});
  };
  plan(t.parallel, s.parallel), plan(t.reduce, s.reduce);
  schedule_.nests.push_back(std::move(s));
}

void Scheduler::plan_outer() {
  for (int d : k_.outer)
    if (d != schedule_.vector_dim) schedule_.outer.push_back({d, 1, false});
  if (schedule_.vector_dim >= 0) schedule_.outer.push_back({schedule_.vector_dim, 1, true});
}

void Scheduler::plan_tasks() {
  if (k_.row_partition.loop >= 0) return partition_rows(k_, target_, schedule_);
  const double total = std::max(k_.cost.cycles, 1.0);
  // The unit of a loop is what one pass of its unrolled body takes.
  std::int64_t units = 1;
  std::vector<std::int64_t> unit;
  for (const LoopPlan& l : schedule_.outer) unit.push_back(static_cast<std::int64_t>(l.unroll) * (l.vector ? schedule_.lanes : 1));
  const std::optional<Tile> tile = tile_across_rows();
  if (tile)
    for (const auto& [loop, steps] : {std::pair(tile->along, tile->steps_along), std::pair(tile->across, tile->steps_across)})
      unit[loop] *= std::max<std::int64_t>(1, steps / unit[loop]);
  for (std::size_t i = 0; i < schedule_.outer.size(); ++i) {
    const std::int64_t n = (size(schedule_.outer[i].dim) + unit[i] - 1) / unit[i];
    schedule_.task_loops = static_cast<int>(i) + 1;
    schedule_.block.push_back(unit[i]);
    schedule_.blocks.push_back(n);
    units *= n;
    if (units >= target_.enough_blocks && (!tile || i >= tile->across)) break;
  }
  // A single loop of many small steps gets larger blocks.
  if (!schedule_.block.empty()) {
    const double each = total / static_cast<double>(units);
    std::int64_t& block = schedule_.block.back();
    std::int64_t& n = schedule_.blocks.back();
    const auto factor = static_cast<std::int64_t>(std::clamp(std::ceil(target_.block_cycles / each), 1.0, static_cast<double>(n)));
    block *= factor;
    units /= n;
    n = (size(schedule_.outer[static_cast<std::size_t>(schedule_.task_loops) - 1].dim) + block - 1) / block;
    units *= n;
  }
  schedule_.num_blocks = units;
  if (total >= target_.fork_cycles && units > 1)
    schedule_.grain =
        std::max<std::int64_t>(1, static_cast<std::int64_t>(static_cast<double>(units) * std::min(1.0, target_.task_cycles / total)));
}

Schedule make_schedule(const Kernel& k, int vector_bytes) { return Scheduler(k, Target{.vector_bytes = vector_bytes}).run(); }
Schedule make_schedule(const Kernel& k, const Target& target, int vector_loop) { return Scheduler(k, target, vector_loop).run(); }

}  // namespace weft::detail
