// Separates the equations of a program that depend on its linear inputs from those that do not, as transposition needs.
#pragma once
#include <vector>

#include "weft/core/ir/rules.h"

namespace weft::detail {

/// Rules of control-flow operations: which results depend on linear inputs, given which operands do (at least one does). Without a rule,
/// all results do.
struct DependenceTransform {
  static constexpr std::string_view name = "dependence", doc = "Which results depend on linear inputs.";
  static constexpr Kind every = Kind::control;
  using Function = std::vector<bool>(const ParamsBase& params, const std::vector<bool>& in, std::size_t num_out);
};
template <class Op>
using DependenceRule = Rule<DependenceTransform, Op>;

/// Rules that split an equation by the kind of its results. Dependent ones may be left out unless `any_linear`.
struct SeparateTransform {
  static constexpr std::string_view name = "separate", doc = "What depends on linear inputs taken apart from what does not.";
  static constexpr Kind every = Kind::control;
  using Function = std::vector<Array>(const Eqn& e, std::span<const Array> in, const std::vector<bool>& in_mask,
                                      const std::vector<bool>& out_mask, bool any_linear);
};
template <class Op>
using SeparateRule = Rule<SeparateTransform, Op>;

/// Rules that say whether an equation must be replaced before it is transposed even if all of its results are dependent.
struct ReplacedTransform {
  static constexpr std::string_view name = "replaced", doc = "Whether it is replaced for its transpose.";
  using Function = bool(const ParamsBase& params);
};
template <class Op>
using ReplacedRule = Rule<ReplacedTransform, Op>;

/// An equal program in which the results of each equation all depend on linear inputs, or none does. Calls, branches and loops that compute
/// both (a loop's counter beside what it adds up) are taken apart, and so are maps over a mesh; a while loop with a bound becomes the
/// equivalent scan.
Jaxpr separated(const Jaxpr& j, const std::vector<bool>& linear);

}  // namespace weft::detail
