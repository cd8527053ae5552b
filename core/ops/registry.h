// The lists of primitives, one a family. Keep sorted.
#pragma once
#include "core/primitive.h"

namespace weft::detail {

}  // namespace weft::detail
