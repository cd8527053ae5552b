// Dead code elimination: removes equations that no result depends on, also in the sub-programs of loops, branches and calls.
#include <algorithm>
#include <numeric>

#include "weft/core/base/nesting.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/jaxpr_copy.h"
#include "weft/core/ir/pass_notes.h"
#include "weft/core/ir/prune.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/sealed_program.h"

namespace weft::detail {

namespace {

/// Returns nothing if the whole program is live.
std::optional<Jaxpr> pruned(const Jaxpr& j, const std::vector<std::size_t>& inputs, const std::vector<Atom>& outputs) {
  check_nesting("programs inside programs", nesting_depth(j));
  const JaxprData& d = j.data();
  std::vector<bool> live(d.avals.size()), kept(d.eqns.size());
  std::vector<std::optional<PrunedEqn>> parts(d.eqns.size());
  const auto mark = [&](Atom a) {
    if (!a.is_literal()) live[a.var()] = true;
  };
  for (Atom a : outputs) mark(a);
  bool changed = false;
  for (std::size_t i = d.eqns.size(); i-- > 0;) {
    const Eqn& e = d.eqns[i];
    kept[i] = has_effects(e) || std::any_of(e.outputs.begin(), e.outputs.end(), [&](Var v) { return live[v]; });
    changed = changed || !kept[i];
    if (!kept[i]) continue;
    if (PruneTransform::Function* const rule = find_rule<PruneTransform>(*e.op)) {
      std::vector<bool> results;
      for (Var v : e.outputs) results.push_back(live[v]);
      parts[i] = rule({e, operand_avals(d, e), result_avals(d, e), results});
    }
    if (!parts[i]) {
      for (Atom a : e.inputs) mark(a);
      continue;
    }
    changed = true;
    if (!parts[i]->outputs.empty() || has_effects(e))
      for (std::size_t k : parts[i]->inputs) mark(e.inputs[k]);
    for (const PrunedResult& r : parts[i]->results)
      if (r.from == PrunedResult::From::operand) mark(e.inputs[r.index]);
  }
  if (!changed && inputs.size() == static_cast<std::size_t>(d.num_inputs) && outputs.size() == d.outputs.size()) return {};

  JaxprCopy copy(j);
  for (std::size_t i : inputs) copy.add_input(d.first_input() + static_cast<Var>(i));
  for (std::size_t i = 0; i < d.eqns.size(); ++i) {
    if (!kept[i]) continue;
    if (parts[i])
      copy.add(d.eqns[i], *parts[i]);
    else
      copy.add(d.eqns[i]);
  }
  return std::move(copy).finish(outputs);
}

std::vector<std::size_t> all(std::size_t n) {
  std::vector<std::size_t> r(n);
  std::iota(r.begin(), r.end(), std::size_t{0});
  return r;
}

}  // namespace

Jaxpr live_part(const Jaxpr& j, const std::vector<std::size_t>& inputs, const std::vector<std::size_t>& outputs) {
  const JaxprData& d = j.data();
  std::vector<Atom> results;
  for (std::size_t k : outputs) results.push_back(d.outputs[k]);
  std::optional<Jaxpr> part = pruned(j, inputs, results);
  if (part) return *part;
  // Everything is live; only the order of the inputs may differ.
  if (inputs == all(inputs.size()) && outputs == all(outputs.size())) return j;
  JaxprCopy copy(j);
  for (std::size_t i : inputs) copy.add_input(d.first_input() + static_cast<Var>(i));
  for (const Eqn& e : d.eqns) copy.add(e);
  return std::move(copy).finish(results);
}

Jaxpr dce_program(const Jaxpr& j) {
  const NotedPass noted("dead code", j);
  const Jaxpr live = pruned(j, all(static_cast<std::size_t>(j.data().num_inputs)), j.data().outputs).value_or(j);
  noted.made(live);
  return live;
}

}  // namespace weft::detail
