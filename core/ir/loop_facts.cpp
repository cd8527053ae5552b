#include "weft/core/ir/loop_facts.h"

#include "weft/core/ir/eqn_avals.h"

namespace weft::detail {

Jaxpr equation_program(const JaxprData& d, const Eqn& e) {
  JaxprBuilder builder;
  std::vector<Atom> inputs;
  inputs.reserve(e.inputs.size());
  for (Atom a : e.inputs) inputs.push_back(a.is_literal() ? builder.add_literal(d.literals[a.literal()]) : builder.add_input(d.aval(a)));
  std::vector<Atom> results = builder.add_eqn(*e.op, e.params, std::move(inputs), result_avals(d, e), e.loc);
  return std::move(builder).finish(std::move(results));
}

}  // namespace weft::detail
