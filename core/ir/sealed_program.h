// The end of a program's construction, where facts about its equations (effects, nesting depth) are computed once, and its release.
#pragma once
#include "weft/core/ir/rules.h"

namespace weft::detail {

/// The largest nesting depth of programs, however large the stack is: recursion over nested loops inside LLVM is outside of the library's
/// control and needs a bound.
inline constexpr int kMaxProgramDepth = 1000;

/// The effects of a program, those of its sub-programs included.
struct ProgramEffects {
  bool any = false;  ///< an equation with effects
  bool calls_back = false;
  bool performs_io = false;
  bool may_not_end = false;  ///< a loop whose number of steps is known only at run time
};
/// Marks operations whose values decide how often they run their sub-programs, perhaps without end; the rule itself is never called.
struct UnboundedTransform {
  using Function = void();
};

/// An empty program, to be filled in and sealed. Long chains of nested programs are released without recursion.
Ref<JaxprData> new_program();
/// Finishes the program: computes its effects and nesting depth. Throws Error if programs are nested too deeply.
Jaxpr seal_program(Ref<JaxprData> data);

/// The depth to which programs are nested in this one: 0 if it has no sub-programs.
int nesting_depth(const Jaxpr& j);
/// The depth of an equation's sub-programs, their own level included; 0 if it has none.
int nesting_depth(const Eqn& e);
const ProgramEffects& effects_of(const Jaxpr& j);
ProgramEffects effects_of(const Eqn& e);

}  // namespace weft::detail
