// Dead code in loops and branches: the parts of them on which the results that are read depend.
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

/// Where a result of the equation comes from afterwards.
struct PrunedResult {
  enum class From { nowhere, result, operand } from = From::nowhere;  ///< nowhere: it is not read
  std::size_t index = 0;                                              ///< of the new equation's results, or of the old one's operands
};
/// The equation without what nobody reads: same primitive, other parameters, some of its operands and results.
struct PrunedEqn {
  ParamsRef params;
  std::vector<std::size_t> inputs;    ///< operands that stay, by their position
  std::vector<std::size_t> outputs;   ///< results that stay, by their position
  std::vector<PrunedResult> results;  ///< one for each result that there was
};

/// Nothing: all of it is needed.
struct PruneTransform {
  static constexpr std::string_view name = "prune", doc = "Computes only what is read of its results.";
  static constexpr Kind every = Kind::control;
  using Function = std::optional<PrunedEqn>(const PruneContext& c);
};
template <class Op>
using PruneRule = Rule<PruneTransform, Op>;

/// What these results depend on, as a program with these of the inputs, in this order: every one that is read must be among them. Removes
/// unused equations, and prunes those that stay.
Jaxpr live_part(const Jaxpr& j, const std::vector<std::size_t>& inputs, const std::vector<std::size_t>& outputs);

}  // namespace weft::detail
