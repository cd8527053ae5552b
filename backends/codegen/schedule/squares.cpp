// Squares of elements that are transposed in registers, between an array whose rows the lanes follow and one whose columns they follow.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "weft/backends/codegen/schedule/memory_steps.h"
#include "weft/backends/codegen/schedule/records.h"
#include "weft/backends/codegen/schedule/scheduler.h"

namespace weft::detail {

int Scheduler::square_lanes(std::int64_t length) const {
  const auto cost = [&](int lanes) {
    const double each = target_.instruction(lanes * lane_bytes_) * (1 + std::log2(lanes)) / lanes;
    return static_cast<double>(length / lanes * lanes) * each + static_cast<double>(length % lanes) * target_.gathered_lane;
  };
  if (length <= kLongestRecord || !may_narrow()) return schedule_.lanes;
  int best = 0;
  for (int lanes = schedule_.lanes; lanes >= 4 && lanes * lane_bytes_ >= target_.narrowest_vector; lanes /= 2)
    if (lanes <= length && (best == 0 || cost(lanes) < kNarrower * cost(best))) best = lanes;
  return best == 0 ? schedule_.lanes : best;
}

bool Scheduler::transpose_squares() {
  if (k_.nests.size() != 1 || schedule_.vector_dim < 0 || !k_.nests[0].repeats.empty() || !k_.nests[0].parallel.empty() ||
      !k_.nests[0].reduce.empty())
    return false;
  std::int64_t lanes = schedule_.lanes;
  int other = -1, loads = 0;
  const auto look = [&](NodeId position, bool is_load) {
    for (const LoopPlan& l : schedule_.outer)
      if (!l.vector && size(l.dim) >= square_lanes(size(l.dim)) && square_direction(k_, position, schedule_.vector_dim, l.dim) != 0)
        other = l.dim, loads += is_load;
  };
  int along_lanes = 0;
  std::uint64_t peeled = 0;
  for (const LoopPlan& l : schedule_.outer)
    if (is_worth_peeling(k_, target_, l.dim, l.vector ? lanes : 1)) peeled |= std::uint64_t{1} << l.dim;
  for (NodeId id : nodes_[0]) {
    const Node& n = k_.dag[id];
    if (n.kind != NodeKind::load) continue;
    if (n.operands[1] < 0 || is_decided(k_, n.operands[1], peeled)) look(n.operands[0], true);
    std::int64_t s = 0;
    along_lanes += k_.dag.stride(n.operands[0], schedule_.vector_dim, s) && s == 1;
  }
  for (const Store& s : k_.nests[0].stores) look(s.position, false);
  if (other < 0) return false;
  lanes = square_lanes(size(other));
  if (static_cast<std::int64_t>(nodes_[0].size()) * lanes > static_cast<std::int64_t>(target_.square_nodes) ||
      size(schedule_.vector_dim) < lanes)
    return false;
  schedule_.lanes = static_cast<int>(lanes);
  std::vector<LoopPlan> loops;
  for (const LoopPlan& l : schedule_.outer)
    if (l.dim != other && !l.vector) loops.push_back(l);
  loops.push_back({schedule_.vector_dim, 1, true});
  loops.insert(loops.end() - (loads > along_lanes && k_.cost.bytes >= target_.beyond_caches ? 0 : 1),
               {other, static_cast<int>(lanes), false});
  schedule_.outer = std::move(loops);
  return true;
}

std::optional<Scheduler::Tile> Scheduler::tile_across_rows() const {
  if (k_.nests.size() != 1 || !k_.nests[0].repeats.empty() || !k_.nests[0].reduce.empty()) return {};
  for (std::size_t i = 0; i + 1 < schedule_.outer.size(); ++i) {
    const LoopPlan &along = schedule_.outer[i], &across = schedule_.outer[i + 1];
    if (along.vector || across.vector || size(across.dim) < 2 * target_.tile_rows) continue;
    for (NodeId id : nodes_[0]) {
      const Node& n = k_.dag[id];
      std::int64_t step = 0, row = 0;
      if (n.kind != NodeKind::load || !k_.dag.stride(n.operands[0], along.dim, step) || !k_.dag.stride(n.operands[0], across.dim, row))
        continue;
      const std::int64_t bytes = n.dtype.itemsize(), apart = std::abs(step) * bytes;
      if (apart == 0 || 2 * apart > target_.line_bytes || std::abs(row) * bytes < target_.far_row) continue;
      return Tile{i, i + 1, target_.tile_lines * target_.line_bytes / apart, target_.tile_rows};
    }
  }
  return {};
}

}  // namespace weft::detail
