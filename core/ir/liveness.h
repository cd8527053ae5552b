// Liveness: the values and equations that a program's results, or some of them, depend on.
#pragma once
#include <span>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

struct LiveSet {
  std::vector<bool> outputs;  ///< the live results
  std::vector<bool> eqns;     ///< equations on which live results depend, and those with effects
  std::vector<bool> vars;     ///< variables that are read by live equations, or are live results
  bool input(const Jaxpr& j, std::size_t i) const { return vars[j.data().first_input() + i]; }
};
/// The live set for the given results, all results if none are given. A live equation counts as reading all its operands.
LiveSet live_set_of(const Jaxpr& j, std::vector<bool> outputs = {});
/// The same for a program that is going to be pruned: loops, branches and calls read only those operands on which their live results
/// depend.
LiveSet pruned_live_set_of(const Jaxpr& j, std::vector<bool> outputs = {});

/// eval_jaxpr of the live equations. Arguments that are not live may be empty handles; results that are not live are.
std::vector<Array> eval_live(const Jaxpr& j, const LiveSet& needed, std::span<const Array> args);

}  // namespace weft::detail
