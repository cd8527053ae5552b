// Loop-invariant code motion: what each step of a loop would compute again from values that don't change.
#pragma once
#include <optional>
#include <vector>

#include "weft/core/ir/rules.h"

namespace weft::detail {

/// A loop's equation, and a program of some of its operands before it, whose results are further operands of it.
struct HoistedEqn {
  Jaxpr before;
  std::vector<std::size_t> before_inputs;  ///< operands of the loop that `before` takes, by their position
  ParamsRef params;
  std::size_t insert_at = 0;  ///< the results of `before` become operands of the loop from here on
};
/// Nothing: no step computes what is worth being computed once.
struct HoistTransform {
  static constexpr std::string_view name = "hoist", doc = "What no step changes is computed once, before.";
  using Function = std::optional<HoistedEqn>(const Eqn& e);
};
template <class Op>
using HoistRule = Rule<HoistTransform, Op>;

/// A program divided into what can be computed before it is run the first time, and the rest.
struct InvariantPart {
  Jaxpr before;                            ///< of some inputs that are the same at each run
  std::vector<std::size_t> before_inputs;  ///< which
  Jaxpr rest;                              ///< the program with the results of `before` as further inputs
};
/// How often the program is run: at least once, or perhaps never; then only what is_harmless is computed before.
enum class Runs { at_least_once, perhaps_never };
/// `invariant`: which inputs are the same at each run. The results of `before` are inputs of the rest from position `at` on. Nothing where
/// only such equations could be moved as cost next to nothing where their results are read, or would have larger results than operands.
std::optional<InvariantPart> take_invariants(const Jaxpr& j, const std::vector<bool>& invariant, std::size_t at, Runs runs);

/// The equation, if it is a loop or a branch, with what is the same in each step taken out of it and of the loops inside of it; nothing
/// where that changes nothing. `before` may have no results.
std::optional<HoistedEqn> hoist_invariants(const Eqn& e);

}  // namespace weft::detail
