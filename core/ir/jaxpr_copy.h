// Building a program from the equations of another one.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/prune.h"

namespace weft::detail {

/// Builds a copy of a program, or of parts of it, in the order in which they are added. The program must outlive this object.
class JaxprCopy {
 public:
  /// Adds the program's constants.
  explicit JaxprCopy(const Jaxpr& from);
  /// Makes a variable of the program the next input; the equation that computes it need not be added.
  void add_input(Var v);
  /// Adds all inputs of the program.
  void add_inputs();
  /// Adds an equation of the program, whose operands must have been added before; `params`, if given, replaces its parameters.
  void add(const Eqn& e, ParamsRef params = {});
  /// Adds what pruning left of an equation of the program; its remaining operands must have been added before.
  void add(const Eqn& e, const PrunedEqn& pruned);
  /// Adds an equation with the results of the given one, with other parameters, and with atoms of the copy as operands.
  void add(const Eqn& e, ParamsRef params, std::vector<Atom> inputs);
  /// Adds the equations of another program, applied to atoms of the copy. Returns its results as atoms of the copy.
  std::vector<Atom> add_program(const Jaxpr& j, std::span<const Atom> inputs);
  Atom add_literal(const Literal& literal) { return builder_.add_literal(literal); }
  /// The copy's atom for an operand or a result of the program.
  Atom operator()(Atom a);
  /// The finished copy, with these results of the program.
  Jaxpr finish(std::span<const Atom> outputs) &&;
  /// The finished copy, with these of its own atoms as results.
  Jaxpr finish_with(std::vector<Atom> results) &&;

 private:
  const JaxprData& from_;
  JaxprBuilder builder_;
  std::vector<std::optional<Atom>> atoms_;  // of the program's variables
};

}  // namespace weft::detail
