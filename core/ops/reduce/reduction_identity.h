// What a reduction of nothing gives, as an array.
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// A literal; of sums, products, maxima and minima.
Array identity_of(Combiner c, DType dtype);

}  // namespace weft::detail
