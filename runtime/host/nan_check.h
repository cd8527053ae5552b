// config.debug_nans: finds the operation that makes the first NaN or infinity.
#pragma once
#include <string>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// Throws Error, with the operation, the element and the line, if a result has a NaN or an infinity and no operand does; for elementwise
/// operations the operands' same element is examined.
void check_made_finite(const Primitive& op, std::span<const HostTensor> in, std::span<const HostTensor> out, SourceLoc loc);

}  // namespace weft::detail
