// The properties of a mathematical function of kernels: a rule beside the function's expression, in the file of its family. The library,
// the cost model, the emitters and the text of kernels read it from here.
#pragma once
#include <string_view>
#include <vector>

#include "weft/backends/codegen/math/emit.h"

namespace weft::detail {

struct MathRule {
  MathFunction function = MathFunction::exp;
  std::string_view name;  ///< in kernels' text
  double cost = 0;        ///< of a vector of float32, as node_cost counts
  /// Takes float32 or float64; `y`: the second operand of functions of two, else x again.
  Expr (*expand)(Expr x, Expr y) = nullptr;
  /// The function in float64, by the C library or weft's substitute for it.
  double (*in_float64)(double x, double y) = nullptr;
  /// Its name in C, for functions that call the library for rare arguments (call_where).
  const char* c_name = nullptr;
};

/// The rule of a function; throws CompileError if there is none.
const MathRule& math_rule(MathFunction f);

/// The functions that the C library has under `c_name`.
std::vector<const MathRule*> functions_of_c();

/// The declaration of a rule, at namespace scope.
struct AddMathRule {
  AddMathRule(const MathRule& rule);
};

}  // namespace weft::detail
