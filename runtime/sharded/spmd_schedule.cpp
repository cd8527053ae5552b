#include "weft/runtime/sharded/spmd_schedule.h"

#include <algorithm>
#include <limits>

#include "weft/core/ir/effects.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/ops/contraction/terms.h"
#include "weft/runtime/sharded/spmd_body.h"

namespace weft::detail {
namespace {

constexpr double kWorthHiding = 64 << 10;  // bytes of collectives worth dividing a segment for: tens of microseconds on any network
constexpr double kWorthACut = 1e6;         // bytes and operations on each side of the division, to outweigh starting a segment
constexpr double kMuch = 4 * kWorthACut;   // enough work to hide a short message too

/// The estimated bytes and operations of an equation on one device, from its types.
double cost_of(const JaxprData& d, const Eqn& e) {
  const std::vector<Aval> in = operand_avals(d, e), out = result_avals(d, e);
  double bytes = 0, inner = 0;
  for (const std::vector<Aval>* list : {&in, &out})
    for (const Aval& a : *list) bytes += static_cast<double>(a.bytes());
  // A term is a multiplication and an addition.
  if (const double terms = summed_terms(*e.op, *e.params, in, out); terms > 0) return bytes + 2 * terms;
  const auto all = [](const Jaxpr& j) {
    double sum = 0;
    for (const Eqn& each : j.eqns()) sum += cost_of(j.data(), each);
    return sum;
  };
  if (SpmdStepTransform::Function* const rule = find_rule<SpmdStepTransform>(*e.op)) {
    const SpmdStep step = rule(*e.params);
    for (const Jaxpr& j : step.programs) inner += all(j);
    return bytes + static_cast<double>(step.times) * inner;
  }
  if (e.op->kind == Kind::call) for_each_program(e, [&](const Jaxpr& j) { inner += all(j); });
  return bytes + inner;
}

/// A collective of one operand.
struct Join {
  std::size_t eqn, operand;
  double bytes;
  int need;              ///< which start its operand waits for; -1: none
  std::size_t position;  ///< how many of the level's equations come before it
};

class Scheduler {
 public:
  Scheduler(const JaxprData& d, const std::vector<EqnRole>& roles) : d_(d), roles_(roles), need_(d.avals.size(), -1) {}

  std::vector<ScheduledStep> run() {
    int top = 0;
    for (const EqnRole& r : roles_) top = std::max(top, r.level);
    std::vector<std::vector<std::size_t>> levels(static_cast<std::size_t>(top) + 1);
    for (std::size_t i = 0; i < roles_.size(); ++i) levels[static_cast<std::size_t>(roles_[i].level)].push_back(i);
    for (const std::vector<std::size_t>& eqns : levels) add_level(eqns);
    wait_for(static_cast<int>(started_.size()) - 1);
    return without_idle_starts();
  }

 private:
  int need_of(const Eqn& e) const {
    int need = -1;
    for (Atom a : e.inputs)
      if (!a.is_literal()) need = std::max(need, need_[a.var()]);
    return need;
  }

  // Equations that wait for fewer collectives come first; ties keep the program's order.
  void add_level(const std::vector<std::size_t>& eqns) {
    std::vector<std::size_t> order;
    std::vector<int> needs(d_.eqns.size(), -1);
    int effects = -1;
    for (std::size_t i : eqns) {
      const Eqn& e = d_.eqns[i];
      const EqnRole::Kind kind = roles_[i].kind;
      if (kind == EqnRole::Kind::join || kind == EqnRole::Kind::control) continue;
      needs[i] = need_of(e);
      if (has_effects(e)) effects = needs[i] = std::max(needs[i], effects);
      for (Var v : e.outputs) need_[v] = needs[i];
      if (kind == EqnRole::Kind::segment) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return needs[a] < needs[b]; });
    std::vector<double> before(order.size() + 1, 0);  // cost of what comes before each
    std::vector<std::size_t> made(d_.avals.size(), 0);
    for (std::size_t n = 0; n < order.size(); ++n) {
      before[n + 1] = before[n] + cost_of(d_, d_.eqns[order[n]]);
      for (Var v : d_.eqns[order[n]].outputs) made[v] = n + 1;
    }
    std::vector<Join> joins;
    for (std::size_t i : eqns) {
      if (roles_[i].kind != EqnRole::Kind::join) continue;
      const Eqn& e = d_.eqns[i];
      for (std::size_t k = 0; k < e.inputs.size(); ++k) {
        const Atom a = e.inputs[k];
        const int need = a.is_literal() ? -1 : need_[a.var()];
        std::size_t position = a.is_literal() ? 0 : made[a.var()];
        while (position < order.size() && needs[order[position]] < need) ++position;
        joins.push_back({i, k, static_cast<double>(std::max(d_.aval(a).bytes(), d_.avals[e.outputs[k]].bytes())), need, position});
      }
    }
    // Of collectives at the same point, short ones start first, so that their readers do not wait for the others.
    std::stable_sort(joins.begin(), joins.end(), [](const Join& a, const Join& b) {
      return a.position != b.position ? a.position < b.position : a.bytes < kWorthHiding && b.bytes >= kWorthHiding;
    });
    std::size_t begun = 0, from = 0;
    const auto begin_joins = [&](std::size_t to) {
      for (; begun < joins.size() && joins[begun].position <= to; ++begun) start(joins[begun]);
    };
    const auto waiting = [&](std::size_t to) {  // bytes of collectives that could begin
      double bytes = 0;
      for (std::size_t j = begun; j < joins.size() && joins[j].position <= to; ++j) bytes += joins[j].bytes;
      return bytes;
    };
    const auto cost = [&](std::size_t a, std::size_t b) { return before[b] - before[a]; };
    if (const double all = cost(0, order.size()); all >= kMuch || (all >= kWorthACut && waiting(0) >= kWorthHiding)) begin_joins(0);
    for (std::size_t n = 1; n < order.size(); ++n) {
      if (cost(from, n) < kWorthACut) continue;
      const bool gives = waiting(n) >= kWorthHiding && cost(n, order.size()) >= kWorthACut;
      const int before_it = needs[order[n - 1]], need = needs[order[n]];
      const bool takes = need > before_it && need > waited_ && under_way(std::max(before_it, waited_), need) >= kWorthHiding;
      if (!gives && !takes) continue;
      add_segment(order, from, n, needs);
      from = n;
      begin_joins(n);
    }
    add_segment(order, from, order.size(), needs);
    begin_joins(order.size());
    for (std::size_t i : eqns) {
      if (roles_[i].kind != EqnRole::Kind::control) continue;
      wait_for(need_of(d_.eqns[i]));
      steps_.push_back({ScheduledStep::Kind::control, {i}});
    }
  }

  void add_segment(const std::vector<std::size_t>& order, std::size_t from, std::size_t to, const std::vector<int>& needs) {
    if (from == to) return;
    ScheduledStep s{ScheduledStep::Kind::segment,
                    {order.begin() + static_cast<std::ptrdiff_t>(from), order.begin() + static_cast<std::ptrdiff_t>(to)}};
    int need = -1;
    for (std::size_t i : s.eqns) need = std::max(need, needs[i]);
    std::sort(s.eqns.begin(), s.eqns.end());
    wait_for(need);
    steps_.push_back(std::move(s));
  }

  void start(const Join& j) {
    wait_for(j.need);
    need_[d_.eqns[j.eqn].outputs[j.operand]] = static_cast<int>(started_.size());
    started_.push_back(j);
    steps_.push_back({ScheduledStep::Kind::start, {j.eqn}, j.operand});
  }
  // Collectives end in the order in which they started.
  void wait_for(int number) {
    for (; waited_ < number; ++waited_) {
      const Join& j = started_[static_cast<std::size_t>(waited_ + 1)];
      steps_.push_back({ScheduledStep::Kind::wait, {j.eqn}, j.operand});
    }
  }
  double under_way(int after, int to) const {
    double bytes = 0;
    for (int k = after + 1; k <= to; ++k) bytes += started_[static_cast<std::size_t>(k)].bytes;
    return bytes;
  }

  // A collective with which nothing overlaps is executed by the caller itself.
  std::vector<ScheduledStep> without_idle_starts() {
    const std::size_t n = steps_.size();
    std::vector<std::size_t> waits(n, n);
    std::size_t next = 0;
    std::vector<std::size_t> starts;
    for (std::size_t i = 0; i < n; ++i) {
      if (steps_[i].kind == ScheduledStep::Kind::start) starts.push_back(i);
      if (steps_[i].kind == ScheduledStep::Kind::wait) waits[starts[next++]] = i;
    }
    std::vector<ScheduledStep> out;
    std::vector<bool> joined(n, false);
    std::size_t last_wait = 0;  // of the collectives that are under way
    for (std::size_t i = 0; i < n; ++i) {
      ScheduledStep s = std::move(steps_[i]);
      if (joined[i]) continue;
      if (s.kind == ScheduledStep::Kind::start) {
        const std::size_t until = std::min(waits[i], n);
        bool idle = last_wait <= i;
        for (std::size_t k = i + 1; k < until && idle; ++k)
          idle = steps_[k].kind == ScheduledStep::Kind::start || steps_[k].kind == ScheduledStep::Kind::wait;
        if (idle) {
          s.kind = ScheduledStep::Kind::join;
          if (until < n) joined[until] = true;
        } else {
          last_wait = std::max(last_wait, until);
        }
      }
      out.push_back(std::move(s));
    }
    return out;
  }

  const JaxprData& d_;
  const std::vector<EqnRole>& roles_;
  std::vector<int> need_;  // of each variable: the start that must have ended before it is read, -1: none
  std::vector<Join> started_;
  int waited_ = -1;  // all starts up to this one have been waited for
  std::vector<ScheduledStep> steps_;
};

/// One segment a level, then its joins.
std::vector<ScheduledStep> level_by_level(const JaxprData& d, const std::vector<EqnRole>& roles) {
  std::vector<ScheduledStep> steps;
  int top = 0;
  for (const EqnRole& r : roles) top = std::max(top, r.level);
  std::vector<std::vector<std::size_t>> levels(static_cast<std::size_t>(top) + 1);
  for (std::size_t i = 0; i < roles.size(); ++i) levels[static_cast<std::size_t>(roles[i].level)].push_back(i);
  for (const std::vector<std::size_t>& eqns : levels) {
    ScheduledStep segment{ScheduledStep::Kind::segment, {}};
    for (std::size_t i : eqns)
      if (roles[i].kind == EqnRole::Kind::segment) segment.eqns.push_back(i);
    if (!segment.eqns.empty()) steps.push_back(std::move(segment));
    for (std::size_t i : eqns) {
      if (roles[i].kind == EqnRole::Kind::control) steps.push_back({ScheduledStep::Kind::control, {i}});
      if (roles[i].kind == EqnRole::Kind::join)
        for (std::size_t k = 0; k < d.eqns[i].inputs.size(); ++k) steps.push_back({ScheduledStep::Kind::join, {i}, k});
    }
  }
  return steps;
}

}  // namespace

std::vector<ScheduledStep> schedule_steps(const JaxprData& d, const std::vector<EqnRole>& roles, bool early) {
  return early ? Scheduler(d, roles).run() : level_by_level(d, roles);
}

}  // namespace weft::detail
