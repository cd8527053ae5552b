// Loops and branches as steps of a plan: each operation of kind control has a rule here.
#pragma once
#include "weft/backends/codegen/planner/planner.h"
#include "weft/core/ir/rules.h"

namespace weft::detail {

/// Plans the step of one equation: its sub-programs, and where their carry is.
class ControlPlanner {
 public:
  ControlPlanner(const JaxprData& j, const Eqn& e, const std::vector<bool>& unneeded, const TargetTraits& target, KernelTable& table)
      : j_(j), eqn_(e), unneeded_(unneeded), target_(target), table_(table) {}

  ControlStep step = {};
  /// Allocates this many bytes of the step's own memory; returns their offset.
  std::int64_t take(std::int64_t bytes);
  /// Adds the next of the step's programs.
  const KernelProgram& add(const Jaxpr& j, const std::vector<int>& donated);
  /// Adds a loop's body, whose first results are the new carry, which it takes after its constants.
  void add_body(const Jaxpr& body, int num_consts, int num_carry);
  /// Adds the programs of a branch, which take the equation's operands but for the first. A result may have the memory of an operand that
  /// nothing else needs, if each of the programs can work on it in place.
  void add_branches(const std::vector<Jaxpr>& branches);
  ControlStep finish();

 private:
  std::vector<int> operands_to_take(const std::vector<Jaxpr>& branches) const;

  const JaxprData& j_;
  const Eqn& eqn_;
  const std::vector<bool>& unneeded_;
  const TargetTraits& target_;
  KernelTable& table_;
  std::int64_t temporaries_ = 0;
};

/// Fills the planner's step.
struct ControlPlanTransform {
  static constexpr std::string_view name = "control_plan", doc = "Its step in compiled code.";
  static constexpr Kind every = Kind::control;
  using Function = void(ControlPlanner&, const ParamsBase&);
};
template <class Op>
using ControlPlanRule = Rule<ControlPlanTransform, Op>;
/// The sub-programs in the order in which the step has them.
struct ControlProgramsTransform {
  static constexpr std::string_view name = "control_programs", doc = "The programs of that step.";
  static constexpr Kind every = Kind::control;
  using Function = std::vector<Jaxpr>(const ParamsBase&);
};
template <class Op>
using ControlProgramsRule = Rule<ControlProgramsTransform, Op>;

/// The sub-programs of an equation that has a step; none for any other.
std::vector<Jaxpr> control_programs(const Eqn& e);

}  // namespace weft::detail
