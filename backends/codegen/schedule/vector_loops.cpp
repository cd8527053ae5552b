// Which loop runs by vectors: the one with the least cost, over all nests if it is an outer loop.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "weft/backends/codegen/schedule/records.h"
#include "weft/backends/codegen/schedule/scheduler.h"

namespace weft::detail {
namespace {

constexpr double kNumber = 0.4;  // the cost of an instruction on one integer: processors do several in a cycle

}  // namespace

bool Scheduler::reads_squares(const Nest& t, NodeId position, int vector) const {
  if (contains(t.reduce, vector) || points_along(k_, k_.dag[position].dims) < target_.transposed_points) return false;
  if (t.reduce.empty() || runs_singly(t.reduce.back()) || size(t.reduce.back()) < schedule_.lanes) return false;
  return square_direction(k_, position, vector, t.reduce.back()) != 0;
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

bool Scheduler::is_decided_in_records(NodeId guard) const {
  for (std::size_t d = 0; d < k_.dag.dims.size(); ++d)
    if ((k_.dag[guard].dims >> d & 1) && (k_.dag.dims[d] > kLongestRecord || !contains(k_.outer, static_cast<int>(d)))) return false;
  return true;
}

bool Scheduler::flattens_records(const Nest& t, int vector) const {
  Schedule s;
  std::int64_t along = 0;
  if (t.stores.empty() || size(vector) < schedule_.lanes || !k_.dag.stride(t.stores[0].position, vector, along)) return false;
  s.vector_dim = vector, s.record_dims = record_loops(k_, t, t.stores[0].position, vector, along);
  return can_flatten_records(k_, s);
}

double Scheduler::cost(std::size_t nest, int vector) const {
  const Nest& t = k_.nests[nest];
  const double lanes = schedule_.lanes;
  // The cost of an instruction for a vector.
  const double each = vector < 0 ? 1 : target_.instruction(schedule_.lanes * lane_bytes_);
  const bool by_outer = contains(k_.outer, vector), flat = by_outer && flattens_records(t, vector);
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
    const bool is_store = load < 0, is_scratch = k_.args[static_cast<std::size_t>(arg)].scratch;
    if (is_scratch && by_outer) return each;
    if (vector < 0 || !(dims >> vector & 1)) return 1.0;
    // Lanes take as long whatever they hold; the cost of a load counts elements of 8 bytes twice.
    const double gathered = lanes * target_.gathered_lane / (load >= 0 && k_.dag[load].dtype.itemsize() == 8 ? 2 : 1);
    std::int64_t stride = 0;
    if (!k_.dag.stride(position, vector, stride)) return is_looked_up(load, vector) ? each : gathered;
    if (stride == 1 || stride == 0) return each;
    if (stride == -1) return 1.5 * each;
    if (const std::int64_t n = record_of(k_, t, position, vector, stride); n > 0 && (!is_store || n == stride))
      return flat ? each : static_cast<double>(std::abs(stride)) * each;
    if (stride == 2) return 3 * each;
    // Lanes a few elements apart are shuffled from whole vectors.
    if (!is_store && !is_scratch && std::abs(stride) <= kLongestRecord && !k_.args[static_cast<std::size_t>(arg)].written &&
        (k_.dag[load].operands[1] < 0 || is_decided_in_records(k_.dag[load].operands[1])))
      return static_cast<double>(std::abs(stride)) * each;
    if ((is_store || k_.dag[load].operands[1] < 0) && maps_squares(nest, position, vector)) return (1 + std::log2(lanes)) * each;
    // In nests of their own squares only replace gathers: reducing along lanes was up to 1.4 times as fast where both were possible.
    if (!is_store && by_outer && reads_squares(t, position, vector)) {
      const auto all = static_cast<double>(size(t.reduce.back())), transposed = lanes * std::floor(all / lanes);
      return (transposed * (1 + std::log2(lanes)) * each + (all - transposed) * gathered) / all;
    }
    // Lanes that share lines of the cache are read sooner than those in lines of their own, and these than those in far rows.
    const std::int64_t apart = std::abs(stride) * k_.args[static_cast<std::size_t>(arg)].dtype.itemsize();
    const double distance = apart < target_.line_bytes ? 1 : apart < target_.far_row ? 1.1 : 1.3;
    return distance * (is_store ? lanes * 1.2 : gathered);
  };
  double total = 0;
  for (NodeId id : nodes_[nest]) {
    const Node& n = k_.dag[id];
    const bool is_vector = vector >= 0 && (n.dims >> vector & 1);
    double c = node_cost(n) * (is_vector ? each : vector >= 0 && !n.dtype.is_inexact() ? kNumber : 1);
    if (n.kind == NodeKind::load) c = node_cost(n) * access(n.operands[0], static_cast<int>(n.integer), n.dims, id);
    total += c * trips(n.dims);
  }
  for (const Store& s : t.stores) total += 2 * trips(k_.dag[s.position].dims) * access(s.position, s.arg, k_.dag[s.position].dims, -1);
  double inner = 1, outer = 1;
  for (int d : k_.outer) outer *= d == vector ? std::ceil(static_cast<double>(size(d)) / lanes) : static_cast<double>(size(d));
  for (int d : t.parallel) outer *= d == vector ? std::ceil(static_cast<double>(size(d)) / lanes) : static_cast<double>(size(d));
  for (int d : t.reduce) inner *= d == vector ? std::ceil(static_cast<double>(size(d)) / lanes) : static_cast<double>(size(d));
  const bool across = std::find(t.reduce.begin(), t.reduce.end(), vector) != t.reduce.end();
  for (const Reduction& r : t.reductions) {
    const double along_lanes = across ? 3 * std::log2(lanes) : 0;
    total += each * (outer * inner * (r.kind == Reduction::Kind::reduce ? 1 : 4) + (r.running ? inner : 1) * outer * along_lanes);
  }
  return total + outer * inner * 0.5;
}

double Scheduler::find_vector_loops() {
  const std::size_t n = k_.nests.size();
  nest_vector_.assign(n, -1), schedule_.vector_dim = -1;
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
  return best;
}

bool Scheduler::may_narrow() const {
  // Mathematical functions have other formulas for narrow vectors, and loops with varying trip counts wait for the slowest lane anyway.
  for (const std::vector<NodeId>& nodes : nodes_)
    if (std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return k_.dag[id].kind == NodeKind::math; })) return false;
  return std::all_of(k_.nests.begin(), k_.nests.end(), [&](const Nest& t) { return t.repeats.empty() && !is_running(t); });
}

void Scheduler::choose_vector_loops() {
  nest_vector_.assign(k_.nests.size(), -1);
  if (schedule_.lanes <= 1) return;
  double best = find_vector_loops();
  if (!may_narrow()) return;
  // Short loops fill narrow vectors better. What is one vector either way is the narrower one; else it must be worth it.
  const int widest = schedule_.lanes;
  for (int lanes = widest / 2; lanes >= 2 && lanes * lane_bytes_ >= target_.narrowest_vector; lanes /= 2) {
    const std::vector<int> of_nests = nest_vector_;
    const int of_outer = schedule_.vector_dim, before = schedule_.lanes;
    schedule_.lanes = lanes;
    const double total = find_vector_loops();
    std::int64_t longest = 0;
    for (int d : nest_vector_)
      if (d >= 0) longest = std::max(longest, size(d));
    if (schedule_.vector_dim >= 0) longest = size(schedule_.vector_dim);
    if (total <= (longest <= lanes ? 1 : kNarrower) * best) {
      best = total;
      continue;
    }
    nest_vector_ = of_nests, schedule_.vector_dim = of_outer, schedule_.lanes = before;
  }
}

}  // namespace weft::detail
