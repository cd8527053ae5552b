// Operations that object files have no kernels for, as calls of the runtime archive's routines (backends/aot).
#pragma once
#include <optional>
#include <span>
#include <string>

#include "weft/core/ir/rules.h"

namespace weft::detail {

/// A routine's symbol, and the plan that it is given (backends/aot/plans.h).
struct ObjectRoutine {
  const char* symbol;
  std::string plan;
};

/// The rules that say them: nothing for what the routine can't do. An operation without a rule can't be exported.
struct ObjectRoutineRules {
  using Function = std::optional<ObjectRoutine>(const ParamsBase& params, std::span<const Aval> operands, std::span<const Aval> results);
};
std::optional<ObjectRoutine> object_routine(const Primitive& op, const ParamsBase& params, std::span<const Aval> operands,
                                            std::span<const Aval> results);

/// The program that object files have in place of an equation: convolutions as matmuls, and what the host's programs have, too. Nothing
/// for others.
std::optional<Jaxpr> expand_for_object(const Eqn& e, std::span<const Aval> in);

}  // namespace weft::detail
