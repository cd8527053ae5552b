#include "weft/core/ops/control/loop_rewrites.h"

#include "weft/core/ir/loop_facts.h"
#include "weft/core/ops/control/call.h"

namespace weft::detail {

std::vector<bool> inputs_with_tangents(const Jaxpr& body, const std::vector<bool>& given, std::size_t first, std::size_t num_carry,
                                       const std::function<std::vector<bool>(const Jaxpr&, const std::vector<bool>&)>& nonzero_out) {
  const std::vector<Aval> out = body.data().output_avals();
  bool may_grow = false;
  for (std::size_t k = 0; k < num_carry; ++k) may_grow |= !given[first + k] && out[k].dtype.is_inexact();
  if (!may_grow) return given;
  const Jaxpr flat = inline_calls(body);
  const auto results = [&](const Eqn& e, const std::vector<bool>& operands) {
    if (std::find(operands.begin(), operands.end(), true) == operands.end()) return std::vector<bool>(e.outputs.size());
    return nonzero_out(equation_program(flat.data(), e), facts_of_variables(e, operands));
  };
  return LoopFacts<bool>(flat, given, first, num_carry, false, results,
                         [](bool& carry, bool next) { return next && !carry && (carry = true); })
      .inputs();
}

std::vector<int> mapped_inputs(const Jaxpr& body, const MappedAxis& axis, std::vector<int> dims, std::size_t first, std::size_t num_carry) {
  const auto begin = dims.begin() + static_cast<std::ptrdiff_t>(first), end = begin + static_cast<std::ptrdiff_t>(num_carry);
  if (std::find(begin, end, kNotMapped) == end) return dims;
  const auto adopt = [](int& carry, int next) {
    if (carry != kNotMapped || next == kNotMapped) return false;
    carry = 0;
    return true;
  };
  const Jaxpr flat = inline_calls(body);
  dims = LoopFacts<int>(
             flat, dims, first, num_carry, kNotMapped,
             [&](const Eqn& e, const std::vector<int>& operands) {
               return batch_program(equation_program(flat.data(), e), axis, facts_of_variables(e, operands)).out_dims;
             },
             adopt)
             .inputs();
  // What the rules do in a whole program decides.
  for (bool again = true; again;) {
    again = false;
    const std::vector<int> out = batch_program(body, axis, dims).out_dims;
    for (std::size_t k = 0; k < num_carry; ++k) again |= adopt(dims[first + k], out[k]);
  }
  return dims;
}

}  // namespace weft::detail
