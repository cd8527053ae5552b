// Rewrites of a program before kernels are formed from it: equal equations become one, dead ones go, expansions are written out.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// A program that stands for an equation whose operands have these types, on some backend; nothing: the equation stays.
using Expansion = std::optional<Jaxpr> (*)(const Eqn& e, std::span<const Aval> in);

/// What the body of a composite of one operand computed, in the program that it became a part of: `result` is what the name says of
/// `operand`.
struct NamedValue {
  std::string name;
  Var operand = 0, result = 0;
};
struct SimplifiedProgram {
  Jaxpr program;
  std::vector<NamedValue> names;  ///< without those whose operand or result is not a value of the program any more
};

/// An equivalent program: calls replaced by their bodies, operations on keys of random numbers by those on integers that they are made of,
/// equal equations computed once (but not what a checkpointed function's derivative computes again), equations of literals evaluated,
/// unused ones removed. Inputs stay as they are. `expansion` is applied to all equations, calls before their bodies are taken, but not
/// within loops and branches.
Jaxpr simplify(const Jaxpr& j, Expansion expansion = nullptr);
/// The same, for targets that look at names.
SimplifiedProgram simplify_with_names(const Jaxpr& j, Expansion expansion = nullptr);

}  // namespace weft::detail
