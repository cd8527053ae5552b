// Programs that transforms made, run on values: gradients, batches and tangents outside of any trace. A program of much work is executed as
// one compiled program, a small one equation by equation.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "weft/core/ir/liveness.h"

namespace weft::detail {

/// About how long the program's equations (or those that are needed) take if each is executed by itself, in nanoseconds; minus infinity
/// where some are run by several devices. It depends on the program alone.
double eager_cost(const Jaxpr& j);
double eager_cost(const Jaxpr& j, const LiveSet& needed);

/// Whether values are computed here, of operands that have some, and a program of this eager_cost is to be compiled. The decision does not
/// depend on what ran before, so that the same call gives the same bits each time.
bool is_compiled_whole(double eager_cost, std::span<const Array> args);

/// The program's results by one compiled program; nothing: its equations are to be run one by one, as it has effects, or as its operands
/// lie on several devices.
std::optional<std::vector<Array>> run_whole(const Jaxpr& j, std::span<const Array> args);

/// eval_jaxpr of a program that a transform made, compiled as a whole where that pays.
std::vector<Array> evaluate(const Jaxpr& j, std::span<const Array> args);

}  // namespace weft::detail
