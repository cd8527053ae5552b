#include "weft/core/ir/liveness.h"

#include <algorithm>
#include <queue>

#include "weft/core/ir/effects.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/loop_liveness.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ir/prune.h"
#include "weft/core/ir/walk.h"

namespace weft::detail {
namespace {

/// Deeper programs are assumed to read all of their inputs: each level is analysed repeatedly, which takes exponential time in the depth.
constexpr int kMaxPrunedDepth = 4;

/// Calls `mark` with each variable that an equation reads to compute those of its results that are in `vars`.
template <class Mark>
void mark_reads(const JaxprData& d, const Eqn& e, bool prune, const std::vector<bool>& vars, Mark&& mark) {
  const auto mark_atom = [&](Atom a) {
    if (!a.is_literal()) mark(a.var());
  };
  PruneTransform::Function* const rule = prune ? find_rule<PruneTransform>(*e.op) : nullptr;
  std::optional<PrunedEqn> pruned;
  if (rule && nesting_depth(e) <= kMaxPrunedDepth) {
    std::vector<bool> live;
    for (Var v : e.outputs) live.push_back(vars[v]);
    pruned = rule({e, operand_avals(d, e), result_avals(d, e), live});
  }
  if (!pruned) {
    for (Atom a : e.inputs) mark_atom(a);
    return;
  }
  for (std::size_t i : pruned->inputs) mark_atom(e.inputs[i]);
  for (const PrunedResult& r : pruned->results)
    if (r.from == PrunedResult::From::operand) mark_atom(e.inputs[r.index]);
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
    if (n.eqns[i]) mark_reads(d, e, prune, n.vars, [&](Var v) { n.vars[v] = true; });
  }
  return n;
}

/// The live set of a loop's body, found from the results backwards. An equation is asked again only where another result of it is live.
class LiveLoop {
 public:
  LiveLoop(const Jaxpr& body, const LoopCarry& carry)
      : d_(body.data()),
        carry_(carry),
        set_{std::vector<bool>(d_.outputs.size()), std::vector<bool>(d_.eqns.size()), std::vector<bool>(d_.avals.size())},
        defined_by_(d_.avals.size()),
        queued_(d_.eqns.size()) {
    for (std::size_t i = 0; i < d_.eqns.size(); ++i) {
      for (Var v : d_.eqns[i].outputs) defined_by_[v] = i;
      if (has_effects(d_.eqns[i])) queue(i);
    }
  }
  void add_output(std::size_t k) {
    set_.outputs[k] = true;
    if (!d_.outputs[k].is_literal()) add(d_.outputs[k].var());
  }
  void add_input(std::size_t i) { add(d_.first_input() + static_cast<Var>(i)); }
  LiveSet run() && {
    while (!waiting_.empty()) {
      const std::size_t i = waiting_.top();
      waiting_.pop();
      queued_[i] = false, set_.eqns[i] = true;
      mark_reads(d_, d_.eqns[i], true, set_.vars, [&](Var v) { add(v); });
    }
    return std::move(set_);
  }

 private:
  /// The value is read: so is what it is made of, in this step or, of a carry, in the step before.
  void add(Var v) {
    while (!set_.vars[v]) {
      set_.vars[v] = true;
      if (v >= d_.first_result()) return queue(defined_by_[v]);
      const std::size_t k = v - d_.first_input() - carry_.first;
      if (v < d_.first_input() + carry_.first || k >= carry_.count) return;
      set_.outputs[k] = true;
      if (d_.outputs[k].is_literal()) return;
      v = d_.outputs[k].var();
    }
  }
  void queue(std::size_t eqn) {
    if (!queued_[eqn]) queued_[eqn] = true, waiting_.push(eqn);
  }

  const JaxprData& d_;
  const LoopCarry carry_;
  LiveSet set_;
  std::vector<std::size_t> defined_by_;
  std::vector<bool> queued_;
  std::priority_queue<std::size_t> waiting_;  // the last equation first
};

}  // namespace

LiveSet live_set_of(const Jaxpr& j, std::vector<bool> outputs) { return live_set(j, std::move(outputs), false); }
LiveSet pruned_live_set_of(const Jaxpr& j, std::vector<bool> outputs) { return live_set(j, std::move(outputs), true); }

LiveSet pruned_live_set_of_loop(const Jaxpr& body, const LoopCarry& carry, const std::vector<bool>& outputs,
                                const std::vector<bool>& carries_read) {
  LiveLoop loop(body, carry);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k]) loop.add_output(k);
  for (std::size_t k = 0; k < carries_read.size(); ++k)
    if (carries_read[k]) loop.add_input(carry.first + k);
  return std::move(loop).run();
}

std::vector<Array> eval_live(const Jaxpr& j, const LiveSet& needed, std::span<const Array> args) {
  return walk(j, args, bind_eqn, &needed);
}

std::vector<Array> eval_jaxpr(const Jaxpr& j, std::span<const Array> args) { return walk(j, args, bind_eqn); }

}  // namespace weft::detail
