// The end of a program's construction, when what follows from its equations is computed once, and the program's release.
#pragma once
#include "weft/core/ir/rules.h"

namespace weft::detail {

/// Programs may be nested in one another as deep as this, whatever the stack: passes that follow them beyond the library's own control
/// (LLVM's over nested loops) need a bound.
inline constexpr int kMaxProgramDepth = 1000;

/// What a program does beside computing its results, itself or in a program inside.
struct ProgramEffects {
  bool any = false;  ///< an equation with effects
  bool calls_back = false;
  bool performs_io = false;
  bool may_not_end = false;  ///< a loop whose number of steps is known only as it runs
};
/// Operations that run programs of theirs as often as values say, perhaps for ever; the rule itself is never called.
struct UnboundedTransform {
  using Function = void();
};

/// The contents of a new program, to be filled in and sealed. Long chains of nested programs are released without recursion.
Ref<JaxprData> new_program();
/// Computes what depends on the equations. Throws Error if programs are nested too deeply.
Jaxpr seal_program(Ref<JaxprData> data);

/// How deep programs are nested in this one: 0 if it has none inside.
int nesting_depth(const Jaxpr& j);
/// Of the programs that are parameters of an equation, this level included; 0 if it has none.
int nesting_depth(const Eqn& e);
const ProgramEffects& effects_of(const Jaxpr& j);
ProgramEffects effects_of(const Eqn& e);

}  // namespace weft::detail
