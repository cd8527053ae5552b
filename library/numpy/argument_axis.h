// The axis that an argument of a function names.
#pragma once
#include "weft/core/ops/common.h"

namespace weft::detail {

/// The axis counted from 0. Throws AxisError, with the operation and x's type, where x has no such axis.
inline int axis_of(const Arg& x, int axis, const char* operation) {
  return normalize_axis(axis, x.array().ndim(), operation, x.aval(), x.where());
}

}  // namespace weft::detail
