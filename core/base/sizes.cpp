// The error of a number from outside that an int cannot hold.
#include "weft/core/base/sizes.h"

#include <limits>
#include <string>

#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {

int checked_int(std::int64_t n, const char* operation, const char* what, SourceLoc loc) {
  if (!fits_int(n))
    throw ShapeError(std::string(operation) + ": " + what + " is " + std::to_string(n) + "; it is from " +
                         std::to_string(std::numeric_limits<int>::min()) + " to " + std::to_string(std::numeric_limits<int>::max()),
                     effective_loc(loc));
  return static_cast<int>(n);
}

}  // namespace weft::detail
