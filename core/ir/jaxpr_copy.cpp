#include "weft/core/ir/jaxpr_copy.h"

#include "weft/core/ir/effects.h"
#include "weft/core/ir/eqn_avals.h"

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
  in.reserve(e.inputs.size());
  for (Atom a : e.inputs) in.push_back((*this)(a));
  add(e, params ? std::move(params) : e.params, std::move(in));
}

void JaxprCopy::add(const Eqn& e, ParamsRef params, std::vector<Atom> inputs) {
  const std::vector<Atom> out = builder_.add_eqn(*e.op, std::move(params), std::move(inputs), result_avals(from_, e), e.loc);
  for (std::size_t k = 0; k < out.size(); ++k)
    if (!atoms_[e.outputs[k]]) atoms_[e.outputs[k]] = out[k];
}

void JaxprCopy::add(const Eqn& e, const PrunedEqn& pruned) {
  std::vector<Atom> out;
  // An equation without results is removed, and with it the values that only it reads, such as the index of a cond.
  if (!pruned.outputs.empty() || has_effects(e)) {
    std::vector<Atom> in;
    std::vector<Aval> avals;
    for (std::size_t i : pruned.inputs) in.push_back((*this)(e.inputs[i]));
    for (std::size_t k : pruned.outputs) avals.push_back(from_.avals[e.outputs[k]]);
    out = builder_.add_eqn(*e.op, pruned.params, std::move(in), avals, e.loc);
  }
  for (std::size_t k = 0; k < e.outputs.size(); ++k) {
    const PrunedResult& r = pruned.results[k];
    if (r.from == PrunedResult::From::result) atoms_[e.outputs[k]] = out[r.index];
    if (r.from == PrunedResult::From::operand) atoms_[e.outputs[k]] = (*this)(e.inputs[r.index]);
  }
}

std::vector<Atom> JaxprCopy::add_program(const Jaxpr& j, std::span<const Atom> inputs) {
  const JaxprData& d = j.data();
  std::vector<Atom> env;
  for (const Array& c : d.consts) env.push_back(builder_.add_const(c));
  env.insert(env.end(), inputs.begin(), inputs.end());
  const auto read = [&](Atom a) { return a.is_literal() ? builder_.add_literal(d.literals[a.literal()]) : env[a.var()]; };
  for (const Eqn& e : d.eqns) {
    std::vector<Atom> in;
    for (Atom a : e.inputs) in.push_back(read(a));
    const std::vector<Atom> out = builder_.add_eqn(*e.op, e.params, std::move(in), result_avals(d, e), e.loc);
    env.insert(env.end(), out.begin(), out.end());
  }
  std::vector<Atom> results;
  for (Atom a : d.outputs) results.push_back(read(a));
  return results;
}

Atom JaxprCopy::operator()(Atom a) { return a.is_literal() ? builder_.add_literal(from_.literals[a.literal()]) : atoms_[a.var()].value(); }

Jaxpr JaxprCopy::finish(std::span<const Atom> outputs) && {
  std::vector<Atom> results;
  for (Atom a : outputs) results.push_back((*this)(a));
  return std::move(builder_).finish(std::move(results));
}

Jaxpr JaxprCopy::finish_with(std::vector<Atom> results) && { return std::move(builder_).finish(std::move(results)); }

}  // namespace weft::detail
