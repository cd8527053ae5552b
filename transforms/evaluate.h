// Evaluation, outside of any trace, of the programs that transforms make: gradients, batches and tangents. A large program is compiled and
// run as a whole, a small one equation by equation.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "weft/core/ir/liveness.h"

namespace weft::detail {

/// The estimated time, in nanoseconds, of executing the program's equations (or its live ones) one by one; minus infinity if some run on
/// several devices. It depends on the program alone.
double eager_cost(const Jaxpr& j);
double eager_cost(const Jaxpr& j, const LiveSet& needed);

/// Whether a program of this eager_cost is to be compiled: no trace is active, all operands are concrete, and compiling pays off. The
/// decision does not depend on what ran before, so that the same call gives the same bits each time.
bool is_compiled_whole(double eager_cost, std::span<const Array> args);

/// The program's results, computed by one compiled program. Nothing if its equations must run one by one, because it has effects or because
/// its operands are on several devices.
std::optional<std::vector<Array>> run_whole(const Jaxpr& j, std::span<const Array> args);

/// eval_jaxpr of a program that a transform made, compiled as a whole where that pays.
std::vector<Array> evaluate(const Jaxpr& j, std::span<const Array> args);

}  // namespace weft::detail
