// Whether two backends' results of a program agree, as far as the program's condition lets them.
#pragma once
#include <string>
#include <vector>

#include "tools/programs.h"
#include "weft/core/ir/jaxpr.h"

namespace weft::fuzz {

/// What differs between the results of a program, or an empty text. Integers and bools must be equal, floats to some units in the last
/// place; where they are not, the program is run again and again with each operation disturbed by that much, and may differ by some
/// times of what that changes.
std::string differing(const Jaxpr& program, const std::vector<Array>& inputs, const std::vector<Array>& got,
                      const std::vector<Array>& want);

/// How many programs were found to be sensitive by `differing` in this process, and how many of their results to be without meaning.
struct CompareCounts {
  long compared = 0, disturbed = 0, ill_conditioned = 0;
};
CompareCounts& compare_counts();

}  // namespace weft::fuzz
