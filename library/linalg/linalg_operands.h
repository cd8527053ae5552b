// How the user's functions of linear algebra prepare their operands.
#pragma once
#include "weft/core/array/array.h"

namespace weft::detail {

/// The matrices, integers converted to floats. Throws ShapeError for fewer than two dimensions.
Array matrix_operand(const Arg& a, const char* operation);
/// The same. Throws ShapeError for matrices that are not square, too.
Array square_matrix_operand(const Arg& a, const char* operation);
/// The distance from 1 to the next number of the dtype.
double epsilon_of(DType dtype);
/// (x + x^H) / 2
Array symmetrized(const Array& x);

}  // namespace weft::detail
