#include "weft/transforms/jit/global_rows.h"

#include <algorithm>

#include "weft/core/ops/collective/process_local.h"

namespace weft::detail {
namespace {

bool is_result(const JaxprData& d, Var v) { return std::find(d.outputs.begin(), d.outputs.end(), Atom::var(v)) != d.outputs.end(); }
/// Whether an equation reads a result that was moved out of a global array.
bool reads_own_results(const JaxprData& d) {
  std::vector<bool> own(d.avals.size());
  for (const Eqn& e : d.eqns) {
    for (Atom a : e.inputs)
      if (!a.is_literal() && own[a.var()]) return true;
    if (process_move(*e.op) == ProcessMoveTo::host_local) own[e.outputs[0]] = is_result(d, e.outputs[0]);
  }
  return false;
}
/// Of each input: the type of the global array to which it is moved, or its own. Nothing if one is used in both ways.
std::optional<std::vector<Aval>> global_types(const JaxprData& d) {
  std::vector<Aval> types(d.input_avals().begin(), d.input_avals().end());
  std::vector<bool> moved(types.size()), used(types.size());
  const auto input = [&](Atom a) { return !a.is_literal() && a.var() >= d.first_input() && a.var() < d.first_result(); };
  for (const Eqn& e : d.eqns)
    for (Atom a : e.inputs) {
      if (!input(a)) continue;
      const std::size_t i = a.var() - d.first_input();
      if (process_move(*e.op) == ProcessMoveTo::global)
        moved[i] = true, types[i] = d.avals[e.outputs[0]];
      else
        used[i] = true;
    }
  for (Atom a : d.outputs)
    if (input(a)) used[a.var() - d.first_input()] = true;
  for (std::size_t i = 0; i < types.size(); ++i)
    if (moved[i] && used[i]) return {};
  if (std::find(moved.begin(), moved.end(), true) == moved.end()) return {};
  return types;
}

}  // namespace

std::optional<Jaxpr> with_global_rows(const Jaxpr& program) {
  const JaxprData& d = program.data();
  const std::optional<std::vector<Aval>> types = global_types(d);
  if (!types || reads_own_results(d)) return {};
  JaxprBuilder builder;
  std::vector<Atom> atoms(d.avals.size(), Atom::var(0));
  for (Var v = 0; v < d.first_result(); ++v)
    atoms[v] = v < d.first_input() ? builder.add_const(d.consts[v]) : builder.add_input((*types)[v - d.first_input()]);
  const auto atom = [&](Atom a) { return a.is_literal() ? builder.add_literal(d.literals[a.literal()]) : atoms[a.var()]; };
  for (const Eqn& e : d.eqns) {
    const std::optional<ProcessMoveTo> move = process_move(*e.op);
    if (move == ProcessMoveTo::global || (move == ProcessMoveTo::host_local && is_result(d, e.outputs[0]))) {
      atoms[e.outputs[0]] = atom(e.inputs[0]);
      continue;
    }
    std::vector<Atom> inputs;
    std::vector<Aval> results;
    for (Atom a : e.inputs) inputs.push_back(atom(a));
    for (Var v : e.outputs) results.push_back(d.avals[v]);
    const std::vector<Atom> made = builder.add_eqn(*e.op, e.params, std::move(inputs), results, e.where());
    for (std::size_t i = 0; i < made.size(); ++i) atoms[e.outputs[i]] = made[i];
  }
  std::vector<Atom> outputs;
  for (Atom a : d.outputs) outputs.push_back(atom(a));
  return std::move(builder).finish(std::move(outputs));
}

}  // namespace weft::detail
