// What is unrolled: tiles of points that share loads, partial sums, vectors side by side.
#include <algorithm>

#include "weft/backends/codegen/schedule/scheduler.h"

namespace weft::detail {

int Scheduler::shared_loads(std::size_t nest, int dim) const {
  const Nest& t = k_.nests[nest];
  std::uint64_t reduce = 0;
  for (int d : t.reduce) reduce |= std::uint64_t{1} << d;
  int count = 0;
  for (NodeId id : nodes_[nest]) {
    const Node& n = k_.dag[id];
    count += n.kind == NodeKind::load && (n.dims & reduce) && !(n.dims >> dim & 1);
  }
  return count;
}

bool Scheduler::tile(std::size_t i, bool with_outer) {
  const Nest& t = k_.nests[i];
  NestSchedule& s = schedule_.nests[i];
  // Sums of other nests of the same points are in registers at the same time.
  std::int64_t reductions = 0;
  for (const Nest& n : k_.nests)
    if (&n == &t || (with_outer && t.parallel.empty() && n.parallel.empty())) reductions += static_cast<std::int64_t>(n.reductions.size());
  std::int64_t steps = 1;
  for (int d : t.reduce) steps *= size(d);
  if (t.reductions.empty() || steps < 4 || nodes_[i].size() >= target_.few_nodes) return false;
  // Half of the registers hold sums; more of them where some only wait for the others' nests.
  const bool wait = reductions > static_cast<std::int64_t>(t.reductions.size());
  std::int64_t room = target_.vector_registers() * (wait ? 3 : 2) / 4 / reductions;
  for (const LoopPlan& l : schedule_.outer) room /= l.unroll;
  room = std::max<std::int64_t>(1, room);
  const std::int64_t accumulators = room;
  std::vector<LoopPlan*> loops;
  for (LoopPlan& l : s.parallel) loops.push_back(&l);
  if (with_outer)
    for (LoopPlan& l : schedule_.outer) loops.push_back(&l);
  const auto take = [&](LoopPlan& l, std::int64_t available, std::int64_t most) {
    l.unroll = static_cast<int>(evenly(available, std::clamp<std::int64_t>(available, 1, std::min(most, room))));
    room /= l.unroll;
  };
  bool by_points = schedule_.vector_dim >= 0;
  const int vector = by_points ? schedule_.vector_dim : nest_vector_[i];
  if (vector >= 0 && std::any_of(nodes_[i].begin(), nodes_[i].end(), [&](NodeId id) {
        const Node& n = k_.dag[id];
        return n.kind == NodeKind::load && n.operands[1] < 0 && !k_.args[static_cast<std::size_t>(n.integer)].scratch &&
               reads_squares(t, n.operands[0], vector);
      })) {
    s.reduce.back().unroll = schedule_.lanes;
    if (is_running(t)) return true;
    // What was transposed serves several points of a loop on which it doesn't depend.
    for (LoopPlan* l : loops)
      if (!l->vector && !runs_singly(l->dim) && shared_loads(i, l->dim) > 0) {
        take(*l, size(l->dim), size(l->dim) <= 6 ? 6 : 4);
        break;
      }
    return true;
  }
  if (is_running(t)) return false;
  for (LoopPlan* l : loops) {
    if (!l->vector) continue;
    const std::int64_t vectors = size(l->dim) / schedule_.lanes;
    by_points = true;
    if (shared_loads(i, l->dim) == 0 && vectors <= room && goes_through_rows(l->dim)) {
      l->unroll = static_cast<int>(std::max<std::int64_t>(1, vectors)), room /= l->unroll;
      continue;
    }
    // Far memory is read in longer pieces of rows.
    take(*l, vectors, shared_loads(i, l->dim) > 0 ? 4 : k_.cost.bytes >= target_.beyond_caches ? 16 : 8);
  }
  bool shares = false;
  // Where lanes are points of a loop that is not in the tile, two others share what is loaded.
  const bool has_lanes = std::any_of(loops.begin(), loops.end(), [](const LoopPlan* l) { return l->vector; });
  for (int round = 0; round < (has_lanes ? 1 : 2); ++round) {
    LoopPlan* shared = nullptr;
    int most = 0;
    for (LoopPlan* l : loops)
      if (!l->vector && l->unroll == 1 && !runs_singly(l->dim) && shared_loads(i, l->dim) > most)
        most = shared_loads(i, l->dim), shared = l;
    if (shared && accumulators > 1) {
      take(*shared, size(shared->dim), by_points ? 6 : 4), shares = true;
      const auto lanes = std::find_if(loops.begin(), loops.end(), [](const LoopPlan* l) { return l->vector; });
      if (lanes != loops.end() && shared_loads(i, (*lanes)->dim) > 0) shape_tile(**lanes, *shared, accumulators);
    }
  }
  const bool alone = by_points && std::all_of(loops.begin(), loops.end(), [](const LoopPlan* l) { return l->unroll == 1; });
  // Lanes of which there is one vector only: further points, so that one sum need not wait for the last.
  for (std::size_t l = loops.size(); alone && with_outer && room > 1 && l-- > 0;)
    if (!loops[l]->vector && !runs_singly(loops[l]->dim) && size(loops[l]->dim) >= 8) {
      take(*loops[l], size(loops[l]->dim), 4);
      break;
    }
  LoopPlan* last = s.reduce.empty() ? nullptr : &s.reduce.back();
  if (last && last->vector) take(*last, size(last->dim) / schedule_.lanes, shares ? 2 : 4);
  return true;
}

void Scheduler::shape_tile(LoopPlan& vectors, LoopPlan& points, std::int64_t room) {
  constexpr std::int64_t kMostVectors = 4, kMostPoints = 6;
  constexpr double kClearly = 0.9;
  const std::int64_t whole = size(vectors.dim) / schedule_.lanes, masked = size(vectors.dim) % schedule_.lanes != 0 ? 1 : 0;
  const auto step = [&](std::int64_t p, std::int64_t v) {
    return std::max({target_.multiply_latency, static_cast<double>(p * v) / target_.multiplies_per_cycle,
                     static_cast<double>(p + v) / target_.loads_per_cycle});
  };
  const auto cycles = [&](std::int64_t p, std::int64_t v) {
    const auto rows = [&](std::int64_t n) {
      return static_cast<double>(whole / v) * step(n, v) + static_cast<double>(whole % v + masked) * step(n, 1);
    };
    return static_cast<double>(size(points.dim) / p) * rows(p) + static_cast<double>(size(points.dim) % p) * rows(1);
  };
  double least = kClearly * cycles(points.unroll, vectors.unroll);
  for (std::int64_t v = std::min(kMostVectors, whole); v >= 1; --v)
    for (std::int64_t p = std::min({kMostPoints, room / v, size(points.dim)}); p >= 1; --p)
      if (const double c = cycles(p, v); c < least) least = c, points.unroll = static_cast<int>(p), vectors.unroll = static_cast<int>(v);
}

bool Scheduler::tile_outer_points() {
  std::size_t heavy = 0, nodes = 0, reducing = 0;
  double most = -1;
  for (std::size_t i = 0; i < k_.nests.size(); ++i) {
    const Nest& t = k_.nests[i];
    if (!t.parallel.empty() || !t.repeats.empty() || is_running(t)) return false;
    nodes += nodes_[i].size(), reducing += t.reduce.empty() ? 0 : 1;
    double steps = work(i);
    for (int d : t.reduce) steps *= static_cast<double>(size(d));
    if (!t.reduce.empty() && steps > most) most = steps, heavy = i;
  }
  if (schedule_.vector_dim < 0 || reducing < 2 || nodes >= target_.few_nodes || shared_loads(heavy, schedule_.vector_dim) == 0)
    return false;
  if (std::none_of(schedule_.outer.begin(), schedule_.outer.end(),
                   [&](const LoopPlan& l) { return !l.vector && !runs_singly(l.dim) && shared_loads(heavy, l.dim) > 0; }))
    return false;
  return tile(heavy, true);
}

bool Scheduler::go_by_rows(std::size_t i) {
  const Nest& t = k_.nests[i];
  NestSchedule& s = schedule_.nests[i];
  if (nest_vector_[i] < 0 || t.reduce.size() != 1 || t.reductions.empty() || k_.cost.bytes < target_.beyond_caches) return false;
  if (std::find(t.parallel.begin(), t.parallel.end(), nest_vector_[i]) == t.parallel.end() || runs_singly(t.reduce[0])) return false;
  std::int64_t points = 1, bytes = 0;
  for (int d : t.parallel) points *= (size(d) + schedule_.lanes - 1) / schedule_.lanes * schedule_.lanes;
  for (const Reduction& r : t.reductions) {
    if (r.kind != Reduction::Kind::reduce || r.running || r.dtype.is_bool()) return false;
    bytes += points * r.dtype.itemsize();
  }
  if (std::any_of(t.stores.begin(), t.stores.end(), [](const Store& store) { return store.in_reduction; })) return false;
  if (points <= target_.column_vectors * schedule_.lanes || size(t.reduce[0]) < target_.rows_reduced || bytes > target_.accumulators)
    return false;
  bool in_order = false;
  for (NodeId id : nodes_[i]) {
    std::int64_t along = 0, down = 0;
    const Node& n = k_.dag[id];
    if (n.kind != NodeKind::load || k_.args[static_cast<std::size_t>(n.integer)].scratch) continue;
    in_order |= k_.dag.stride(n.operands[0], nest_vector_[i], along) && along == 1 && k_.dag.stride(n.operands[0], t.reduce[0], down) &&
                down >= size(nest_vector_[i]);
  }
  if (!in_order) return false;
  s.by_rows = true;
  s.reduce[0].unroll = target_.rows_reduced;
  s.parallel.back().unroll = 2;
  return true;
}

void Scheduler::unroll() {
  int matmul = matmul_of_rows();
  bool squares = false;
  if (tile_outer_points()) return;
  if (matmul >= 0 && !tile(static_cast<std::size_t>(matmul), true)) matmul = -1;
  const bool single =
      std::all_of(k_.nests.begin() + 1, k_.nests.end(), [](const Nest& t) { return t.parallel.empty() && t.reduce.empty(); });
  for (std::size_t i = 0; i < k_.nests.size(); ++i) {
    if (go_by_rows(i)) continue;
    if (static_cast<int>(i) == matmul) continue;
    if (tile(i, single && i == 0)) {
      if (single && i == 0) return;
      continue;
    }
    NestSchedule& s = schedule_.nests[i];
    if (maps_squares(i)) {
      s.parallel.back().unroll = schedule_.lanes, squares = true;
      continue;
    }
    std::vector<LoopPlan>& loops = s.reduce.empty() ? s.parallel : s.reduce;
    if (!loops.empty() && loops.back().vector) loops.back().unroll = by_work(work(i), loops.back());
  }
  double all = 0;
  for (std::size_t i = 0; i < k_.nests.size(); ++i) all += work(i);
  if (schedule_.vector_dim < 0 || squares) return;
  // In loops with varying trip counts, lanes that wait for others cost more than latency does; for bodies of a few operations, two
  // vectors side by side are still faster than one.
  const bool repeats = std::any_of(k_.nests.begin(), k_.nests.end(), [](const Nest& t) { return !t.repeats.empty(); });
  LoopPlan& lanes = schedule_.outer.back();
  const int columns = repeats ? 1 : columns_together();
  if (columns > 1) schedule_.rows_ahead = target_.rows_ahead, schedule_.row_bytes = target_.far_row;
  const int beside = vectors_beside_tiles();
  if (!repeats) lanes.unroll = std::max(std::min(by_work(all, lanes), beside), columns);
  if (const std::int64_t vectors = size(lanes.dim) / schedule_.lanes; !repeats && beside > 1 && vectors > lanes.unroll &&
                                                                      goes_through_rows(lanes.dim) &&
                                                                      vectors * sums_beside() <= target_.vector_registers() / 2)
    lanes.unroll = static_cast<int>(vectors);
  if (repeats) {
    lanes.unroll = all < target_.some_work && size(lanes.dim) >= 2 * schedule_.lanes ? 2 : 1;
    if (counts_loops(k_)) lanes.unroll = std::max(lanes.unroll, side_by_side(lanes));
  }
}

bool Scheduler::goes_through_rows(int vector) const {
  if (k_.cost.bytes < static_cast<double>(target_.middle_cache) || size(vector) > target_.whole_row * schedule_.lanes) return false;
  for (std::size_t i = 0; i < k_.nests.size(); ++i) {
    if (k_.nests[i].reduce.empty()) continue;
    for (NodeId id : nodes_[i]) {
      const Node& n = k_.dag[id];
      std::int64_t along = 0, down = 0;
      if (n.kind == NodeKind::load && !k_.args[static_cast<std::size_t>(n.integer)].scratch &&
          k_.dag.stride(n.operands[0], vector, along) && along == 1 && k_.dag.stride(n.operands[0], k_.nests[i].reduce.back(), down) &&
          down == size(vector))
        return true;
    }
  }
  return false;
}

std::int64_t Scheduler::sums_beside() const {
  std::int64_t most = 1;
  for (std::size_t i = 0; i < k_.nests.size(); ++i) {
    std::int64_t points = static_cast<std::int64_t>(k_.nests[i].reductions.size());
    for (const LoopPlan& l : schedule_.nests[i].parallel) points *= l.unroll;
    most = std::max(most, points);
  }
  return most;
}

int Scheduler::vectors_beside_tiles() const {
  constexpr std::int64_t kShared = 6;  // points of one loop that share loads
  const std::int64_t most = sums_beside();
  return most <= kShared ? 4 : static_cast<int>(std::max<std::int64_t>(1, target_.vector_registers() / 2 / most));
}

int Scheduler::side_by_side(const LoopPlan& lanes) const {
  std::int64_t carried = 0;
  std::size_t nodes = 0;
  const auto count = [&](auto&& self, const std::vector<Repeat>& all) -> void {
    for (const Repeat& r : all) carried += static_cast<std::int64_t>(r.carried.size()), self(self, r.inner);
  };
  for (std::size_t i = 0; i < k_.nests.size(); ++i) count(count, k_.nests[i].repeats), nodes += nodes_[i].size();
  const std::int64_t room = target_.vector_registers() / std::max<std::int64_t>(1, 2 * carried);
  const std::int64_t small = static_cast<std::int64_t>(4 * target_.few_nodes / std::max<std::size_t>(1, nodes));
  const std::int64_t vectors = size(lanes.dim) / schedule_.lanes;
  const std::int64_t of_a_thread = k_.cost.cycles >= target_.fork_cycles ? vectors / 2 : vectors;  // two threads find work
  const std::int64_t most = std::min<std::int64_t>({room, small, of_a_thread, 4});
  return most > 1 ? static_cast<int>(evenly(vectors, most)) : 1;
}

int Scheduler::columns_together() const {
  std::int64_t scratch = 0;
  for (const KernelArg& a : k_.args)
    if (a.scratch) scratch += a.elements * a.dtype.itemsize();
  if (scratch == 0 || k_.cost.bytes < target_.column_bytes) return 1;
  bool columns = false;
  for (std::size_t i = 0; i < k_.nests.size(); ++i) {
    std::vector<int> loops = k_.nests[i].parallel;
    loops.insert(loops.end(), k_.nests[i].reduce.begin(), k_.nests[i].reduce.end());
    for (NodeId id : nodes_[i]) {
      const Node& n = k_.dag[id];
      std::int64_t along = 0, down = 0;
      if (n.kind != NodeKind::load || k_.args[static_cast<std::size_t>(n.integer)].scratch || loops.empty()) continue;
      columns |= k_.dag.stride(n.operands[0], schedule_.vector_dim, along) && along == 1 &&
                 k_.dag.stride(n.operands[0], loops.back(), down) && down * n.dtype.itemsize() >= target_.far_row;
    }
  }
  int n = 1;
  while (columns && n < 4 && 2 * n * schedule_.lanes * scratch <= target_.column_scratch &&
         2 * n * schedule_.lanes <= size(schedule_.vector_dim))
    n *= 2;
  return n;
}

bool Scheduler::only_moves_gathered() const {
  const int vector = schedule_.vector_dim;
  if (k_.nests.size() != 1 || !k_.nests[0].reductions.empty() || !k_.nests[0].repeats.empty()) return false;
  return std::all_of(k_.nests[0].stores.begin(), k_.nests[0].stores.end(), [&](const Store& s) {
    std::int64_t along = 0;
    return is_gathered(k_, s.value, vector) && !is_looked_up(s.value, vector) && k_.dag.stride(s.position, vector, along) && along == 1;
  });
}

int Scheduler::by_work(double w, const LoopPlan& l) const {
  if (only_moves_gathered()) return 1;  // which is enough code
  return static_cast<int>(std::clamp<std::int64_t>(size(l.dim) / schedule_.lanes, 1,
                                                   w < target_.light_work  ? 4
                                                   : w < target_.some_work ? 2
                                                                           : 1));
}

}  // namespace weft::detail
