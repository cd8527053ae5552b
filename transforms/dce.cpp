#include <algorithm>

#include "core/effects.h"
#include "core/jaxpr_copy.h"
#include "core/rewrite.h"

namespace weft::detail {

Jaxpr dce_program(const Jaxpr& j) {
  const JaxprData& d = j.data();
  std::vector<bool> used(d.avals.size());
  auto use = [&](Atom a) {
    if (!a.is_literal()) used[a.var()] = true;
  };
  for (Atom a : d.outputs) use(a);
  std::vector<bool> keep(d.eqns.size());
  for (std::size_t i = d.eqns.size(); i-- > 0;) {
    const Eqn& e = d.eqns[i];
    keep[i] = has_effects(e) || std::any_of(e.outputs.begin(), e.outputs.end(), [&](Var v) { return used[v]; });
    if (keep[i])
      for (Atom a : e.inputs) use(a);
  }
  if (std::all_of(keep.begin(), keep.end(), [](bool k) { return k; })) return j;

  JaxprCopy copy(j);
  copy.add_inputs();
  for (std::size_t i = 0; i < d.eqns.size(); ++i)
    if (keep[i]) copy.add(d.eqns[i]);
  return std::move(copy).finish(d.outputs);
}

}  // namespace weft::detail
