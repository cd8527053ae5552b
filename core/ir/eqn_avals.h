// The types of an equation's operands and results, as rules take them.
#pragma once
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

inline std::vector<Aval> operand_avals(const JaxprData& d, const Eqn& e) {
  std::vector<Aval> avals;
  avals.reserve(e.inputs.size());
  for (const Atom a : e.inputs) avals.push_back(d.aval(a));
  return avals;
}
inline std::vector<Aval> result_avals(const JaxprData& d, const Eqn& e) {
  std::vector<Aval> avals;
  avals.reserve(e.outputs.size());
  for (const Var v : e.outputs) avals.push_back(d.avals[v]);
  return avals;
}

}  // namespace weft::detail
