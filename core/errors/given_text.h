// Text that a user gives as a pointer to characters.
#pragma once
#include <string>

#include "weft/core/errors/source_loc.h"

namespace weft::detail {

/// The text; an Error that names what it is of if the pointer is null.
std::string given_text(const char* text, const char* what, SourceLoc loc);

}  // namespace weft::detail
