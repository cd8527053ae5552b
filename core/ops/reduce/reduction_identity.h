// What a reduction gives of nothing and of two arrays.
#pragma once
#include "weft/core/ir/primitive.h"

namespace weft::detail {

/// A literal; of sums, products, maxima and minima.
Array identity_of(Combiner c, DType dtype);
/// Two arrays, added, multiplied, or the larger or smaller of them.
Array combine_arrays(Combiner c, const Array& x, const Array& y);

}  // namespace weft::detail
