// Placeholders for missing values of tables.
#pragma once
#include "weft/core/array/array.h"

namespace weft::detail {

/// Whether a finite number is beyond the floating dtype's range; false for other dtypes.
bool rounds_to_infinity(double value, DType dtype);

/// Throws DTypeError, naming the operation and its option, unless the dtype can represent the number: integers must be whole and in range,
/// bools 0 or 1, floats in range.
void check_stand_in(double value, DType dtype, const char* operation, const char* option, SourceLoc loc);

}  // namespace weft::detail
