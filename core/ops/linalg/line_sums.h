// Which operations sum over lines of elements without being reductions: an oracle that allows for rounding must know it of a transform.
#pragma once
#include "weft/core/ir/rules.h"

namespace weft::detail {

/// Operations each of whose results is a sum over a line of elements: the number of last dimensions that a line has.
struct LineSumsTransform {
  using Function = int(const ParamsBase&);
};

}  // namespace weft::detail
