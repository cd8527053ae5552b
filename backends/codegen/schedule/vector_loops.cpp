// Which loop runs by vectors: the one with the least cost, over all nests if it is an outer loop.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "weft/backends/codegen/schedule/records.h"
#include "weft/backends/codegen/schedule/scheduler.h"

namespace weft::detail {

bool Scheduler::reads_squares(const Nest& t, NodeId position, int vector) const {
  std::int64_t along = 0, s = 0;
  if (std::find(k_.outer.begin(), k_.outer.end(), vector) == k_.outer.end() ||
      points_along(k_, k_.dag[position].dims) < target_.transposed_points)
    return false;
  if (t.reduce.empty() || is_running(t) || runs_singly(t.reduce.back()) || size(t.reduce.back()) < schedule_.lanes) return false;
  if (!k_.dag.stride(position, vector, along) || (along >= -1 && along <= 2)) return false;
  return k_.dag.stride(position, t.reduce.back(), s) && s == 1;
}

bool Scheduler::maps_squares(std::size_t nest, NodeId position, int vector) const {
  return nodes_[nest].size() * static_cast<std::size_t>(schedule_.lanes) <= target_.square_nodes &&
         points_along(k_, k_.dag[position].dims) >= target_.transposed_points &&
         detail::maps_squares(k_, nest, position, vector, schedule_.lanes);
}

bool Scheduler::maps_squares(std::size_t nest) const {
  if (schedule_.vector_dim < 0) return false;
  const std::vector<Access> all = accesses(k_, k_.nests[nest]);
  return std::any_of(all.begin(), all.end(), [&](const Access& a) {
    return !k_.args[static_cast<std::size_t>(a.arg)].scratch && (a.load < 0 || k_.dag[a.load].operands[1] < 0) &&
           maps_squares(nest, a.position, schedule_.vector_dim);
  });
}

bool Scheduler::is_looked_up(NodeId load, int vector) const {
  if (load < 0) return false;
  const std::optional<GatheredRow> row = whole_row(k_, load, vector);
  return row && row->elements * k_.dag[load].dtype.itemsize() <= target_.looked_up_bytes();
}

double Scheduler::cost(std::size_t nest, int vector) const {
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

void Scheduler::choose_vector_loops() {
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
  if (schedule_.vector_dim >= 0) nest_vector_.assign(n, -1);
}

}  // namespace weft::detail
