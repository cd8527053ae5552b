#include <algorithm>

#include "core/effects.h"
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

  JaxprBuilder b;
  std::vector<Atom> renamed(d.avals.size(), Atom::var(0));
  for (int i = 0; i < d.num_consts; ++i) renamed[static_cast<std::size_t>(i)] = b.add_const(d.consts[static_cast<std::size_t>(i)]);
  for (int i = 0; i < d.num_inputs; ++i) {
    const std::size_t v = d.first_input() + static_cast<std::size_t>(i);
    renamed[v] = b.add_input(d.avals[v]);
  }
  auto rename = [&](Atom a) { return a.is_literal() ? b.add_literal(d.literals[a.literal()]) : renamed[a.var()]; };
  for (std::size_t i = 0; i < d.eqns.size(); ++i) {
    if (!keep[i]) continue;
    const Eqn& e = d.eqns[i];
    std::vector<Atom> inputs;
    for (Atom a : e.inputs) inputs.push_back(rename(a));
    std::vector<Aval> avals;
    for (Var v : e.outputs) avals.push_back(d.avals[v]);
    const std::vector<Atom> out = b.add_eqn(*e.op, e.params, std::move(inputs), avals, e.loc);
    for (std::size_t k = 0; k < out.size(); ++k) renamed[e.outputs[k]] = out[k];
  }
  std::vector<Atom> outputs;
  for (Atom a : d.outputs) outputs.push_back(rename(a));
  return std::move(b).finish(std::move(outputs));
}

}  // namespace weft::detail
