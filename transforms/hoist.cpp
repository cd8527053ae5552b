// Loop-invariant code motion (Aho, Lam, Sethi, Ullman: Compilers, 9.1.7) over programs: divides the body of a loop into what depends on
// its constants alone and the rest.
#include "weft/core/ir/hoist.h"

#include <algorithm>

#include "weft/core/base/nesting.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/jaxpr_copy.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/rules.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/ops/movement/gather.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kFewElements = 16;                  // cheaper to recompute than to read from memory
constexpr std::int64_t kInCaches = std::int64_t{1} << 20;  // bytes
// The cost of reading four bytes more in each step, with those that they drive out of the caches.
constexpr double kCachedRead = 2, kMemoryRead = 8;

/// Whether the result follows from its positions alone (iota).
bool is_of_positions(const Eqn& e) { return e.inputs.empty() && e.op->reference; }
/// Operations that a kernel computes where their results are read, one element at a time.
bool is_fused(const Eqn& e) { return e.op->lower || e.op->movement || is_of_positions(e); }
/// Operations by which a body computes each point on its own: a kernel may then keep a point's values in registers for all steps. Operands
/// that are joined are none such.
bool is_pointwise(const JaxprData& j, const Eqn& e) {
  if (!e.op->movement) return is_fused(e) || find_rule<ReadsWindowsAt>(*e.op);
  std::vector<Aval> operands;
  for (Atom a : e.inputs) operands.push_back(j.aval(a));
  return e.op->movement(*e.params, operands, j.avals[e.outputs[0]], 0).part_dim < 0;
}
/// Operations that stay in the order, and at the number of times, that the program says.
bool stays(const Eqn& e) { return has_effects(e) || calls_back(e) || e.op->kind == Kind::collective || e.op->kind == Kind::spmd; }

/// What it takes to compute a value where it is read, within a kernel.
struct Origin {
  double work = 0;         ///< arithmetic
  std::int64_t bytes = 0;  ///< read from memory
};

class InvariantSplit {
 public:
  InvariantSplit(const Jaxpr& j, const std::vector<bool>& invariant, Runs runs, ElementCost cost)
      : d_(j.data()),
        cost_(cost),
        is_pointwise_(std::all_of(d_.eqns.begin(), d_.eqns.end(), [&](const Eqn& e) { return is_pointwise(d_, e); })),
        invariant_(d_.avals.size()),
        after_own_kernel_(d_.avals.size()),
        origins_(d_.avals.size()) {
    for (Var v = 0; v < d_.first_input(); ++v) invariant_[v] = true;
    for (std::size_t i = 0; i < invariant.size(); ++i) invariant_[d_.first_input() + i] = invariant[i];
    for (const Eqn& e : d_.eqns) {
      bool all = !stays(e) && (runs == Runs::at_least_once || is_harmless(e));
      for (Atom a : e.inputs) all = all && (a.is_literal() || invariant_[a.var()]);
      for (Var v : e.outputs) invariant_[v] = all;
    }
    find_origins();
    choose();
  }

  const std::vector<Var>& moved() const { return moved_; }
  bool inside(std::size_t eqn) const { return inside_[eqn]; }
  bool invariant(Var v) const { return invariant_[v]; }

 private:
  static bool any_of(const std::vector<Var>& vars, const std::vector<bool>& set) {
    return std::any_of(vars.begin(), vars.end(), [&](Var v) { return set[v]; });
  }
  bool is_invariant(const Eqn& e) const { return !e.outputs.empty() && invariant_[e.outputs[0]]; }

  void find_origins() {
    std::vector<bool> read_anyway(d_.avals.size());
    for (const Eqn& e : d_.eqns)
      for (Atom a : e.inputs)
        if (!is_invariant(e) && !a.is_literal()) read_anyway[a.var()] = true;
    for (Var v = 0; v < d_.avals.size(); ++v)
      if (!read_anyway[v]) origins_[v].bytes = d_.avals[v].bytes();
    for (const Eqn& e : d_.eqns) {
      if (!is_invariant(e)) continue;
      if (is_fused(e)) origins_[e.outputs[0]] = origin(e);
      bool after = !is_fused(e);
      for (Atom a : e.inputs) after = after || (!a.is_literal() && after_own_kernel_[a.var()]);
      for (Var v : e.outputs) after_own_kernel_[v] = after;
    }
  }
  Origin origin(const Eqn& e) const {
    Origin o;
    std::vector<Var> seen;
    for (Atom a : e.inputs) {
      if (a.is_literal() || std::find(seen.begin(), seen.end(), a.var()) != seen.end()) continue;
      seen.push_back(a.var());
      o.work = std::max(o.work, origins_[a.var()].work);
      o.bytes += origins_[a.var()].bytes;
    }
    const Aval& result = d_.avals[e.outputs[0]];
    const auto size = static_cast<double>(result.size());
    if (e.op->lower) {
      o.work += size * (result.dtype.is_key() ? 1 : cost_(d_, e));
    } else {
      if (!e.inputs.empty() && size < static_cast<double>(d_.aval(e.inputs[0]).size()))
        o.work *= size / static_cast<double>(d_.aval(e.inputs[0]).size());
      o.bytes = std::min(o.bytes, result.bytes());
    }
    return o;
  }

  /// From back to front, as only what is read inside is passed in.
  void choose() {
    std::vector<bool> read_inside(d_.avals.size());
    inside_.resize(d_.eqns.size());
    for (Atom a : d_.outputs)
      if (!a.is_literal()) read_inside[a.var()] = true;
    for (std::size_t i = d_.eqns.size(); i-- > 0;) {
      const Eqn& e = d_.eqns[i];
      inside_[i] = !is_invariant(e) || (any_of(e.outputs, read_inside) && !worth_moving(e));
      if (inside_[i]) {
        for (Atom a : e.inputs)
          if (!a.is_literal()) read_inside[a.var()] = true;
        continue;
      }
      for (Var v : e.outputs)
        if (read_inside[v]) moved_.push_back(v);
    }
    std::reverse(moved_.begin(), moved_.end());
  }
  bool worth_moving(const Eqn& e) const {
    if (!is_fused(e)) return true;
    const Var v = e.outputs[0];
    const std::int64_t bytes = d_.avals[v].bytes();
    if (after_own_kernel_[v]) {
      std::int64_t read = 0;
      for (Atom a : e.inputs) read += a.is_literal() ? 0 : d_.aval(a).bytes();
      return bytes <= read;
    }
    if (is_pointwise_) return false;
    const double read = bytes > kInCaches ? kMemoryRead : kCachedRead;
    return d_.avals[v].size() >= kFewElements && origins_[v].work > read / 4 * static_cast<double>(bytes - origins_[v].bytes);
  }

  const JaxprData& d_;
  ElementCost cost_;
  bool is_pointwise_;
  // Of variables; the second: whether it is, or depends on, what a kernel or routine of its own computes.
  std::vector<bool> invariant_, after_own_kernel_;
  std::vector<Origin> origins_;  // of variables
  std::vector<bool> inside_;     // of equations
  std::vector<Var> moved_;
};

}  // namespace

std::optional<InvariantPart> take_invariants(const Jaxpr& j, const std::vector<bool>& invariant, std::size_t at, Runs runs,
                                             ElementCost cost) {
  const JaxprData& d = j.data();
  const InvariantSplit split(j, invariant, runs, cost);
  if (split.moved().empty()) return {};
  InvariantPart r;
  JaxprCopy before(j), rest(j);
  for (std::size_t i = 0; i < invariant.size(); ++i)
    if (invariant[i]) before.add_input(d.first_input() + static_cast<Var>(i)), r.before_inputs.push_back(i);
  const auto add_moved = [&] {
    for (Var v : split.moved()) rest.add_input(v);
  };
  for (std::size_t i = 0; i < invariant.size(); ++i) {
    if (i == at) add_moved();
    rest.add_input(d.first_input() + static_cast<Var>(i));
  }
  if (at >= invariant.size()) add_moved();
  for (std::size_t i = 0; i < d.eqns.size(); ++i) {
    const Eqn& e = d.eqns[i];
    if (!e.outputs.empty() && split.invariant(e.outputs[0])) before.add(e);
    if (split.inside(i)) rest.add(e);
  }
  std::vector<Atom> moved;
  for (Var v : split.moved()) moved.push_back(Atom::var(v));
  r.before = dce_program(std::move(before).finish(moved));
  r.rest = std::move(rest).finish(d.outputs);
  return r;
}

namespace {

/// The program with loop-invariant computations moved in front of its loops.
Jaxpr hoist_in_program(const Jaxpr& j, ElementCost cost) {
  const JaxprData& d = j.data();
  std::vector<std::optional<HoistedEqn>> hoisted(d.eqns.size());
  bool changed = false;
  for (std::size_t i = 0; i < d.eqns.size(); ++i) changed = (hoisted[i] = hoist_invariants(d.eqns[i], cost)) || changed;
  if (!changed) return j;
  JaxprCopy copy(j);
  copy.add_inputs();
  for (std::size_t i = 0; i < d.eqns.size(); ++i) {
    const Eqn& e = d.eqns[i];
    if (!hoisted[i]) {
      copy.add(e);
      continue;
    }
    std::vector<Atom> in, taken;
    for (Atom a : e.inputs) in.push_back(copy(a));
    for (std::size_t k : hoisted[i]->before_inputs) taken.push_back(in[k]);
    const std::vector<Atom> values = copy.add_program(hoisted[i]->before, taken);
    in.insert(in.begin() + static_cast<std::ptrdiff_t>(hoisted[i]->insert_at), values.begin(), values.end());
    copy.add(e, hoisted[i]->params, std::move(in));
  }
  return std::move(copy).finish(d.outputs);
}

}  // namespace

std::optional<HoistedEqn> hoist_invariants(const Eqn& e, ElementCost cost) {
  if (e.op->kind != Kind::control) return {};
  check_nesting("programs inside programs", nesting_depth(e));
  bool changed = false;
  Eqn inner = e;
  inner.params = map_programs(e, [&](const Jaxpr& j) {
    Jaxpr result = hoist_in_program(j, cost);
    changed = changed || &result.data() != &j.data();
    return result;
  });
  HoistTransform::Function* const rule = find_rule<HoistTransform>(*e.op);
  std::optional<HoistedEqn> r = rule ? rule(inner, cost) : std::nullopt;
  if (!r && changed) r = HoistedEqn{{}, {}, inner.params, 0};
  return r;
}

}  // namespace weft::detail
