// The identity whose derivative is zero.
#pragma once
#include "weft/core/array/array.h"

namespace weft::detail {

/// x, as a constant to differentiation.
Array stop_gradient_of(const Array& x, SourceLoc loc = {});

}  // namespace weft::detail
