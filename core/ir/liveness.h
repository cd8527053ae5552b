// Liveness: the values and equations that a program's results, or some of them, depend on.
#pragma once
#include <span>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

struct LiveSet {
  std::vector<bool> outputs;  ///< the results that are wanted
  std::vector<bool> eqns;     ///< those that they depend on, and those with effects
  std::vector<bool> vars;     ///< what is read, by equations that are needed or as a wanted result
  bool input(const Jaxpr& j, std::size_t i) const { return vars[j.data().first_input() + i]; }
};
/// No outputs given: all of them are wanted. An equation that is needed reads all of its operands.
LiveSet live_set_of(const Jaxpr& j, std::vector<bool> outputs = {});
/// The same where loops, branches and calls read only the operands that those of their results depend on that are needed: of a program that
/// is going to be pruned.
LiveSet pruned_live_set_of(const Jaxpr& j, std::vector<bool> outputs = {});

/// eval_jaxpr of what is needed. Arguments that are not needed may be empty handles; results that are not wanted are.
std::vector<Array> eval_live(const Jaxpr& j, const LiveSet& needed, std::span<const Array> args);

}  // namespace weft::detail
