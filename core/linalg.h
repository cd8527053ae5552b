#pragma once
#include "core/array.h"
#include "core/axis.h"

namespace weft::linalg {

/// The root of the sum of squared moduli: of all elements (none), of the vectors along one axis, or of the matrices of two (Frobenius).
Array norm(Arg a, Axis axis = none);

}  // namespace weft::linalg
