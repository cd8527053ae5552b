// weft's functions of one and of two arrays by their types: what a transform takes a function's name to mean where the name has several
// meanings. `sin` names the C library's functions of numbers, too, and `sum` also the one that takes an axis; of such a name the compiler
// chooses the function whose type the transform asks for.
#pragma once
#include "weft/core/array/array.h"

namespace weft {

/// A function of one array, such as `sin`, `sum` and `nn::softmax` without their further parameters.
using UnaryFunction = Array (*)(Arg);
/// A function of two arrays, such as `add`, `pow` and `atan2`.
using BinaryFunction = Array (*)(Arg, Arg);

}  // namespace weft
