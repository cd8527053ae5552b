// The sub-programs of an equation: the Jaxprs among its parameters.
#pragma once
#include <type_traits>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Whether equations of the primitive may have sub-programs: other kinds have none (core/ir/check.cpp), so that most equations need not be
/// searched.
inline bool may_hold_programs(const Primitive& op) {
  return op.kind == Kind::call || op.kind == Kind::control || op.kind == Kind::spmd || op.kind == Kind::reduce_window;
}

/// Calls f(const Jaxpr&) for each sub-program, but not for those inside of it.
template <class F>
void for_each_program(const Primitive& op, const ParamsBase& params, F&& f) {
  if (!may_hold_programs(op)) return;
  op.params_map_jaxprs(
      params,
      [](const Jaxpr& j, void* function) {
        (*static_cast<std::remove_reference_t<F>*>(function))(j);
        return j;
      },
      &f);
}
template <class F>
void for_each_program(const Eqn& e, F&& f) {
  for_each_program(*e.op, *e.params, f);
}

/// Whether the predicate holds for a sub-program of the equation.
template <class Predicate>
bool any_program(const Eqn& e, Predicate&& holds) {
  bool any = false;
  for_each_program(e, [&](const Jaxpr& j) { any = any || holds(j); });
  return any;
}

}  // namespace weft::detail
