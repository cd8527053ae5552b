// Loops and branches: their sub-programs become programs of their own, whose inputs and outputs are in the step's memory.
#include "weft/backends/codegen/planner/control_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/backends/codegen/planner/simplify.h"
#include "weft/core/errors/error.h"
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
  for (const Jaxpr& branch : params_as<Cond::Params>(params).branches) planner.add(branch, {});
});
const ControlProgramsRule<Cond> cond_programs([](const ParamsBase& params) { return params_as<Cond::Params>(params).branches; });

}  // namespace

std::vector<Jaxpr> control_programs(const Eqn& e) {
  ControlProgramsTransform::Function* const rule = find_rule<ControlProgramsTransform>(*e.op);
  return rule ? rule(*e.params) : std::vector<Jaxpr>();
}

ControlStep plan_control(const Eqn& e, const TargetTraits& target, KernelTable& table) {
  ControlPlanTransform::Function* const rule = find_rule<ControlPlanTransform>(*e.op);
  if (!rule) throw CompileError(fmt::format("{}: the {} backend has no lowering for it", e.op->name, target.platform), e.loc);
  ControlPlanner planner(target, table);
  rule(planner, *e.params);
  ControlStep c = planner.finish();
  c.num_inputs = static_cast<int>(e.inputs.size());
  return c;
}

}  // namespace weft::detail
