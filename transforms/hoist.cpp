// Loop-invariant code motion (Aho, Lam, Sethi, Ullman: Compilers, 9.1.7) over programs: divides the body of a loop into what depends on
// its constants alone and the rest.
#include "weft/core/ir/hoist.h"

#include <algorithm>

#include "weft/core/base/nesting.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/jaxpr_copy.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ir/sub_programs.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kFewElements = 16;  // cheaper to recompute than to read from memory

/// Operations that a kernel computes where their results are read, one element at a time.
bool is_fused(Kind k) { return k == Kind::elementwise || k == Kind::movement || k == Kind::concatenate || k == Kind::iota; }
/// Operations that stay in the order, and at the number of times, that the program says.
bool stays(const Eqn& e) { return has_effects(e) || calls_back(e) || e.op->kind == Kind::collective || e.op->kind == Kind::spmd; }

class Division {
 public:
  Division(const Jaxpr& j, const std::vector<bool>& invariant, Runs runs)
      : d_(j.data()), invariant_(d_.avals.size()), eqn_of_(d_.avals.size(), -1) {
    for (Var v = 0; v < d_.first_input(); ++v) invariant_[v] = true;
    for (std::size_t i = 0; i < invariant.size(); ++i) invariant_[d_.first_input() + i] = invariant[i];
    costs_.resize(d_.eqns.size());
    for (std::size_t i = 0; i < d_.eqns.size(); ++i) {
      const Eqn& e = d_.eqns[i];
      bool all = !stays(e) && (runs == Runs::at_least_once || is_harmless(e));
      for (Atom a : e.inputs) all = all && (a.is_literal() || invariant_[a.var()]);
      for (Var v : e.outputs) invariant_[v] = all, eqn_of_[v] = static_cast<int>(i);
      if (all) costs_[i] = costs(e);
    }
    std::vector<bool> read_inside(d_.avals.size());
    inside_.resize(d_.eqns.size());
    for (Atom a : d_.outputs)
      if (!a.is_literal()) read_inside[a.var()] = true;
    for (std::size_t i = d_.eqns.size(); i-- > 0;) {
      const Eqn& e = d_.eqns[i];
      const bool computed_before = e.outputs.size() > 0 && invariant_[e.outputs[0]];
      inside_[i] = !computed_before || (any_of(e.outputs, read_inside) && !worth_moving(i));
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

  const std::vector<Var>& moved() const { return moved_; }
  bool inside(std::size_t eqn) const { return inside_[eqn]; }
  bool invariant(Var v) const { return invariant_[v]; }

 private:
  static bool any_of(const std::vector<Var>& vars, const std::vector<bool>& set) {
    return std::any_of(vars.begin(), vars.end(), [&](Var v) { return set[v]; });
  }
  /// Whether the equation, or one that it depends on, is expensive.
  bool costs(const Eqn& e) const {
    if (!is_fused(e.op->kind)) return true;
    if (e.op->kind == Kind::elementwise && d_.avals[e.outputs[0]].shape.size() >= kFewElements) return true;
    return std::any_of(e.inputs.begin(), e.inputs.end(), [&](Atom a) {
      return !a.is_literal() && eqn_of_[a.var()] >= 0 && costs_[static_cast<std::size_t>(eqn_of_[a.var()])];
    });
  }
  bool worth_moving(std::size_t i) const {
    const Eqn& e = d_.eqns[i];
    if (!costs_[i]) return false;
    if (!is_fused(e.op->kind)) return true;
    std::int64_t read = 0;
    for (Atom a : e.inputs) read += a.is_literal() ? 0 : d_.aval(a).bytes();
    return d_.avals[e.outputs[0]].bytes() <= read;
  }

  const JaxprData& d_;
  std::vector<bool> invariant_, costs_, inside_;  // of variables, of equations, of equations
  std::vector<int> eqn_of_;
  std::vector<Var> moved_;
};

}  // namespace

std::optional<InvariantPart> take_invariants(const Jaxpr& j, const std::vector<bool>& invariant, std::size_t at, Runs runs) {
  const JaxprData& d = j.data();
  const Division division(j, invariant, runs);
  if (division.moved().empty()) return {};
  InvariantPart r;
  JaxprCopy before(j), rest(j);
  for (std::size_t i = 0; i < invariant.size(); ++i)
    if (invariant[i]) before.add_input(d.first_input() + static_cast<Var>(i)), r.before_inputs.push_back(i);
  const auto add_moved = [&] {
    for (Var v : division.moved()) rest.add_input(v);
  };
  for (std::size_t i = 0; i < invariant.size(); ++i) {
    if (i == at) add_moved();
    rest.add_input(d.first_input() + static_cast<Var>(i));
  }
  if (at >= invariant.size()) add_moved();
  for (std::size_t i = 0; i < d.eqns.size(); ++i) {
    const Eqn& e = d.eqns[i];
    if (!e.outputs.empty() && division.invariant(e.outputs[0])) before.add(e);
    if (division.inside(i)) rest.add(e);
  }
  std::vector<Atom> moved;
  for (Var v : division.moved()) moved.push_back(Atom::var(v));
  r.before = dce_program(std::move(before).finish(moved));
  r.rest = std::move(rest).finish(d.outputs);
  return r;
}

namespace {

/// The program with loop-invariant computations moved in front of its loops.
Jaxpr hoist_in_program(const Jaxpr& j) {
  const JaxprData& d = j.data();
  std::vector<std::optional<HoistedEqn>> hoisted(d.eqns.size());
  bool changed = false;
  for (std::size_t i = 0; i < d.eqns.size(); ++i) changed = (hoisted[i] = hoist_invariants(d.eqns[i])) || changed;
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

std::optional<HoistedEqn> hoist_invariants(const Eqn& e) {
  if (e.op->kind != Kind::control) return {};
  check_nesting("programs inside programs", nesting_depth(e));
  bool changed = false;
  Eqn inner = e;
  inner.params = map_programs(e, [&](const Jaxpr& j) {
    Jaxpr result = hoist_in_program(j);
    changed = changed || &result.data() != &j.data();
    return result;
  });
  HoistTransform::Function* const rule = find_rule<HoistTransform>(*e.op);
  std::optional<HoistedEqn> r = rule ? rule(inner) : std::nullopt;
  if (!r && changed) r = HoistedEqn{{}, {}, inner.params, 0};
  return r;
}

}  // namespace weft::detail
