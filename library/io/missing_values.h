// Placeholders for missing values of tables.
#pragma once
#include "weft/core/array/array.h"

namespace weft::detail {

/// Throws DTypeError, naming the operation and its option, unless the dtype can represent the number: integers must be whole and in range,
/// bools 0 or 1.
void check_stand_in(double value, DType dtype, const char* operation, const char* option, SourceLoc loc);

}  // namespace weft::detail
