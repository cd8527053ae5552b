#include "weft/backends/codegen/math/math.h"

#include <array>
#include <cstddef>

#include "weft/backends/codegen/math/rules.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

using Rules = std::array<MathRule, 64>;
/// By the function's number. Filled while the library is loaded.
Rules& rules() {
  static constinit Rules all{};
  return all;
}

}  // namespace

AddMathRule::AddMathRule(const MathRule& rule) { rules().at(static_cast<std::size_t>(rule.function)) = rule; }

const MathRule& math_rule(MathFunction f) {
  const MathRule& rule = rules().at(static_cast<std::size_t>(f));
  if (!rule.expand) throw CompileError("codegen: internal error: a mathematical function that has no rule");
  return rule;
}

std::vector<const MathRule*> functions_of_c() {
  std::vector<const MathRule*> some;
  for (const MathRule& rule : rules())
    if (rule.c_name) some.push_back(&rule);
  return some;
}

std::string_view name_of(MathFunction f) { return math_rule(f).name; }

KernelValue expand_math(KernelBuilder& b, MathFunction f, std::span<const KernelValue> operands) {
  return math_rule(f).expand({&b, operands[0]}, {&b, operands.size() > 1 ? operands[1] : operands[0]}).v;
}

double library_math(MathFunction f, double x, double y) { return math_rule(f).in_float64(x, y); }

}  // namespace weft::detail

extern "C" double weft_library_math(int function, double x, double y) {
  return weft::detail::library_math(static_cast<weft::detail::MathFunction>(function), x, y);
}
