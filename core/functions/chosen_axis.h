// The axis of a call that may give it as an argument or among its options.
#pragma once
#include <optional>

#include "weft/core/functions/reductions.h"

namespace weft::detail {

/// The axis that is an argument, or else that of the options. Throws AxisError where both are given.
const Axis& axis_of(const Axis& axis, const Axis& of_options, const char* operation, SourceLoc loc);
inline const Axis& axis_of(const Axis& axis, const ReduceOptions& options, const char* operation, SourceLoc loc) {
  return axis_of(axis, options.axis, operation, loc);
}
/// The position of the axis that is an argument. Throws AxisError where the options' axis is another one.
int one_axis(const char* operation, const Arg& x, int axis, const std::optional<AxisNumber>& of_options);

}  // namespace weft::detail
