#include "weft/core/ir/jaxpr_copy.h"

namespace weft::detail {

JaxprCopy::JaxprCopy(const Jaxpr& from) : from_(from.data()), atoms_(from_.avals.size()) {
  for (Var v = 0; v < from_.first_input(); ++v) atoms_[v] = builder_.add_const(from_.consts[v]);
}

void JaxprCopy::add_input(Var v) { atoms_[v] = builder_.add_input(from_.avals[v]); }

void JaxprCopy::add_inputs() {
  for (Var v = from_.first_input(); v < from_.first_result(); ++v) add_input(v);
}

void JaxprCopy::add(const Eqn& e, ParamsRef params) {
  std::vector<Atom> in;
  std::vector<Aval> avals;
  in.reserve(e.inputs.size()), avals.reserve(e.outputs.size());
  for (Atom a : e.inputs) in.push_back((*this)(a));
  for (Var v : e.outputs) avals.push_back(from_.avals[v]);
  const std::vector<Atom> out = builder_.add_eqn(*e.op, params ? std::move(params) : e.params, std::move(in), avals, e.loc);
  for (std::size_t k = 0; k < out.size(); ++k)
    if (!atoms_[e.outputs[k]]) atoms_[e.outputs[k]] = out[k];
}

Atom JaxprCopy::operator()(Atom a) { return a.is_literal() ? builder_.add_literal(from_.literals[a.literal()]) : atoms_[a.var()].value(); }

Jaxpr JaxprCopy::finish(std::span<const Atom> outputs) && {
  std::vector<Atom> results;
  for (Atom a : outputs) results.push_back((*this)(a));
  return std::move(builder_).finish(std::move(results));
}

}  // namespace weft::detail
