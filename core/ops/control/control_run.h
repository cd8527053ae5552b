#pragma once
#include <functional>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Runs one sub-program on concrete arrays.
using ProgramRunner = std::function<std::vector<Array>(const Jaxpr&, std::span<const Array>)>;

/// Executes cond, while or scan on concrete arrays, step by step, its sub-programs by `run`.
std::vector<Array> run_control(const Primitive& op, const ParamsBase& params, std::span<const Array> in, const ProgramRunner& run);

}  // namespace weft::detail
