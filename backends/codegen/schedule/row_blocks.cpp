// Rows that run side by side: those that are multiplied by one matrix, and those whose reductions wait for one another.
#include <algorithm>
#include <cstdlib>

#include "weft/backends/codegen/schedule/scheduler.h"

namespace weft::detail {

bool Scheduler::multiplies_rows(std::size_t nest, int rows) const {
  const std::vector<int>& columns = k_.nests[nest].parallel;
  return nest_vector_[nest] >= 0 && std::find(columns.begin(), columns.end(), nest_vector_[nest]) != columns.end() &&
         shared_loads(nest, nest_vector_[nest]) > 0 && shared_loads(nest, rows) > 0;
}

int Scheduler::matmul_of_rows() const {
  if (schedule_.vector_dim >= 0 || schedule_.outer.empty() || k_.nests.size() == 1) return -1;
  const int rows = schedule_.outer.back().dim;
  if (runs_singly(rows) || size(rows) < 2 * target_.rows_together) return -1;
  int heavy = -1;
  double most = 0, matmuls = 0, others = 0;
  std::size_t nodes = 0;
  for (std::size_t i = 0; i < k_.nests.size(); ++i) {
    const Nest& t = k_.nests[i];
    if (!t.repeats.empty() || is_running(t)) return -1;
    nodes += nodes_[i].size();
    double steps = work(i);
    for (int d : t.parallel) steps *= static_cast<double>(size(d));
    for (int d : t.reduce) steps *= static_cast<double>(size(d));
    const bool is_matmul = multiplies_rows(i, rows);
    (is_matmul ? matmuls : others) += steps;
    if (is_matmul && steps > most) most = steps, heavy = static_cast<int>(i);
  }
  std::int64_t scratch = 0;
  for (const KernelArg& a : k_.args)
    if (a.scratch) scratch += a.elements * a.dtype.itemsize();
  const bool small = nodes <= 2 * target_.few_nodes && target_.rows_together * scratch <= target_.row_scratch;
  return small && matmuls > others ? heavy : -1;
}

void Scheduler::take_rows_together() {
  if (schedule_.vector_dim >= 0 || schedule_.outer.empty() || k_.nests.size() < 2) return;
  LoopPlan& rows = schedule_.outer.back();
  if (rows.unroll > 1 || runs_singly(rows.dim)) return;
  std::size_t nodes = 0;
  std::int64_t scratch = 0, vectors = 0;
  // Blocks of rows: each outer point has several of its own, which all nests go through.
  const auto of_block = [&](const Nest& t) { return t.parallel.empty() ? 1 : size(t.parallel.front()); };
  bool in_blocks = of_block(k_.nests[0]) >= 4;
  for (const Nest& t : k_.nests) in_blocks &= of_block(t) == of_block(k_.nests[0]);
  for (std::size_t i = 0; i < k_.nests.size(); ++i) {
    const Nest& t = k_.nests[i];
    if (!t.repeats.empty() || is_running(t)) return;
    nodes += nodes_[i].size();
    if (t.reduce.empty() || nest_vector_[i] != t.reduce.back()) continue;
    const std::int64_t of_row = (size(nest_vector_[i]) + schedule_.lanes - 1) / schedule_.lanes;
    vectors = std::max(vectors, of_row);
    if (LoopPlan* block = in_blocks ? &schedule_.nests[i].parallel.back() : nullptr; block && nodes_[i].size() <= target_.few_nodes)
      block->unroll = std::max(block->unroll, target_.rows_of_vectors(of_row));
  }
  if (in_blocks) return;
  for (const KernelArg& a : k_.args)
    if (a.scratch) scratch += a.elements * a.dtype.itemsize();
  if (const int together = target_.rows_of_vectors(vectors);
      nodes <= 2 * target_.few_nodes && together * scratch <= target_.row_scratch && size(rows.dim) >= 2 * together)
    rows.unroll = together;
}

bool Scheduler::shares_strided_loads(int rows) const {
  double shared = 0, strided = 0,
         each = 2;  // the cost of what all rows share, of its loads that are strided, and of each row with its store
  for (NodeId id : nodes_[0]) {
    const Node& n = k_.dag[id];
    if (!(n.dims >> schedule_.vector_dim & 1)) continue;
    if (n.dims >> rows & 1) {
      each += node_cost(n);
      continue;
    }
    shared += node_cost(n);
    std::int64_t stride = 0;
    if (n.kind != NodeKind::load || is_looked_up(id, schedule_.vector_dim)) continue;
    const double apart = k_.dag.stride(n.operands[0], schedule_.vector_dim, stride) ? static_cast<double>(std::abs(stride))
                                                                                    : schedule_.lanes * target_.gathered_lane;
    if (apart > 1) strided += std::min(apart, schedule_.lanes * target_.gathered_lane);
  }
  return strided > 0 && 2 * (shared + strided) >= each;
}

void Scheduler::take_points_together() {
  if (schedule_.vector_dim < 0 || !schedule_.record_dims.empty() || k_.nests.size() != 1) return;
  const Nest& t = k_.nests[0];
  if (!t.parallel.empty() || !t.reduce.empty() || !t.repeats.empty() || schedule_.outer.size() < 2) return;
  LoopPlan &points = schedule_.outer[schedule_.outer.size() - 2], &lanes = schedule_.outer.back();
  if (points.unroll > 1 || runs_singly(points.dim) || size(points.dim) < 8) return;
  if (lanes.vector && shares_strided_loads(points.dim)) {
    const auto most = static_cast<std::int64_t>(8 * target_.few_nodes / std::max<std::size_t>(1, nodes_[0].size()));
    if (most < 2) return;
    points.unroll = static_cast<int>(evenly(size(points.dim), std::min<std::int64_t>(most, 4)));
    lanes.unroll = 1;
    return;
  }
  if (size(schedule_.vector_dim) > schedule_.lanes) return;
  const double w = work(0);
  points.unroll = static_cast<int>(evenly(size(points.dim), w < target_.light_work ? 4 : w < target_.some_work ? 2 : 1));
}

}  // namespace weft::detail
