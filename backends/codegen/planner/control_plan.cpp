// Loops and branches: their sub-programs become programs of their own, whose inputs and outputs are in the step's memory.
#include "weft/backends/codegen/planner/control_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "weft/backends/codegen/planner/simplify.h"
#include "weft/core/errors/error.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ops/control/control.h"

namespace weft::detail {

std::int64_t ControlPlanner::take(std::int64_t bytes) {
  const std::int64_t at = step.scratch_bytes;
  step.scratch_bytes += (bytes + 63) / 64 * 64;
  return at;
}

const KernelProgram& ControlPlanner::add(const Jaxpr& j, const std::vector<int>& donated) {
  step.programs.push_back(plan_program(simplify_with_names(j, target_.expansion), target_, table_, donated));
  temporaries_ = std::max(temporaries_, step.programs.back().arena_bytes);
  return step.programs.back();
}

void ControlPlanner::add_body(const Jaxpr& body, int num_consts, int num_carry) {
  std::vector<int> donated(static_cast<std::size_t>(num_consts), kNotDonated);
  for (int k = 0; k < num_carry; ++k) donated.push_back(k);
  const KernelProgram& p = add(body, donated);
  for (int k = 0; k < num_carry; ++k) {
    const BufferInfo& out = p.buffers[static_cast<std::size_t>(p.outputs[static_cast<std::size_t>(k)].buffer)];
    ControlStep::Carry carry;
    if (out.role == BufferInfo::Role::input && out.number == num_consts + k)
      carry.place = ControlStep::Carry::Place::kept;
    else if (out.role == BufferInfo::Role::output && out.number == k && out.reuses_input == num_consts + k)
      carry.place = ControlStep::Carry::Place::in_place;
    else
      carry.spare = take(out.aval.bytes());
    step.carry.push_back(carry);
  }
}

namespace {

constexpr int kDeepest = 3;  // nesting of branches within which programs are planned again

/// The input that the result may be an update of: followed through the first operand of its type in each equation. -1: none.
int origin_of(const JaxprData& d, const std::vector<int>& defined_by, Atom result) {
  const Aval type = d.aval(result);
  for (Atom a = result; !a.is_literal();) {
    if (a.var() < d.first_input()) return -1;
    if (a.var() < d.first_result()) return static_cast<int>(a.var() - d.first_input());
    const Eqn& e = d.eqns[static_cast<std::size_t>(defined_by[a.var()])];
    const auto same = std::find_if(e.inputs.begin(), e.inputs.end(), [&](Atom in) {
      return !in.is_literal() && d.aval(in).shape == type.shape && d.aval(in).dtype == type.dtype;
    });
    if (same == e.inputs.end()) return -1;
    a = *same;
  }
  return -1;
}

/// Whether the program gives its result right if the result has the memory of the input.
bool works_in_place(const KernelProgram& p, int result, int input) {
  const BufferInfo& out = p.buffers[static_cast<std::size_t>(p.outputs[static_cast<std::size_t>(result)].buffer)];
  if (out.role == BufferInfo::Role::output && (out.number != result || out.reuses_input == input)) return true;
  if (out.role == BufferInfo::Role::input && out.number == input) return true;
  // What nothing reads may be overwritten at any time.
  const auto is_input = [&](BufferId b) {
    return b >= 0 && p.buffers[static_cast<std::size_t>(b)].role == BufferInfo::Role::input &&
           p.buffers[static_cast<std::size_t>(b)].number == input;
  };
  return std::none_of(p.steps.begin(), p.steps.end(),
                      [&](const Step& s) { return std::any_of(s.buffers.begin(), s.buffers.end(), is_input); }) &&
         std::none_of(p.outputs.begin(), p.outputs.end(), [&](const ProgramOutput& o) { return is_input(o.buffer); });
}

}  // namespace

/// For each result an operand of its type whose memory nothing else needs: the one that most branches make it of, else any. -1: none.
std::vector<int> ControlPlanner::operands_to_take(const std::vector<Jaxpr>& branches) const {
  std::vector<int> takes(eqn_.outputs.size(), -1);
  std::vector<bool> free = unneeded_;
  std::map<Var, int> reads;
  for (Atom a : eqn_.inputs)
    if (!a.is_literal()) ++reads[a.var()];
  for (std::size_t i = 0; i < free.size(); ++i)
    free[i] = free[i] && i > 0 && (eqn_.inputs[i].is_literal() || reads.at(eqn_.inputs[i].var()) == 1);
  using Type = std::pair<std::vector<std::int64_t>, std::string>;
  const auto type_of = [](const Aval& a) { return Type({a.shape.begin(), a.shape.end()}, std::string(a.dtype.name())); };
  std::vector<std::map<int, int>> votes(takes.size());  // for operands, by result
  for (const Jaxpr& branch : branches) {
    const JaxprData& d = branch.data();
    std::vector<int> defined_by(d.avals.size(), -1);
    for (std::size_t n = 0; n < d.eqns.size(); ++n)
      for (Var v : d.eqns[n].outputs) defined_by[v] = static_cast<int>(n);
    for (std::size_t r = 0; r < takes.size(); ++r)
      if (const int input = origin_of(d, defined_by, d.outputs[r]); input >= 0) ++votes[r][input + 1];
  }
  const auto take = [&](std::size_t r, int operand) {
    takes[r] = operand;
    free[static_cast<std::size_t>(operand)] = false;
  };
  for (std::size_t r = 0; r < takes.size(); ++r) {
    int best = -1, most = 0;
    const Aval& to = j_.avals[eqn_.outputs[r]];
    for (const auto& [operand, count] : votes[r]) {
      const Aval& from = j_.aval(eqn_.inputs[static_cast<std::size_t>(operand)]);
      const bool fits = free[static_cast<std::size_t>(operand)] && from.shape == to.shape && from.dtype == to.dtype && to.bytes() > 0;
      if (fits && count > most) best = operand, most = count;
    }
    if (best >= 0) take(r, best);
  }
  std::map<Type, std::vector<int>> rest;  // the free operands of each type, the first one last
  for (std::size_t i = free.size(); i-- > 0;)
    if (free[i]) rest[type_of(j_.aval(eqn_.inputs[i]))].push_back(static_cast<int>(i));
  for (std::size_t r = 0; r < takes.size(); ++r) {
    const Aval& to = j_.avals[eqn_.outputs[r]];
    if (takes[r] >= 0 || to.bytes() == 0) continue;
    std::vector<int>& fitting = rest[type_of(to)];
    if (fitting.empty()) continue;
    take(r, fitting.back());
    fitting.pop_back();
  }
  return takes;
}

void ControlPlanner::add_branches(const std::vector<Jaxpr>& branches) {
  step.takes.assign(eqn_.outputs.size(), -1);
  const bool shallow = std::all_of(branches.begin(), branches.end(), [](const Jaxpr& branch) { return nesting_depth(branch) <= kDeepest; });
  if (shallow) step.takes = operands_to_take(branches);
  const std::size_t num_matmuls = table_.matmuls.size();
  for (int attempt = 0;; ++attempt) {
    std::vector<int> donated(eqn_.inputs.size() - 1, kNotDonated);
    for (std::size_t r = 0; r < step.takes.size(); ++r)
      if (step.takes[r] >= 0) donated[static_cast<std::size_t>(step.takes[r]) - 1] = static_cast<int>(r);
    for (const Jaxpr& branch : branches) add(branch, donated);
    bool all = true;
    for (std::size_t r = 0; r < step.takes.size(); ++r)
      if (int& from = step.takes[r]; from >= 0 && !std::all_of(step.programs.begin(), step.programs.end(), [&](const KernelProgram& p) {
                                       return works_in_place(p, static_cast<int>(r), from - 1);
                                     }))
        from = -1, all = false;
    if (all) return;
    if (attempt > 0) std::fill(step.takes.begin(), step.takes.end(), -1);
    step.programs.clear();
    temporaries_ = 0;
    table_.matmuls.resize(num_matmuls);
  }
}

ControlStep ControlPlanner::finish() {
  step.arena = step.scratch_bytes;
  step.scratch_bytes += temporaries_;
  return std::move(step);
}

namespace {

const ControlPlanRule<Scan> scan_plan([](ControlPlanner& planner, const ParamsBase& params) {
  const auto& p = params_as<Scan::Params>(params);
  ControlStep& c = planner.step;
  c.kind = ControlStep::Kind::scan;
  c.num_consts = p.num_consts, c.num_carry = p.num_carry, c.length = p.length, c.reverse = p.reverse;
  planner.add_body(p.jaxpr, p.num_consts, p.num_carry);
});
const ControlProgramsRule<Scan> scan_programs([](const ParamsBase& params) -> std::vector<Jaxpr> {
  return {params_as<Scan::Params>(params).jaxpr};
});

const ControlPlanRule<While> while_plan([](ControlPlanner& planner, const ParamsBase& params) {
  const auto& p = params_as<While::Params>(params);
  ControlStep& c = planner.step;
  c.kind = ControlStep::Kind::while_loop;
  c.cond_consts = p.cond_nconsts, c.num_consts = p.body_nconsts;
  c.num_carry = static_cast<int>(p.body_jaxpr.data().outputs.size());
  c.predicate = planner.take(1);
  planner.add(p.cond_jaxpr, {});
  planner.add_body(p.body_jaxpr, p.body_nconsts, c.num_carry);
});
const ControlProgramsRule<While> while_programs([](const ParamsBase& params) -> std::vector<Jaxpr> {
  const auto& p = params_as<While::Params>(params);
  return {p.cond_jaxpr, p.body_jaxpr};
});

const ControlPlanRule<Cond> cond_plan([](ControlPlanner& planner, const ParamsBase& params) {
  planner.step.kind = ControlStep::Kind::cond;
  planner.add_branches(params_as<Cond::Params>(params).branches);
});
const ControlProgramsRule<Cond> cond_programs([](const ParamsBase& params) { return params_as<Cond::Params>(params).branches; });

}  // namespace

std::vector<Jaxpr> control_programs(const Eqn& e) {
  ControlProgramsTransform::Function* const rule = find_rule<ControlProgramsTransform>(*e.op);
  return rule ? rule(*e.params) : std::vector<Jaxpr>();
}

ControlStep plan_control(const JaxprData& j, const Eqn& e, const std::vector<bool>& unneeded, const TargetTraits& target,
                         KernelTable& table) {
  ControlPlanTransform::Function* const rule = find_rule<ControlPlanTransform>(*e.op);
  if (!rule) throw CompileError(fmt::format("{}: the {} backend has no lowering for it", e.op->name, target.platform), e.loc);
  ControlPlanner planner(j, e, unneeded, target, table);
  rule(planner, *e.params);
  ControlStep c = planner.finish();
  c.num_inputs = static_cast<int>(e.inputs.size());
  return c;
}

}  // namespace weft::detail
