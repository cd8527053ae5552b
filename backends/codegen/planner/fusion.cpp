// Which values are stored, and which are fused into their readers: computed anew wherever they are read.
//
// Takes a program in which what must be in memory is a root. Makes further roots of values whose elements would be computed so often, over
// all points of the loop nests that read them, that storing and reading them costs less.
#include <algorithm>
#include <array>

#include "weft/backends/codegen/planner/planner.h"
#include "weft/backends/codegen/schedule/cost.h"
#include "weft/backends/codegen/schedule/records.h"
#include "weft/core/ir/rules.h"
#include "weft/core/ops/movement/gather.h"
#include "weft/core/ops/movement/movement.h"

namespace weft::detail {
namespace {

constexpr double kCheapGathered = 1;     // as kCheap, for values that are read at computed positions
constexpr double kPositionedGather = 1;  // the cost of a gather whose positions are affine sums of counters, such as windows
constexpr std::size_t kMostNests = 2;    // the nests that compute a value are told apart up to this number

/// The movement of an operation with one operand and one result.
std::optional<Movement> only_movement(const JaxprData& j, const Eqn& e) {
  if (e.op->kind != Kind::movement || e.inputs.size() != 1 || e.outputs.size() != 1) return {};
  return e.op->movement(*e.params, std::array{j.aval(e.inputs[0])}, j.avals[e.outputs[0]], 0);
}

/// Movements that take a part of their operand, of which other parts may be read through other equations.
bool takes_part(const JaxprData& j, const Eqn& e) {
  const std::optional<Movement> m = only_movement(j, e);
  if (!m || m->reshape) return false;
  for (std::size_t d = 0; d < m->dims.size(); ++d)
    if (const MovementDim& dim = m->dims[d];
        dim.out_dim >= 0 && dim.modulus == 0 && j.avals[e.outputs[0]].shape[dim.out_dim] < j.aval(e.inputs[0]).shape[static_cast<int>(d)])
      return true;
  return false;
}

/// How many neighbouring elements of the result, along its last dimension, have the same element of this operand: pixels of a few
/// channels, whose places are computed once for a pixel. 1, if they are too many for a kernel that runs them side by side.
double shared_along_record(const JaxprData& j, const Eqn& e, std::size_t operand) {
  if (e.outputs.size() != 1) return 1;
  const Shape& all = j.avals[e.outputs[0]].shape;
  const int last = static_cast<int>(all.size()) - 1;
  if (last < 0 || all[last] < 2 || all[last] > kLongestRecord) return 1;
  if (const auto windows_of = find_rule<ReadsWindowsAt>(*e.op); windows_of && operand == 1) {
    const std::vector<int>& windows = windows_of(*e.params);
    return std::find(windows.begin(), windows.end(), last) != windows.end() ? static_cast<double>(all[last]) : 1;
  }
  const std::optional<Movement> m = only_movement(j, e);
  if (!m || m->reshape || std::any_of(m->dims.begin(), m->dims.end(), [&](const MovementDim& d) { return d.out_dim == last; })) return 1;
  return static_cast<double>(all[last]);
}

/// The loop nests into which a value would be fused.
struct Nests {
  std::vector<Var> roots;  ///< at most kMostNests of them
  double points = 0;       ///< at how many points, of all nests together, an element is computed
  bool gathered = false;   ///< whether elements are read at computed positions, where each operand's is a cache line of its own

  /// The nest of `root` computes an element at so many points. What one nest reads through different slices (`anew`) it computes for each.
  void add(Var root, double more, bool anew) {
    const bool is_new = std::find(roots.begin(), roots.end(), root) == roots.end();
    if (is_new && roots.size() < kMostNests) roots.push_back(root);
    if (is_new || anew) points += more;
  }
};

}  // namespace

bool keeps_order(const JaxprData& j, const Eqn& e) {
  const std::optional<Movement> m = only_movement(j, e);
  return m && (m->reshape || keeps_order(*m, j.aval(e.inputs[0]).shape, j.avals[e.outputs[0]].shape));
}

void KernelPlanner::choose_roots() {
  estimate_own_costs();
  cut_deep_values();
  estimate_costs();
  stored_unless_partitioned_.assign(avals_.size(), 0);
  std::vector<Nests> nests(avals_.size());
  std::vector<char> chosen(avals_.size());
  // Readers come before what they read.
  for (std::size_t i = j_.eqns.size(); i-- > 0;) {
    const Eqn& e = j_.eqns[i];
    for (Var v : e.outputs)
      if (!is_root_[v] && injective_[i]) {
        choose_root(v, i, nests[v].roots.size() >= kMostNests, nests[v].points, nests[v].gathered);
        chosen[v] = is_root_[v] && !nests[v].gathered;
      }
    const bool is_scatter = is_kernel_scatter(e);
    if (is_scatter && stores_updates(e)) is_root_[e.inputs[2].var()] = 1;
    if (e.outputs.empty()) continue;
    const Var result = e.outputs[0];
    const bool anew = takes_part(j_, e);
    for (std::size_t k = 0; k < e.inputs.size(); ++k) {
      if (e.inputs[k].is_literal()) continue;
      Nests& n = nests[e.inputs[k].var()];
      if (!injective_[i]) {
        // A scatter reads its indices and updates once for each update.
        double points = static_cast<double>(j_.aval(e.inputs[is_scatter && k > 0 ? 2 : 0]).size());
        if (e.op->reduces == Reduces::contraction) points *= static_cast<double>(j_.aval(e.inputs[1]).size());
        n.add(result, points, false);
        continue;
      }
      n.gathered |= (k == 0 && find_rule<ReadsWindowsAt>(*e.op) && own_cost_[i] > kPositionedGather) ||
                    (e.op->kind == Kind::movement && !is_root_[result] && nests[result].gathered);
      const double shared = shared_along_record(j_, e, k);
      for (Var v : e.outputs) {
        if (is_root_[v])
          n.add(v, static_cast<double>(avals_[v].size()) / shared, anew);
        else
          for (Var r : nests[v].roots) n.add(r, nests[v].points / static_cast<double>(nests[v].roots.size()) / shared, anew);
      }
    }
  }
  std::vector<double> points;
  for (const Nests& n : nests) points.push_back(n.points);
  fuse_cheap_functions(chosen, points);
}

/// Of two stored values of which one is a cheap function of the other, that one is fused again: its readers compute it from what is stored.
/// `points` is at how many points they do. Values that are moved stay, as their readers may go through memory in another order.
void KernelPlanner::fuse_cheap_functions(const std::vector<char>& chosen, const std::vector<double>& points) {
  // What a value is computed from that is stored and not far smaller: a variable, or none, or several or what moves elements.
  constexpr std::int64_t kNone = -1, kOthers = -2;
  constexpr std::int64_t kFarSmaller = 8, kCached = 64 << 10;  // bytes that are read from a cache as fast as they are computed
  std::vector<std::int64_t> source(avals_.size(), kOthers);
  for (std::size_t v = 0; v < avals_.size(); ++v)
    if (is_root_[v]) source[v] = static_cast<std::int64_t>(v);
  std::vector<char> is_read_elsewhere(avals_.size());  // by what is not elementwise and no reduction
  for (const Eqn& e : j_.eqns)
    for (Atom a : e.inputs)
      if (!a.is_literal() && e.op->kind != Kind::elementwise && e.op->kind != Kind::reduce) is_read_elsewhere[a.var()] = 1;
  std::vector<double> cost(avals_.size());
  for (std::size_t i = 0; i < j_.eqns.size(); ++i) {
    const Eqn& e = j_.eqns[i];
    if (!injective_[i] || e.outputs.size() != 1) continue;
    const Var v = e.outputs[0];
    std::int64_t from = kNone;
    double sum = own_cost_[i];
    for (Atom a : e.inputs) {
      if (a.is_literal()) continue;
      const bool is_small = e.op->kind == Kind::movement && j_.aval(a).size() * kFarSmaller <= avals_[v].size();
      const std::int64_t one = is_small ? kNone : e.op->kind == Kind::elementwise ? source[a.var()] : kOthers;
      from = from == kNone || from == one ? one : one == kNone ? from : kOthers;
      sum += cost[a.var()];
    }
    const double elements = static_cast<double>(std::max<std::int64_t>(avals_[v].size(), 1));
    if (chosen[v] && !is_read_elsewhere[v] && avals_[v].size() * avals_[v].dtype.itemsize() > kCached && from != kOthers &&
        sum * points[v] <= kCheap * elements)
      is_root_[v] = 0;
    if (!is_root_[v]) source[v] = from, cost[v] = sum;
  }
}

/// The cost of an element of each equation's result, its operands aside.
void KernelPlanner::estimate_own_costs() {
  std::vector<char> of_positions(avals_.size());  // values that are the same expression of the position in every call: sums of counters
  for (std::size_t i = 0; i < j_.eqns.size(); ++i) {
    if (!injective_[i]) continue;
    const Eqn& e = j_.eqns[i];
    const auto known = [&](Atom a) { return a.is_literal() || of_positions[a.var()]; };
    if (own_cost_[i] < 0) own_cost_[i] = find_rule<ReadsWindowsAt>(*e.op) && known(e.inputs[1]) ? kPositionedGather : equation_cost(j_, e);
    if (e.op->kind == Kind::iota ||
        ((e.op->kind == Kind::elementwise || e.op->kind == Kind::movement) && std::all_of(e.inputs.begin(), e.inputs.end(), known)))
      for (Var v : e.outputs) of_positions[v] = avals_[v].dtype.is_integer();
  }
}

/// The cost of an element of each value that is not stored, with all that it is computed from.
void KernelPlanner::estimate_costs() {
  for (std::size_t i = 0; i < j_.eqns.size(); ++i) {
    const Eqn& e = j_.eqns[i];
    if (!injective_[i]) continue;
    const double times = e.op->reduces == Reduces::total ? static_cast<double>(reduced_elements(j_, e)) : 1;
    double cost = own_cost_[i] * times;
    for (Atom a : e.inputs)
      if (!a.is_literal() && !is_root_[a.var()]) cost += times * cost_[a.var()];
    if (is_tuple(j_, e)) cost /= static_cast<double>(e.inputs.size());
    for (Var v : e.outputs) cost_[v] = std::min(cost, 1e9);
  }
}

/// Makes a root of the value, a result of this equation, if its elements would be computed too often: by several nests, or at more points
/// than it has elements.
void KernelPlanner::choose_root(Var v, std::size_t eqn, bool several_nests, double points, bool gathered) {
  const Eqn& e = j_.eqns[eqn];
  if (keeps_order(j_, e) || is_tuple(j_, e)) return;
  const double size = std::max<double>(1, static_cast<double>(avals_[v].size()));
  const double recomputed = cost_[v] * (1 - std::min(1.0, size / std::max(points, 1.0)));
  if (cost_[v] > kCheap && (several_nests || recomputed > kCheap)) (is_moved_[v] ? stored_unless_partitioned_ : is_root_)[v] = 1;
  if (gathered && own_cost_[eqn] > 0 && recomputed > kCheapGathered) is_root_[v] = 1;
}

}  // namespace weft::detail
