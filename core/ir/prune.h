// Dead code elimination in loops, branches and calls: keeps the parts on which results that are read depend.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "weft/core/ir/rules.h"

namespace weft::detail {

struct PruneContext {
  const Eqn& eqn;
  std::span<const Aval> in, out;
  const std::vector<bool>& live;  ///< which results are read; at least one, or the equation has effects
  template <class P>
  const P& get() const {
    return params_as<P>(*eqn.params);
  }
};

/// Where a result of the original equation comes from after pruning.
struct PrunedResult {
  enum class From { nowhere, result, operand } from = From::nowhere;  ///< nowhere: it is not read
  std::size_t index = 0;                                              ///< of the new equation's results, or of the old one's operands
};
/// The pruned equation: the same primitive with other parameters, and some of the operands and results.
struct PrunedEqn {
  ParamsRef params;
  std::vector<std::size_t> inputs;    ///< positions of the operands that stay
  std::vector<std::size_t> outputs;   ///< positions of the results that stay
  std::vector<PrunedResult> results;  ///< one for each result of the original equation
};

/// Rules for pruning an equation; they return nullopt where all of it is live.
struct PruneTransform {
  static constexpr std::string_view name = "prune", doc = "Computes only what is read of its results.";
  static constexpr Kind every = Kind::control;
  using Function = std::optional<PrunedEqn>(const PruneContext& c);
};
template <class Op>
using PruneRule = Rule<PruneTransform, Op>;

/// The program that computes these results from these inputs, in the given order. The inputs must include all those on which the results
/// depend. Unused equations are removed, the others are pruned.
Jaxpr live_part(const Jaxpr& j, const std::vector<std::size_t>& inputs, const std::vector<std::size_t>& outputs);

}  // namespace weft::detail
