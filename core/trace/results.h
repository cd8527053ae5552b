// What a function of the user's returned.
#pragma once
#include <span>
#include <string_view>

#include "weft/core/array/array.h"

namespace weft::detail {

/// Throws Error if an array among a function's results is empty (default-constructed or moved from): "of: result 1 of the function is ...".
void check_no_result_is_empty(std::span<const Array> results, std::string_view of, SourceLoc loc);

}  // namespace weft::detail
