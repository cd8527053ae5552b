#include "weft/backends/codegen/schedule/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "weft/backends/codegen/schedule/cost.h"
#include "weft/backends/codegen/schedule/kernel_accesses.h"
#include "weft/backends/codegen/schedule/memory_steps.h"
#include "weft/backends/codegen/schedule/pairs.h"
#include "weft/backends/codegen/schedule/records.h"
#include "weft/backends/codegen/schedule/row_division.h"

namespace weft::detail {
namespace {

class Scheduler {
 public:
  Scheduler(const Kernel& k, const Target& target, int vector_loop = -1)
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

  Schedule run() {
    std::int64_t longest = 1;
    for (std::int64_t d : k_.dag.dims) longest = std::max(longest, d);
    schedule_.lanes = choose_lanes(longest);
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
      if (!transpose_squares()) join_records(k_, nodes_, target_.square_nodes, schedule_);
    }
    plan_tasks();
    if (!has_vectors()) schedule_.lanes = 1;
    choose_memory_steps(k_, target_, schedule_);
    schedule_.slack = expected_slack(k_, schedule_);
    return std::move(schedule_);
  }

 private:
  std::int64_t size(int dim) const { return k_.dag.dims[static_cast<std::size_t>(dim)]; }

  bool runs_singly(int dim) const { return detail::runs_singly(k_, dim); }
  bool has_vectors() const {
    return std::any_of(nest_vector_.begin(), nest_vector_.end(), [](int d) { return d >= 0; }) || schedule_.vector_dim >= 0;
  }

  int choose_lanes(std::int64_t longest) const {
    double narrow = 0, wide = 0, pairs = 0, bytes_alone = 0, bools = 0;
    for (const std::vector<NodeId>& nodes : nodes_)
      for (NodeId id : nodes) {
        const Node& n = k_.dag[id];
        if (n.kind != NodeKind::op && n.kind != NodeKind::math && n.kind != NodeKind::load) continue;
        if (n.dims == 0) continue;
        if (n.dtype.is_bool()) {
          bools += n.kind == NodeKind::load;
          continue;
        }
        const int bytes = n.dtype.itemsize();
        (bytes == 8 ? wide : bytes == 4 ? narrow : bytes == 2 ? pairs : bytes_alone) += std::max(0.25, node_cost(n));
      }
    if (wide > narrow) return std::max(1, vector_bytes_ / 8);
    if (narrow > 0 || wide > 0) return std::max(1, vector_bytes_ / 4);
    if (pairs == 0) bytes_alone += bools;
    // Vectors of bytes have many lanes, which leave long remainders of short loops.
    if (pairs == 0 && bytes_alone > 0 && longest >= 16 * vector_bytes_) return std::max(1, vector_bytes_);
    return std::max(1, vector_bytes_ / (pairs > 0 || bytes_alone > 0 ? 2 : 4));
  }

  bool is_running(const Nest& t) const {
    return std::any_of(t.reductions.begin(), t.reductions.end(), [](const Reduction& r) { return r.running; });
  }

  /// Whether strided lanes along the given outer loop reduce contiguous elements: a square of as many steps as lanes is then loaded and
  /// transposed in registers.
  bool reads_squares(const Nest& t, NodeId position, int vector) const {
    std::int64_t along = 0, s = 0;
    if (std::find(k_.outer.begin(), k_.outer.end(), vector) == k_.outer.end() ||
        points_along(k_, k_.dag[position].dims) < target_.transposed_points)
      return false;
    if (t.reduce.empty() || is_running(t) || runs_singly(t.reduce.back()) || size(t.reduce.back()) < schedule_.lanes) return false;
    if (!k_.dag.stride(position, vector, along) || (along >= -1 && along <= 2)) return false;
    return k_.dag.stride(position, t.reduce.back(), s) && s == 1;
  }

  bool maps_squares(std::size_t nest, NodeId position, int vector) const {
    return nodes_[nest].size() * static_cast<std::size_t>(schedule_.lanes) <= target_.square_nodes &&
           points_along(k_, k_.dag[position].dims) >= target_.transposed_points &&
           detail::maps_squares(k_, nest, position, vector, schedule_.lanes);
  }
  /// Whether a nest accesses such squares of memory in any way.
  bool maps_squares(std::size_t nest) const {
    if (schedule_.vector_dim < 0) return false;
    const std::vector<Access> all = accesses(k_, k_.nests[nest]);
    return std::any_of(all.begin(), all.end(), [&](const Access& a) {
      return !k_.args[static_cast<std::size_t>(a.arg)].scratch && (a.load < 0 || k_.dag[a.load].operands[1] < 0) &&
             maps_squares(nest, a.position, schedule_.vector_dim);
    });
  }

  /// Whether registers hold the row whose elements the lanes read by computed indices.
  bool is_looked_up(NodeId load, int vector) const {
    if (load < 0) return false;
    const std::optional<GatheredRow> row = whole_row(k_, load, vector);
    return row && row->elements * k_.dag[load].dtype.itemsize() <= target_.looked_up_bytes();
  }

  /// The cost of a nest if the given loop (its own or an outer one) is vectorised; -1: none.
  double cost(std::size_t nest, int vector) const {
    const Nest& t = k_.nests[nest];
    const double lanes = schedule_.lanes;
    std::vector<int> loops;
    const auto append = [&](const std::vector<int>& dims) {
      bool has = false;
      for (int d : dims)
        if (d == vector)
          has = true;
        else
          loops.push_back(d);
      if (has) loops.push_back(vector);
    };
    append(k_.outer), append(t.parallel), append(t.reduce), append(repeat_dims(t));
    const auto trips = [&](std::uint64_t dims) {
      double n = 1, all = 1;
      for (int d : loops) {
        const auto s = static_cast<double>(size(d));
        all *= d == vector ? std::ceil(s / lanes) : s;
        if (dims >> d & 1) n = all;
      }
      return n;
    };
    const auto access = [&](NodeId position, int arg, std::uint64_t dims, NodeId load) {
      const bool is_store = load < 0;
      if (vector < 0 || !(dims >> vector & 1)) return 1.0;
      std::int64_t stride = 0;
      if (!k_.dag.stride(position, vector, stride)) return is_looked_up(load, vector) ? 1.0 : lanes * 0.8;
      if (stride == 1 || stride == 0) return 1.0;
      if (stride == -1) return 1.5;
      if (const std::int64_t n = record_of(k_, t, position, vector, stride); n > 0 && (!is_store || n == stride))
        return static_cast<double>(std::abs(stride));
      if (stride == 2) return 3.0;
      if ((is_store || k_.dag[load].operands[1] < 0) && maps_squares(nest, position, vector)) return 1 + std::log2(lanes);
      if (!is_store && reads_squares(t, position, vector)) {
        const auto all = static_cast<double>(size(t.reduce.back())), transposed = lanes * std::floor(all / lanes);
        return (transposed * (1 + std::log2(lanes)) + (all - transposed) * lanes * 0.8) / all;
      }
      // Lanes that share lines of the cache are read sooner than those in lines of their own, and these than those in far rows.
      const std::int64_t apart = std::abs(stride) * k_.args[static_cast<std::size_t>(arg)].dtype.itemsize();
      const double distance = apart < target_.line_bytes ? 1 : apart < target_.far_row ? 1.1 : 1.3;
      return lanes * distance * (is_store ? 1.2 : 0.8);
    };
    double total = 0;
    for (NodeId id : nodes_[nest]) {
      const Node& n = k_.dag[id];
      double c = node_cost(n);
      if (n.kind == NodeKind::load) {
        c *= access(n.operands[0], static_cast<int>(n.integer), n.dims, id);
        const KernelArg& arg = k_.args[static_cast<std::size_t>(n.integer)];
        if (arg.scratch) c = node_cost(n);
      }
      total += c * trips(n.dims);
    }
    for (const Store& s : t.stores)
      total += 2 * trips(k_.dag[s.position].dims) *
               (k_.args[static_cast<std::size_t>(s.arg)].scratch ? 1 : access(s.position, s.arg, k_.dag[s.position].dims, -1));
    double inner = 1, outer = 1;
    for (int d : k_.outer) outer *= d == vector ? std::ceil(static_cast<double>(size(d)) / lanes) : static_cast<double>(size(d));
    for (int d : t.parallel) outer *= d == vector ? std::ceil(static_cast<double>(size(d)) / lanes) : static_cast<double>(size(d));
    for (int d : t.reduce) inner *= d == vector ? std::ceil(static_cast<double>(size(d)) / lanes) : static_cast<double>(size(d));
    const bool across = std::find(t.reduce.begin(), t.reduce.end(), vector) != t.reduce.end();
    for (const Reduction& r : t.reductions) {
      const double along_lanes = across ? 3 * std::log2(lanes) : 0;
      total += outer * inner * (r.kind == Reduction::Kind::reduce ? 1 : 4) + (r.running ? inner : 1) * outer * along_lanes;
    }
    return total + outer * inner * 0.5;
  }

  void choose_vector_loops() {
    const std::size_t n = k_.nests.size();
    nest_vector_.assign(n, -1);
    if (schedule_.lanes <= 1) return;
    double inner_total = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const Nest& t = k_.nests[i];
      double best = cost(i, -1);
      std::vector<int> loops = t.parallel;
      loops.insert(loops.end(), t.reduce.begin(), t.reduce.end());
      for (int d : loops) {
        if (runs_singly(d)) continue;
        const double c = cost(i, d);
        if (c < best) best = c, nest_vector_[i] = d;
      }
      inner_total += best;
    }
    std::int64_t scratch = 0;
    for (const KernelArg& a : k_.args)
      if (a.scratch) scratch += a.elements * a.dtype.itemsize();
    double best = inner_total;
    for (int d : k_.outer) {
      if (scratch * schedule_.lanes > target_.lane_scratch) break;
      if (runs_singly(d) || (vector_loop_ >= 0 && vector_loop_ != d)) continue;
      double total = 0;
      for (std::size_t i = 0; i < n; ++i) total += cost(i, d);
      if (total < best || vector_loop_ == d) best = total, schedule_.vector_dim = d;
    }
    total_cost_ = best;
    if (schedule_.vector_dim >= 0) nest_vector_.assign(n, -1);
  }

  void plan_nest(std::size_t i) {
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

  void plan_outer() {
    for (int d : k_.outer)
      if (d != schedule_.vector_dim) schedule_.outer.push_back({d, 1, false});
    if (schedule_.vector_dim >= 0) schedule_.outer.push_back({schedule_.vector_dim, 1, true});
  }

  /// The loads in a nest's innermost loops, and how many of them do not depend on the loop.
  int shared_loads(std::size_t nest, int dim) const {
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

  /// Accumulators in a tile of points: vectors of them first, then points that share loads, then partial sums.
  bool tile(std::size_t i, bool with_outer) {
    const Nest& t = k_.nests[i];
    NestSchedule& s = schedule_.nests[i];
    const auto reductions = static_cast<std::int64_t>(t.reductions.size());
    std::int64_t steps = 1;
    for (int d : t.reduce) steps *= size(d);
    if (reductions == 0 || steps < 4 || nodes_[i].size() >= target_.few_nodes || is_running(t)) return false;
    std::int64_t room = target_.vector_registers() / 2 / reductions;
    for (const LoopPlan& l : schedule_.outer) room /= l.unroll;
    room = std::max<std::int64_t>(1, room);
    std::vector<LoopPlan*> loops;
    for (LoopPlan& l : s.parallel) loops.push_back(&l);
    if (with_outer)
      for (LoopPlan& l : schedule_.outer) loops.push_back(&l);
    const auto take = [&](LoopPlan& l, std::int64_t available, std::int64_t most) {
      l.unroll = static_cast<int>(evenly(available, std::clamp<std::int64_t>(available, 1, std::min(most, room))));
      room /= l.unroll;
    };
    bool by_points = schedule_.vector_dim >= 0;
    if (by_points && std::any_of(nodes_[i].begin(), nodes_[i].end(), [&](NodeId id) {
          const Node& n = k_.dag[id];
          return n.kind == NodeKind::load && n.operands[1] < 0 && !k_.args[static_cast<std::size_t>(n.integer)].scratch &&
                 reads_squares(t, n.operands[0], schedule_.vector_dim);
        })) {
      s.reduce.back().unroll = schedule_.lanes;
      // What was transposed serves several points of a loop on which it doesn't depend.
      for (LoopPlan* l : loops)
        if (!l->vector && !runs_singly(l->dim) && shared_loads(i, l->dim) > 0) {
          take(*l, size(l->dim), size(l->dim) <= 6 ? 6 : 4);
          break;
        }
      return true;
    }
    for (LoopPlan* l : loops)
      if (l->vector)  // far memory is read in longer pieces of rows
        take(*l, size(l->dim) / schedule_.lanes,
             shared_loads(i, l->dim) > 0              ? 4
             : k_.cost.bytes >= target_.beyond_caches ? 16
                                                      : 8),
            by_points = true;
    bool shares = false;
    for (int round = 0; round < (by_points ? 1 : 2); ++round) {
      LoopPlan* shared = nullptr;
      int most = 0;
      for (LoopPlan* l : loops)
        if (!l->vector && l->unroll == 1 && !runs_singly(l->dim) && shared_loads(i, l->dim) > most)
          most = shared_loads(i, l->dim), shared = l;
      if (shared && room > 1) take(*shared, size(shared->dim), by_points ? 6 : 4), shares = true;
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

  /// Column reductions of a matrix that is not cached: a few rows at a time, if the accumulators of all columns are cached. Otherwise each
  /// row is read in short pieces, which the hardware does not prefetch.
  bool go_by_rows(std::size_t i) {
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

  /// Whether a nest multiplies rows, one of each outer point, by a matrix: its vectors run along the matrix's columns.
  bool multiplies_rows(std::size_t nest, int rows) const {
    const std::vector<int>& columns = k_.nests[nest].parallel;
    return nest_vector_[nest] >= 0 && std::find(columns.begin(), columns.end(), nest_vector_[nest]) != columns.end() &&
           shared_loads(nest, nest_vector_[nest]) > 0 && shared_loads(nest, rows) > 0;
  }
  /// The costliest nest that multiplies rows by a matrix, where such nests cost more than the others together: all nests then run several
  /// rows side by side, as a matmul of two stored matrices does. -1: there is none.
  int matmul_of_rows() const {
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

  void unroll() {
    int matmul = matmul_of_rows();
    bool squares = false;
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
    if (!repeats) lanes.unroll = std::max(by_work(all, lanes), columns);
    if (repeats) {
      lanes.unroll = all < target_.some_work && size(lanes.dim) >= 2 * schedule_.lanes ? 2 : 1;
      if (counts_loops(k_)) lanes.unroll = std::max(lanes.unroll, side_by_side(lanes));
    }
  }
  /// Vectors that go through counted loops side by side, as an iteration of one waits for its last, and the others need not: as many as
  /// hold their carried values in half of the registers.
  int side_by_side(const LoopPlan& lanes) const {
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
  /// Rows that are reduced and then read again: several are computed side by side if a row has few vectors, so that the latency of its
  /// reduction is not hidden.
  void take_rows_together() {
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
  /// Columns of a matrix that are gone through several times: so many vectors side by side that a good piece of each row is read at a time,
  /// as far as their scratch memory stays in the second cache.
  int columns_together() const {
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
  /// Where some access is contiguous along another outer loop than the lanes, that loop is unrolled as far as there are lanes: squares of
  /// elements are transposed in registers. Where memory is far, the innermost loop is the one along which more is read in order: what is
  /// written a cache line here and there need not be awaited.
  bool transpose_squares() {
    const std::int64_t lanes = schedule_.lanes;
    if (k_.nests.size() != 1 || schedule_.vector_dim < 0 || !k_.nests[0].repeats.empty() || !k_.nests[0].parallel.empty() ||
        !k_.nests[0].reduce.empty())
      return false;
    if (static_cast<std::int64_t>(nodes_[0].size()) * lanes > static_cast<std::int64_t>(target_.square_nodes) ||
        size(schedule_.vector_dim) < lanes)
      return false;
    int other = -1, loads = 0;
    const auto look = [&](NodeId position, bool is_load) {
      std::int64_t along = 0, s = 0;
      if (!k_.dag.stride(position, schedule_.vector_dim, along) || (along >= -1 && along <= 2)) return;
      for (const LoopPlan& l : schedule_.outer)
        if (!l.vector && size(l.dim) >= lanes && k_.dag.stride(position, l.dim, s) && s == 1) other = l.dim, loads += is_load;
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
    std::vector<LoopPlan> loops;
    for (const LoopPlan& l : schedule_.outer)
      if (l.dim != other && !l.vector) loops.push_back(l);
    loops.push_back({schedule_.vector_dim, 1, true});
    loops.insert(loops.end() - (loads > along_lanes && k_.cost.bytes >= target_.beyond_caches ? 0 : 1),
                 {other, static_cast<int>(lanes), false});
    schedule_.outer = std::move(loops);
    return true;
  }

  double work(std::size_t nest) const {
    double w = 0;
    for (NodeId id : nodes_[nest]) w += node_cost(k_.dag[id]);
    return w;
  }
  int by_work(double w, const LoopPlan& l) const {
    return static_cast<int>(std::clamp<std::int64_t>(size(l.dim) / schedule_.lanes, 1,
                                                     w < target_.light_work  ? 4
                                                     : w < target_.some_work ? 2
                                                                             : 1));
  }

  void plan_tasks() {
    if (k_.division.loop >= 0) return divide_rows(k_, target_, schedule_);
    const double total = std::max(k_.cost.cycles, 1.0);
    // The unit of a loop is what one pass of its unrolled body takes.
    std::int64_t units = 1;
    std::vector<std::int64_t> unit;
    for (const LoopPlan& l : schedule_.outer) unit.push_back(static_cast<std::int64_t>(l.unroll) * (l.vector ? schedule_.lanes : 1));
    for (std::size_t i = 0; i < schedule_.outer.size(); ++i) {
      const std::int64_t n = (size(schedule_.outer[i].dim) + unit[i] - 1) / unit[i];
      schedule_.task_loops = static_cast<int>(i) + 1;
      schedule_.block.push_back(unit[i]);
      schedule_.blocks.push_back(n);
      units *= n;
      if (units >= target_.enough_blocks) break;
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

  const Kernel& k_;
  const Target target_;
  const int vector_bytes_;
  const int vector_loop_;                   ///< the outer loop that is run by vectors; -1: whichever costs least, or none
  std::vector<std::vector<NodeId>> nodes_;  // of each nest
  Schedule schedule_;
  std::vector<int> nest_vector_;
  double total_cost_ = 0;
};

}  // namespace

Schedule make_schedule(const Kernel& k, int vector_bytes) { return Scheduler(k, Target{.vector_bytes = vector_bytes}).run(); }
Schedule make_schedule(const Kernel& k, const Target& target, int vector_loop) { return Scheduler(k, target, vector_loop).run(); }

}  // namespace weft::detail
