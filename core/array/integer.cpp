// The errors of sizes, counts and positions that do not fit their type: numbers are never truncated.
#include "weft/core/array/integer.h"

#include <limits>
#include <string>

#include "weft/core/array/axis.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

void throw_too_large(std::uint64_t value, SourceLoc loc) {
  throw ShapeError(std::to_string(value) + " is too large: sizes, counts and positions have 64 bits, up to " +
                       std::to_string(std::numeric_limits<std::int64_t>::max()),
                   effective_loc(loc));
}

void throw_out_of_range(std::int64_t value, std::size_t bits, bool is_signed) {
  throw ShapeError(std::to_string(value) + " does not fit " + (is_signed ? "a signed" : "an unsigned") + " integer of " +
                       std::to_string(bits) + " bits; convert it to a std::int64_t",
                   effective_loc({}));
}

int axis_number(std::int64_t axis, SourceLoc loc) {
  if (!fits_int(axis))
    throw AxisError("axis " + std::to_string(axis) + " is out of range: axes are numbered from 0, or from the end by -1, -2, ...",
                    effective_loc(loc));
  return static_cast<int>(axis);
}

}  // namespace weft::detail
