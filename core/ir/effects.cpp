#include "weft/core/ir/effects.h"

#include "weft/core/ir/sealed_program.h"

namespace weft::detail {

bool has_effects(const Eqn& e) { return effects_of(e).any; }
bool has_effects(const Jaxpr& j) { return effects_of(j).any; }
bool calls_back(const Eqn& e) { return effects_of(e).calls_back; }
bool calls_back(const Jaxpr& j) { return effects_of(j).calls_back; }
bool performs_io(const Eqn& e) { return effects_of(e).performs_io; }
bool performs_io(const Jaxpr& j) { return effects_of(j).performs_io; }
bool is_harmless(const Eqn& e) {
  const ProgramEffects effects = effects_of(e);
  return !effects.any && !effects.calls_back && !effects.may_not_end;
}

}  // namespace weft::detail
