// Intermediate results of 16-bit floats in float32: counts, squares and sums of many elements are beyond the range of float16, or beyond
// the integers that 16-bit floats hold.
#pragma once
#include "weft/core/functions/reductions.h"

namespace weft::detail {

/// x in the dtype in which its sums are accumulated.
inline Array as_wide(const Array& x) { return as_dtype(x, wide_dtype(x.dtype())); }
/// The same of options' arrays.
inline std::optional<Array> as_wide(const std::optional<Array>& x) { return x ? std::optional(as_wide(*x)) : std::nullopt; }

}  // namespace weft::detail
