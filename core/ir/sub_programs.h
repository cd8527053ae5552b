// The sub-programs of an equation: the Jaxprs among its parameters.
#pragma once
#include <type_traits>

#include "weft/core/base/function_ref.h"
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Calls f(const Jaxpr&) for each sub-program, but not for those inside of it.
template <class F>
void for_each_program(const Primitive& op, const ParamsBase& params, F&& f) {
  if (!op.params_map_jaxprs) return;
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

/// The equation's parameters with each sub-program replaced by f(program).
inline ParamsRef map_programs(const Eqn& e, FunctionRef<Jaxpr(const Jaxpr&)> f) {
  if (!e.op->params_map_jaxprs) return e.params;
  return e.op->params_map_jaxprs(
      *e.params, [](const Jaxpr& j, void* function) { return (*static_cast<FunctionRef<Jaxpr(const Jaxpr&)>*>(function))(j); }, &f);
}

/// Whether the predicate holds for a sub-program of the equation.
template <class Predicate>
bool any_program(const Eqn& e, Predicate&& holds) {
  bool any = false;
  for_each_program(e, [&](const Jaxpr& j) { any = any || holds(j); });
  return any;
}

}  // namespace weft::detail
