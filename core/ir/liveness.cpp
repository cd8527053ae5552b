#include "weft/core/ir/liveness.h"

#include <algorithm>

#include "weft/core/ir/effects.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/prune.h"
#include "weft/core/ir/walk.h"

namespace weft::detail {
namespace {

/// Deeper programs are assumed to read all of their inputs: each level is analysed repeatedly, which takes exponential time in the depth.
constexpr int kMaxPrunedDepth = 4;

/// Marks the operands that an equation reads to compute those of its results that are marked.
void mark_reads(const JaxprData& d, const Eqn& e, bool prune, std::vector<bool>& vars) {
  const auto mark = [&](Atom a) {
    if (!a.is_literal()) vars[a.var()] = true;
  };
  PruneTransform::Function* const rule = prune ? find_rule<PruneTransform>(*e.op) : nullptr;
  std::optional<PrunedEqn> pruned;
  if (rule && nesting_depth(e) <= kMaxPrunedDepth) {
    std::vector<bool> live;
    for (Var v : e.outputs) live.push_back(vars[v]);
    pruned = rule({e, operand_avals(d, e), result_avals(d, e), live});
  }
  if (!pruned) {
    for (Atom a : e.inputs) mark(a);
    return;
  }
  for (std::size_t i : pruned->inputs) mark(e.inputs[i]);
  for (const PrunedResult& r : pruned->results)
    if (r.from == PrunedResult::From::operand) mark(e.inputs[r.index]);
}

std::vector<Array> bind_eqn(const Eqn& e, std::span<const Array> in) { return bind_primitive(*e.op, e.params, in, e.loc); }

LiveSet live_set(const Jaxpr& j, std::vector<bool> outputs, bool prune) {
  const JaxprData& d = j.data();
  if (outputs.empty()) outputs.assign(d.outputs.size(), true);
  LiveSet n{std::move(outputs), std::vector<bool>(d.eqns.size()), std::vector<bool>(d.avals.size())};
  for (std::size_t i = 0; i < d.outputs.size(); ++i)
    if (n.outputs[i] && !d.outputs[i].is_literal()) n.vars[d.outputs[i].var()] = true;
  for (std::size_t i = d.eqns.size(); i-- > 0;) {
    const Eqn& e = d.eqns[i];
    n.eqns[i] = has_effects(e) || std::any_of(e.outputs.begin(), e.outputs.end(), [&](Var v) { return n.vars[v]; });
    if (n.eqns[i]) mark_reads(d, e, prune, n.vars);
  }
  return n;
}

}  // namespace

LiveSet live_set_of(const Jaxpr& j, std::vector<bool> outputs) { return live_set(j, std::move(outputs), false); }
LiveSet pruned_live_set_of(const Jaxpr& j, std::vector<bool> outputs) { return live_set(j, std::move(outputs), true); }

std::vector<Array> eval_live(const Jaxpr& j, const LiveSet& needed, std::span<const Array> args) {
  return walk(j, args, bind_eqn, &needed);
}

std::vector<Array> eval_jaxpr(const Jaxpr& j, std::span<const Array> args) { return walk(j, args, bind_eqn); }

}  // namespace weft::detail
