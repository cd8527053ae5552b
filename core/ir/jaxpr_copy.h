// Programs made of the equations of another one.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/prune.h"

namespace weft::detail {

/// Copies a program, or the parts of it that it is given, in the order in which they are given. The program must live as long.
class JaxprCopy {
 public:
  /// Begins with the constants.
  explicit JaxprCopy(const Jaxpr& from);
  /// A variable of the program becomes the next input; whatever computes it is then passed over.
  void add_input(Var v);
  /// All inputs of the program.
  void add_inputs();
  /// An equation of the program, whose operands are there already; with parameters of its own if `params` is given.
  void add(const Eqn& e, ParamsRef params = {});
  /// What is left of an equation of the program: its operands, or what its results are instead, are there already.
  void add(const Eqn& e, const PrunedEqn& pruned);
  /// An equation with results as the given one's, with other parameters and with operands that are atoms of the copy.
  void add(const Eqn& e, ParamsRef params, std::vector<Atom> inputs);
  /// The equations of another program, of atoms of the copy; what its results are there.
  std::vector<Atom> add_program(const Jaxpr& j, std::span<const Atom> inputs);
  Atom add_literal(const Literal& literal) { return builder_.add_literal(literal); }
  /// What is in the copy for an operand or a result of the program.
  Atom operator()(Atom a);
  /// Freezes: the copy has these results of the program.
  Jaxpr finish(std::span<const Atom> outputs) &&;
  /// Freezes: the results are these atoms of the copy.
  Jaxpr finish_with(std::vector<Atom> results) &&;

 private:
  const JaxprData& from_;
  JaxprBuilder builder_;
  std::vector<std::optional<Atom>> atoms_;  // of the program's variables
};

}  // namespace weft::detail
