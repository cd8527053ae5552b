// Names of the library's functions for messages.
#pragma once
#include "weft/core/errors/source_loc.h"

namespace weft::detail {

/// The function's name, or that of the operation if the user called the operation itself.
const char* called_name(CalledAs function, const char* operation);

}  // namespace weft::detail
