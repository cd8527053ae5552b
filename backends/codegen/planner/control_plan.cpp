// Loops and branches: their sub-programs become programs of their own, whose inputs and outputs lie in the step's memory.
#include <fmt/format.h>

#include <algorithm>

#include "weft/backends/codegen/planner/planner.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/core/errors/error.h"
#include "weft/core/ops/control/control.h"

namespace weft::detail {
namespace {

class Planner {
 public:
  Planner(const TargetTraits& target, KernelTable& table) : target_(target), table_(table) {}

  ControlStep scan(const Scan::Params& p) {
    c_.kind = ControlStep::Kind::scan;
    c_.num_consts = p.num_consts, c_.num_carry = p.num_carry, c_.length = p.length, c_.reverse = p.reverse;
    add_body(p.jaxpr, p.num_consts, p.num_carry);
    return finish();
  }
  ControlStep while_loop(const While::Params& p) {
    c_.kind = ControlStep::Kind::while_loop;
    c_.cond_consts = p.cond_nconsts, c_.num_consts = p.body_nconsts;
    c_.num_carry = static_cast<int>(p.body_jaxpr.data().outputs.size());
    c_.predicate = take(1);
    add(p.cond_jaxpr, {});
    add_body(p.body_jaxpr, p.body_nconsts, c_.num_carry);
    return finish();
  }
  ControlStep cond(const Cond::Params& p) {
    c_.kind = ControlStep::Kind::cond;
    for (const Jaxpr& branch : p.branches) add(branch, {});
    return finish();
  }

 private:
  std::int64_t take(std::int64_t bytes) {
    const std::int64_t at = c_.scratch_bytes;
    c_.scratch_bytes += (bytes + 63) / 64 * 64;
    return at;
  }

  const KernelProgram& add(const Jaxpr& j, const std::vector<int>& donated) {
    c_.programs.push_back(plan_program(simplify(j, target_.expansion), target_, table_, donated));
    temporaries_ = std::max(temporaries_, c_.programs.back().arena_bytes);
    return c_.programs.back();
  }

  void add_body(const Jaxpr& body, int num_consts, int num_carry) {
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
      c_.carry.push_back(carry);
    }
  }

  ControlStep finish() {
    c_.arena = c_.scratch_bytes;
    c_.scratch_bytes += temporaries_;
    return std::move(c_);
  }

  const TargetTraits& target_;
  KernelTable& table_;
  ControlStep c_;
  std::int64_t temporaries_ = 0;
};

}  // namespace

ControlStep plan_control(const Eqn& e, const TargetTraits& target, KernelTable& table) {
  Planner planner(target, table);
  ControlStep c;
  if (e.op == &primitive_of<Scan>)
    c = planner.scan(params_as<Scan::Params>(*e.params));
  else if (e.op == &primitive_of<While>)
    c = planner.while_loop(params_as<While::Params>(*e.params));
  else if (e.op == &primitive_of<Cond>)
    c = planner.cond(params_as<Cond::Params>(*e.params));
  else
    throw CompileError(fmt::format("{}: not implemented on the {} backend", e.op->name, target.platform), e.loc);
  c.num_inputs = static_cast<int>(e.inputs.size());
  return c;
}

}  // namespace weft::detail
