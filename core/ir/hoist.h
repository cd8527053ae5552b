// Loop-invariant code motion: values that a loop computes in each step from invariant operands are computed once, before the loop.
#pragma once
#include <optional>
#include <vector>

#include "weft/core/ir/rules.h"

namespace weft::detail {

/// A loop's equation, and a program to run before it on some of its operands, whose results become further operands of the loop.
struct HoistedEqn {
  Jaxpr before;
  std::vector<std::size_t> before_inputs;  ///< operands of the loop that `before` takes, by their position
  ParamsRef params;
  std::size_t insert_at = 0;  ///< the results of `before` become operands of the loop from here on
};
/// The cost of one element of an elementwise equation's result, where reading four bytes that are in the cache costs 1.
using ElementCost = double (*)(const JaxprData& j, const Eqn& e);
/// Rules that hoist invariants out of an operation's sub-programs. A rule returns nullopt where no value is worth hoisting.
struct HoistTransform {
  static constexpr std::string_view name = "hoist", doc = "What no step changes is computed once, before.";
  using Function = std::optional<HoistedEqn>(const Eqn& e, ElementCost cost);
};
template <class Op>
using HoistRule = Rule<HoistTransform, Op>;

/// A program split into what can be computed once, before its first run, and the rest.
struct InvariantPart {
  Jaxpr before;                            ///< takes some of the inputs that are the same at each run
  std::vector<std::size_t> before_inputs;  ///< the positions of those inputs
  Jaxpr rest;                              ///< the program with the results of `before` as further inputs
};
/// How often the program is run: at least once, or perhaps never. In the latter case only equations for which is_harmless holds are moved.
enum class Runs { at_least_once, perhaps_never };
/// `invariant` says which inputs are the same at each run. The results of `before` are inputs of `rest` from position `at` on. Returns
/// nullopt where computing what could be moved takes no longer, in each run, than reading it from memory.
std::optional<InvariantPart> take_invariants(const Jaxpr& j, const std::vector<bool>& invariant, std::size_t at, Runs runs,
                                             ElementCost cost);

/// A loop or a branch with the invariants taken out of it and of the loops inside it; nullopt for other equations, and where nothing can be
/// moved. `before` may have no results.
std::optional<HoistedEqn> hoist_invariants(const Eqn& e, ElementCost cost);

}  // namespace weft::detail
