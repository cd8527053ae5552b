#include "weft/core/ir/liveness.h"

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/nesting.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/prune.h"
#include "weft/core/ir/sealed_program.h"

namespace weft::detail {
namespace {

/// `needed`: null for all.
std::vector<Array> eval(const Jaxpr& j, const LiveSet* needed, std::span<const Array> args) {
  check_nesting("programs inside programs", nesting_depth(j));
  const JaxprData& d = j.data();
  const auto is_needed = [&](std::size_t eqn) { return !needed || needed->eqns[eqn]; };
  const auto is_wanted = [&](std::size_t output) { return !needed || needed->outputs[output]; };
  // Each value is let go after its last use, so that a long program executed step by step holds no more than it needs.
  std::vector<std::uint32_t> last_use(d.avals.size(), 0);
  for (std::uint32_t i = 0; i < d.eqns.size(); ++i)
    if (is_needed(i))
      for (Atom a : d.eqns[i].inputs)
        if (!a.is_literal()) last_use[a.var()] = i;
  for (std::size_t i = 0; i < d.outputs.size(); ++i)
    if (const Atom a = d.outputs[i]; is_wanted(i) && !a.is_literal()) last_use[a.var()] = static_cast<std::uint32_t>(d.eqns.size());

  std::vector<Array> values(d.avals.size());
  std::copy(d.consts.begin(), d.consts.end(), values.begin());
  std::copy(args.begin(), args.end(), values.begin() + d.num_consts);
  const auto read = [&](Atom a) {
    return a.is_literal() ? make_literal(d.literals[a.literal()].aval, d.literals[a.literal()].bits) : values[a.var()];
  };
  std::vector<Array> inputs;
  for (std::uint32_t i = 0; i < d.eqns.size(); ++i) {
    if (!is_needed(i)) continue;
    const Eqn& e = d.eqns[i];
    inputs.clear();
    for (Atom a : e.inputs) inputs.push_back(read(a));
    std::vector<Array> results = bind_primitive(*e.op, e.params, inputs, e.loc);
    for (std::size_t k = 0; k < results.size(); ++k) values[e.outputs[k]] = std::move(results[k]);
    for (Atom a : e.inputs)
      if (!a.is_literal() && last_use[a.var()] == i) values[a.var()] = Array();
  }
  std::vector<Array> out(d.outputs.size());
  for (std::size_t i = 0; i < out.size(); ++i)
    if (is_wanted(i)) out[i] = read(d.outputs[i]);
  return out;
}

}  // namespace

namespace {

/// Deeper ones are taken to read all: what each level is asked for repeatedly would be asked for exponentially often.
constexpr int kMaxPrunedDepth = 4;

/// Marks what an equation reads whose results are needed as far as they are marked.
void mark_reads(const JaxprData& d, const Eqn& e, bool prune, std::vector<bool>& vars) {
  const auto mark = [&](Atom a) {
    if (!a.is_literal()) vars[a.var()] = true;
  };
  PruneTransform::Function* const rule = prune ? find_rule<PruneTransform>(*e.op) : nullptr;
  std::optional<PrunedEqn> pruned;
  if (rule && nesting_depth(e) <= kMaxPrunedDepth) {
    std::vector<bool> live;
    std::vector<Aval> in, out;
    for (Atom a : e.inputs) in.push_back(d.aval(a));
    for (Var v : e.outputs) live.push_back(vars[v]), out.push_back(d.avals[v]);
    pruned = rule({e, in, out, live});
  }
  if (!pruned) {
    for (Atom a : e.inputs) mark(a);
    return;
  }
  for (std::size_t i : pruned->inputs) mark(e.inputs[i]);
  for (const PrunedResult& r : pruned->results)
    if (r.from == PrunedResult::From::operand) mark(e.inputs[r.index]);
}

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

std::vector<Array> eval_live(const Jaxpr& j, const LiveSet& needed, std::span<const Array> args) { return eval(j, &needed, args); }

std::vector<Array> eval_jaxpr(const Jaxpr& j, std::span<const Array> args) { return eval(j, nullptr, args); }

}  // namespace weft::detail
