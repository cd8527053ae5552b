#include "core/effects.h"

#include <algorithm>

#include "core/ops/callback.h"
#include "core/primitive.h"

namespace weft::detail {
namespace {

using Test = bool (*)(const Eqn&);

bool any_eqn(const Jaxpr& j, Test test);

bool holds(const Eqn& e, Test test) {
  if (test(e)) return true;
  if (e.op->kind != Kind::call && e.op->kind != Kind::control && e.op->kind != Kind::spmd) return false;
  struct Context {
    Test test;
    bool found;
  } context{test, false};
  e.op->params_map_jaxprs(
      *e.params,
      [](const Jaxpr& j, void* c) {
        auto& seen = *static_cast<Context*>(c);
        seen.found = seen.found || any_eqn(j, seen.test);
        return j;
      },
      &context);
  return context.found;
}

bool any_eqn(const Jaxpr& j, Test test) {
  return std::any_of(j.eqns().begin(), j.eqns().end(), [test](const Eqn& e) { return holds(e, test); });
}

bool is_effect(const Eqn& e) { return e.op->has_effects; }
bool is_callback(const Eqn& e) { return e.op->kind == Kind::effect; }
bool is_io(const Eqn& e) { return is_io_callback(*e.op); }

}  // namespace

bool has_effects(const Eqn& e) { return holds(e, is_effect); }
bool has_effects(const Jaxpr& j) { return any_eqn(j, is_effect); }
bool calls_back(const Eqn& e) { return holds(e, is_callback); }
bool calls_back(const Jaxpr& j) { return any_eqn(j, is_callback); }
bool performs_io(const Eqn& e) { return holds(e, is_io); }
bool performs_io(const Jaxpr& j) { return any_eqn(j, is_io); }

}  // namespace weft::detail
