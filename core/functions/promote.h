// Operands brought to one dtype, for functions that join arrays.
#pragma once
#include <vector>

#include "weft/core/array/array.h"

namespace weft::detail {

/// The dtype to which all of these are promoted.
WeakDType common_dtype(const std::vector<Array>& xs);
/// The arrays, converted to their common dtype.
std::vector<Array> promoted(std::vector<Array> xs, SourceLoc loc);
/// The same, and made floats where it is an integer or bool: of int32 and float16 float16, where each made a float alone gives float32.
std::vector<Array> promoted_inexact(std::vector<Array> xs, SourceLoc loc);

}  // namespace weft::detail
