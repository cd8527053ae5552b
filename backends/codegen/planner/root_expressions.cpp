// Builds the expression of each root by itself, with its reads and cost, and splits expressions that are too large for a kernel. Takes the
// roots that choose_roots made; gives their graphs and reads, and additional values marked as roots.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "weft/backends/codegen/planner/planner.h"
#include "weft/backends/codegen/schedule/cost.h"
#include "weft/backends/codegen/schedule/loop_partitioning.h"

namespace weft::detail {
namespace {

constexpr std::size_t kMaxNodes = 2000;  // of one root's expression
constexpr double kRepeated = 40;         // recomputing this much for each element costs more than storing and reading it
constexpr std::int64_t kMinPart = 8;     // the shortest loop that is split from a longer row

/// Records what a root's expression reads.
class RecordingReader final : public LeafReader {
 public:
  RecordingReader(const std::vector<char>& is_root, const std::vector<Aval>& avals, Dag& dag, Root& root)
      : is_root_(is_root), avals_(avals), dag_(dag), root_(root) {}
  bool is_leaf(Var v) override { return is_root_[v] != 0; }
  KernelValue read(Var v, std::span<const NodeId> at, NodeId guard) override {
    std::vector<NodeId> coords(at.begin(), at.end());
    const auto [first, last] = known_.equal_range(v);
    if (std::none_of(first, last, [&](const auto& k) { return root_.reads[k.second].coords == coords; })) {
      known_.emplace(v, root_.reads.size());
      root_.reads.push_back({v, coords});
    }
    const Aval& a = avals_[v];
    const NodeId position = row_major_position(dag_, a.shape, coords);
    if (!a.dtype.is_complex()) return dag_.load(static_cast<int>(v), a.dtype, position, guard);
    const DType part = a.dtype.real_part();
    const NodeId re = dag_.scale(position, 2);
    return dag_.complex(dag_.load(static_cast<int>(v), part, re, guard), dag_.load(static_cast<int>(v), part, dag_.offset(re, 1), guard));
  }

 private:
  const std::vector<char>& is_root_;
  const std::vector<Aval>& avals_;
  Dag& dag_;
  Root& root_;
  std::unordered_multimap<Var, std::size_t> known_;  // the numbers of a variable's reads
};

}  // namespace

/// In a program with expressions that are too deep, all values of one level, half of the allowed depth, become roots, so that the levels
/// above are computed from them alone.
void KernelPlanner::cut_deep_values() {
  std::vector<int> depth(avals_.size());
  const auto deepest = [&](bool cut) {
    int most = 0;
    for (std::size_t i = 0; i < j_.eqns.size(); ++i) {
      if (!injective_[i]) continue;
      int below = 0;
      for (Atom a : j_.eqns[i].inputs)
        if (!a.is_literal() && !is_root_[a.var()]) below = std::max(below, depth[a.var()]);
      for (Var v : j_.eqns[i].outputs) {
        depth[v] = below + 1;
        if (cut && depth[v] >= Expressions::kMaxDepth / 2 && own_cost_[i] > 0 && avals_[v].size() != 0) is_root_[v] = 1;
      }
      most = std::max(most, below + 1);
    }
    return most;
  };
  if (deepest(false) > Expressions::kMaxDepth) deepest(true);
}

/// Builds the expressions of all roots. A root keeps what an earlier pass built for it if nothing in that became a root since: the passes
/// over a long program then cost what changes, not all of it.
void KernelPlanner::build_roots() {
  cut_.clear();
  for (Root& r : roots_)
    if (!take_built(r)) {
      const Root plain = r;
      build_alone(r);
      keep_built(plain, r);
    }
  for (Root& r : roots_) {
    Built& built = built_.at(r.var);
    store_unless_partitioned(built);
    r.unconditional = built.root.unconditional;
  }
  cut_values();
}

/// Values that only move elements stay fused into the root that reads them if loop partitioning leaves its kernel without conditions; else
/// they become roots.
void KernelPlanner::store_unless_partitioned(Built& built) {
  Root& r = built.root;
  // An expression of which a part became a root is built again.
  if (std::any_of(built.computed.begin(), built.computed.end(), [&](Var v) { return is_root_[v] != 0; })) return;
  std::vector<Var> choices;
  for (const Var v : built.computed)
    if (stored_unless_partitioned_[v]) choices.push_back(v);
  if (choices.empty()) return;
  if (!r.unconditional) r.unconditional = partitions_without_conditions(r);
  if (*r.unconditional) return;
  for (const Var v : outermost_moved(r, choices)) is_root_[v] = 1;
}

/// The value that this one takes its elements from, through movements that do not choose between operands.
Var KernelPlanner::moved_from(Var v) const {
  for (Var source = v; !is_root_[source];) {
    const Eqn& e = j_.eqns[static_cast<std::size_t>(defined_by_[source])];
    if (e.inputs.size() != 1) return source;
    if (!e.op->movement || e.inputs[0].is_literal()) break;
    source = e.inputs[0].var();
  }
  return v;
}

/// Of values that a root's expression computes by moving elements, those to store: not what is moved further to another one of them, whose
/// own loops may be partitioned. Each element is then moved once.
std::vector<Var> KernelPlanner::outermost_moved(const Root& r, std::span<const Var> values) const {
  std::set<Var> wanted;
  for (const Var v : values) wanted.insert(moved_from(v));
  if (wanted.empty()) return {};
  std::vector<Var> outermost;
  std::set<Var, std::greater<>> computed;  // from the root on, readers before what they read
  const auto reads = [&](int eqn) {
    for (Atom a : j_.eqns[static_cast<std::size_t>(eqn)].inputs)
      if (!a.is_literal() && !is_root_[a.var()]) computed.insert(a.var());
  };
  for (reads(r.eqn); !computed.empty();) {
    const Var v = *computed.begin();
    computed.erase(computed.begin());
    if (wanted.contains(v))
      outermost.push_back(v);
    else
      reads(defined_by_[v]);
  }
  return outermost;
}

bool KernelPlanner::take_built(Root& r) {
  const auto found = built_.find(r.var);
  if (found == built_.end()) return false;
  const Root& plain = found->second.plain;
  if (plain.kind != r.kind || plain.stage != r.stage || plain.partial != r.partial || plain.chunk != r.chunk || plain.rows != r.rows ||
      plain.partitioned != r.partitioned || plain.parallel != r.parallel || plain.reduce != r.reduce)
    return false;
  const std::vector<Var>& computed = found->second.computed;
  if (std::any_of(computed.begin(), computed.end(), [&](Var v) { return is_root_[v] != 0; })) return false;
  r = found->second.root;
  return true;
}

void KernelPlanner::keep_built(const Root& plain, const Root& built) { built_[built.var] = {plain, built, std::move(computed_)}; }

/// Builds the root's expression on its own. What is too large is cut until it is not; what is cut off is left to cut_values.
void KernelPlanner::build_alone(Root& r) {
  while (!try_build(r)) {
  }
}

/// Splits the cut-off parts further right away: otherwise each pass over all roots would split a chain of operations in one place only.
void KernelPlanner::cut_values() {
  while (!cut_.empty()) {
    const Var v = cut_.back();
    cut_.pop_back();
    Root r = map_root(v);
    const Root plain = r;
    build_alone(r);
    keep_built(plain, r);
  }
}

/// Marks values of an expression that is too large as roots, so that each attempt to build it takes off a good part of it, whatever its
/// form: then all attempts together take time in proportion to the program.
///  - A value that is computed at several places is stored, that which costs most.
///  - Of a deep expression, that was not computed to its end, it is the value in the middle of the path.
///  - Else the largest parts that are at most half of it and do not contain one another.
/// False: no value can be stored.
bool KernelPlanner::cut_expression(const Root& r, const Expressions& expressions, std::size_t nodes) {
  const auto store = [&](Var v) {
    is_root_[v] = 1;
    cut_.push_back(v);
  };
  const auto can_be_stored = [&](Var v) { return !is_root_[v] && avals_[v].size() != 0 && cost_[v] > 0; };
  Var repeated = 0;
  double most = 0;
  for (const auto& [v, times] : expressions.evaluations())
    if (times > 1 && can_be_stored(v) && cost_[v] * (times - 1) > most) most = cost_[v] * (times - 1), repeated = v;
  if (most > 0 && is_moved_[repeated]) {
    std::vector<Var> moved;
    for (const auto& [v, times] : expressions.evaluations())
      if (times > 1 && is_moved_[v] && can_be_stored(v)) moved.push_back(v);
    for (const Var v : outermost_moved(r, moved)) store(v);
    return true;
  }
  if (most > 0) {
    store(repeated);
    return true;
  }
  const std::vector<Expressions::Extent>& extents = expressions.extents();
  if (nodes <= kMaxNodes) {
    std::vector<Var> path;
    for (const Expressions::Extent& e : extents)
      if (e.end == 0) path.push_back(e.var);
    const double middle = static_cast<double>(path.size()) / 2;
    std::optional<Var> best;
    double least = 0;
    for (std::size_t i = 0; i < path.size(); ++i) {
      if (!can_be_stored(path[i])) continue;
      // Doubling the size counts as much as an eighth of the path's length.
      const double size = std::log2(std::max(1.0, static_cast<double>(avals_[path[i]].size()) / r.points()));
      const double penalty = std::abs(static_cast<double>(i) - middle) / middle + size / 4;
      if (!best || penalty < least) best = path[i], least = penalty;
    }
    if (best) store(*best);
    return best.has_value();
  }
  const auto length = [&](const Expressions::Extent& e) { return (e.end == 0 ? nodes : e.end) - e.begin; };
  std::size_t largest = 0;
  for (const Expressions::Extent& e : extents)
    if (can_be_stored(e.var) && 2 * length(e) <= nodes) largest = std::max(largest, length(e));
  bool found = false;
  std::size_t behind = 0;  // nodes before this one are in parts that are stored
  for (const Expressions::Extent& e : extents) {
    if (!can_be_stored(e.var) || e.begin < behind || 2 * length(e) > nodes || 2 * length(e) < largest) continue;
    store(e.var);
    behind = e.begin + std::max<std::size_t>(length(e), 1);
    found = true;
  }
  return found;
}

/// An equation's result as a root that is computed element by element.
Root KernelPlanner::map_root(Var v) const {
  Root r;
  r.var = v, r.eqn = defined_by_[v];
  for (int d = 0; d < avals_[v].ndim(); ++d)
    if (avals_[v].shape[d] != 1) r.parallel.push_back({d, avals_[v].shape[d], 1});
  return r;
}

/// Whether loop partitioning leaves the kernel of this root alone without conditions.
bool KernelPlanner::partitions_without_conditions(const Root& r) const {
  const Aval& aval = avals_[r.var];
  if (!target_.partitions_loops || r.kind != Root::Kind::map || aval.dtype.is_complex()) return false;
  Kernel k;
  k.dag = *r.dag;
  for (std::size_t d = 0; d < r.parallel.size(); ++d) k.outer.push_back(static_cast<int>(d));
  const NodeId position = row_major_position(k.dag, aval.shape, root_coords(r, aval, k.dag, k.outer, {}, j_));
  k.args.push_back({aval.dtype, aval.size(), false, true});
  k.nests.emplace_back();
  k.nests[0].stores.push_back({0, position, r.value.id});
  return detail::partitions_without_conditions(std::move(k));
}

/// False: the expression was too large; one of its values is a root from now on.
bool KernelPlanner::try_build(Root& r) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    r.reads.clear();
    r.dag = std::make_shared<Dag>();
    Dag& dag = *r.dag;
    std::vector<int> parallel, reduce;
    for (const Root::Dim& d : r.parallel) parallel.push_back(dag.add_dim(d.size));
    for (std::int64_t s : r.reducing_loops()) reduce.push_back(dag.add_dim(s));
    RecordingReader leaves(is_root_, avals_, dag, r);
    Expressions expressions(j_, defined_by_, dag, leaves, kMaxNodes);
    std::vector<DType> locals;
    r.unconditional.reset();
    try {
      r.value = build_root({j_, avals_, expressions, leaves, dag, locals}, r, {parallel, reduce}).value;
    } catch (const ExpressionTooLarge&) {
      if (!cut_expression(r, expressions, dag.nodes.size()))
        throw CompileError("codegen: an expression is too large to compile: " +
                           std::string(j_.eqns[static_cast<std::size_t>(r.eqn)].op->name));
      return false;
    }
    computed_.clear();
    for (const auto& [v, times] : expressions.evaluations()) computed_.push_back(v);
    // Values that are computed several times for each point are better stored once, unless it is a choice that no part of the kernel has
    // to make. What is computed of a choice costs less once that is stored, which another pass sees.
    std::vector<Var> moved, computed;
    for (const auto& [v, times] : expressions.evaluations()) {
      const double size = static_cast<double>(avals_[v].size()), needed = std::max(1.0, size / r.points());
      if (defined_by_[v] >= 0 && is_tuple(j_, j_.eqns[static_cast<std::size_t>(defined_by_[v])])) continue;  // each time another part
      if (times > 1 && !is_root_[v] && cost_[v] * (times - needed) > kRepeated && size > 1 && size <= 4 * r.points()) {
        if (!r.unconditional) r.unconditional = partitions_without_conditions(r);
        if (*r.unconditional) continue;
        (is_moved_[v] ? moved : computed).push_back(v);
      }
    }
    std::vector<Var> stored = outermost_moved(r, moved);
    if (stored.empty()) stored = std::move(computed);
    for (const Var v : stored) is_root_[v] = 1;
    r.cycles_per_point = 0;
    for (const Node& n : dag.nodes) r.cycles_per_point += node_cost(n);
    r.cycles_per_point = std::max(0.05, r.cycles_per_point / 16);  // kernels are the same for all machines
    if (attempt == 3) return true;
    const std::size_t loops = r.parallel.size();
    split_for_reshapes(r);
    if (r.parallel.size() == loops) return true;
  }
  return true;
}

/// A quotient or remainder by a divisor of a loop's size disappears when the loop is split in two, if the others move by its multiples.
void KernelPlanner::split_for_reshapes(Root& r) {
  const Dag& dag = *r.dag;
  if (r.parallel.size() + r.reduce.size() > 12 || r.partitioned) return;
  for (const Node& n : dag.nodes) {
    if (n.kind != NodeKind::index_div && n.kind != NodeKind::index_mod) continue;
    const Affine& a = dag.affine(n.operands[0]);
    const auto is_rest = [&](const AffineTerm& t) { return t.coef % n.integer != 0; };
    const auto rest = std::find_if(a.terms.begin(), a.terms.end(), is_rest);
    if (a.constant != 0 || rest == a.terms.end() || std::count_if(a.terms.begin(), a.terms.end(), is_rest) != 1) continue;
    if (rest->atom < 0 || rest->coef != 1 || (a.terms.size() > 1 && n.integer < kMinPart)) continue;
    const auto loop = static_cast<std::size_t>(rest->atom);
    if (loop >= r.parallel.size()) continue;
    Root::Dim& d = r.parallel[loop];
    if (d.size % n.integer != 0 || n.integer <= 1 || n.integer >= d.size) continue;
    Root::Dim fast = d;
    fast.size = n.integer;
    d.size /= n.integer, d.scale *= n.integer;
    r.parallel.insert(r.parallel.begin() + static_cast<std::ptrdiff_t>(loop) + 1, fast);
    return;
  }
}

}  // namespace weft::detail
