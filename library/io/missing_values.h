// Placeholders for missing values of tables.
#pragma once
#include "weft/core/array/array.h"

namespace weft::detail {

/// Throws DTypeError, which names the operation and its option, unless an element of the dtype can be that number: integers are whole and
/// in their range, bools 0 or 1.
void check_stand_in(double value, DType dtype, const char* operation, const char* option, SourceLoc loc);

}  // namespace weft::detail
