// How the user's functions of linear algebra prepare their operands.
#pragma once
#include "weft/core/array/array.h"

namespace weft::detail {

/// The matrix, integers converted to floats; throws ShapeError if it is none, or not square where it must be.
Array matrix_operand(const Arg& a, const char* operation, bool square);
/// The distance from 1 to the next number of the dtype.
double epsilon_of(DType dtype);
/// (x + x^H) / 2
Array symmetrized(const Array& x);

}  // namespace weft::detail
