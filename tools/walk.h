// A program's equations, one after the other.
#pragma once
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/array/array_impl.h"
#include "weft/core/ir/jaxpr.h"

namespace weft::tools {

/// The program's results; run(equation, operands) gives those of an equation.
template <class F>
std::vector<Array> walk(const Jaxpr& program, std::span<const Array> inputs, F&& run) {
  const detail::JaxprData& d = program.data();
  std::vector<Array> values(d.avals.size());
  std::copy(d.consts.begin(), d.consts.end(), values.begin());
  std::copy(inputs.begin(), inputs.end(), values.begin() + d.num_consts);
  const auto read = [&](const std::vector<detail::Atom>& atoms) {
    std::vector<Array> out;
    for (detail::Atom a : atoms)
      out.push_back(a.is_literal() ? detail::make_literal(d.literals[a.literal()].aval, d.literals[a.literal()].bits) : values[a.var()]);
    return out;
  };
  for (const Eqn& e : d.eqns) {
    std::vector<Array> results = run(e, read(e.inputs));
    for (std::size_t k = 0; k < results.size(); ++k) values[e.outputs[k]] = std::move(results[k]);
  }
  return read(d.outputs);
}

}  // namespace weft::tools
