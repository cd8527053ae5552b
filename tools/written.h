// Round trips: programs written as StableHLO and read back.
#pragma once
#include <string>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::tools {

/// The program, written in StableHLO and read again, with the types of the first one: keys of random numbers in place of their words.
Jaxpr written_and_read(const Jaxpr& program);
/// Arrays as such a module's @main takes and gives them: of keys, their words.
std::vector<Array> as_words(const std::vector<Array>& arrays);

}  // namespace weft::tools
