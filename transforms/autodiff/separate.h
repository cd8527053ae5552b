// Takes a program and which of its inputs are linear, and tells apart, for its transpose, what depends on those and what is known.
#pragma once
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// An equal program in which the results of each equation all depend on linear inputs, or none does. Calls, branches and loops that compute
/// both (a loop's counter beside what it adds up) are taken apart; a while with a bound becomes the scan that it stands for. What can't be
/// taken apart (a shard_map) counts as depending with all its results.
Jaxpr separated(const Jaxpr& j, const std::vector<bool>& linear);

}  // namespace weft::detail
