// Execution outside of any trace, of single primitives and of programs that transforms made: where they run, and on which parts of sharded
// operands.
#pragma once
#include <optional>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Runs one primitive on concrete arrays and literals of any placement. Uncommitted operands follow committed ones; operands committed to
/// different devices throw DeviceError.
std::vector<Array> execute_eagerly(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                                   std::span<const Aval> out_avals, SourceLoc loc);

/// Runs a program without constants and effects on concrete arrays and literals, compiled as a whole. Nothing where its operands are
/// sharded or lie on several devices, and where many programs of the same operations and types came before it, each of other numbers: then
/// its equations are to be run one by one.
std::optional<std::vector<Array>> execute_program_eagerly(const Jaxpr& j, std::span<const Array> inputs);

}  // namespace weft::detail
