// Which equations a step computes: those of its roots, and all that is fused into them.
#include <algorithm>

#include "weft/backends/codegen/planner/planner.h"

namespace weft::detail {

std::vector<int> KernelPlanner::equations_of(std::size_t number) const {
  const Item& step = steps_[number];
  std::vector<char> taken(j_.eqns.size());
  std::vector<int> left;
  const auto take = [&](int eqn) {
    if (eqn >= 0 && !std::exchange(taken[static_cast<std::size_t>(eqn)], 1)) left.push_back(eqn);
  };
  if (step.group >= 0)
    for (const int root : groups_[static_cast<std::size_t>(step.group)].roots) take(roots_[static_cast<std::size_t>(root)].eqn);
  else
    take(step.eqn);
  while (!left.empty()) {
    const Eqn& e = j_.eqns[static_cast<std::size_t>(left.back())];
    left.pop_back();
    for (const Atom a : e.inputs)
      if (!a.is_literal() && !is_root_[a.var()]) take(defined_by_[a.var()]);
  }
  std::vector<int> out;
  for (std::size_t i = 0; i < taken.size(); ++i)
    if (taken[i]) out.push_back(static_cast<int>(i));
  return out;
}

}  // namespace weft::detail
