// Arithmetic primitives without a public function.
#pragma once
#include "weft/core/array/array.h"

namespace weft::detail {

/// x * y + z, rounded once. Operands of one floating dtype, broadcast together.
Array mul_add(const Array& x, const Array& y, const Array& z, SourceLoc loc);

}  // namespace weft::detail
