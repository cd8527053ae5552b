// Splits a program, given which of its inputs are linear, into what depends on those and what is known, for its transpose.
#pragma once
#include <vector>

#include "weft/core/ir/rules.h"

namespace weft::detail {

/// The rules of operations of kind control, all about linear inputs: which results depend on them, for which operands do (at least one
/// does). Without a rule all results do.
struct DependenceTransform {
  static constexpr std::string_view name = "dependence", doc = "Which results depend on linear inputs.";
  static constexpr Kind every = Kind::control;
  using Function = std::vector<bool>(const ParamsBase& params, const std::vector<bool>& in, std::size_t num_out);
};
template <class Op>
using DependenceRule = Rule<DependenceTransform, Op>;

/// An equation with results of both kinds, which it computes apart. Results that depend may be left out unless `any_linear`.
struct SeparateTransform {
  static constexpr std::string_view name = "separate", doc = "What depends on linear inputs taken apart from what does not.";
  static constexpr Kind every = Kind::control;
  using Function = std::vector<Array>(const Eqn& e, std::span<const Array> in, const std::vector<bool>& in_mask,
                                      const std::vector<bool>& out_mask, bool any_linear);
};
template <class Op>
using SeparateRule = Rule<SeparateTransform, Op>;

/// Whether an equation that has dependent results must be replaced for its transpose, also if all of them depend.
struct ReplacedTransform {
  static constexpr std::string_view name = "replaced", doc = "Whether it is replaced for its transpose.";
  using Function = bool(const ParamsBase& params);
};
template <class Op>
using ReplacedRule = Rule<ReplacedTransform, Op>;

/// An equal program in which the results of each equation all depend on linear inputs, or none does. Calls, branches and loops that compute
/// both (a loop's counter beside what it adds up) are taken apart; a while with a bound becomes the scan that it stands for. What can't be
/// taken apart (a shard_map) counts as depending with all its results.
Jaxpr separated(const Jaxpr& j, const std::vector<bool>& linear);

}  // namespace weft::detail
