// Execution of single primitives, for operations outside of any trace: where they run, and on which parts of sharded operands.
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Runs one primitive on concrete arrays and literals of any placement. Uncommitted operands follow committed ones; operands committed to
/// different devices throw DeviceError.
std::vector<Array> execute_eagerly(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                                   std::span<const Aval> out_avals, SourceLoc loc);

}  // namespace weft::detail
