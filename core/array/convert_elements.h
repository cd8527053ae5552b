// Conversion of elements in memory from one dtype to another.
#pragma once
#include <cstdint>

#include "weft/core/array/dtype.h"

namespace weft::detail {

/// Converts n elements. Floating to integer truncates, out of range saturates, NaN gives 0; to bool is x != 0; complex to real drops the
/// imaginary part; integers wrap around; floats round to nearest even. As XLA's convert does on the CPU.
void convert_elements(const void* from, DType from_dtype, void* to, DType to_dtype, std::int64_t n);

}  // namespace weft::detail
