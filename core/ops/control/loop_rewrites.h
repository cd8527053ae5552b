// Rewrites of a loop's body for what its carry is in the end: a carry that starts without a tangent, or is not mapped, may get a tangent,
// or become mapped, in some step.
#pragma once
#include <algorithm>
#include <functional>
#include <vector>

#include "weft/core/ir/rewrite.h"

namespace weft::detail {

/// Which inputs of a loop's body have a tangent in some step: those given, and the carries that get one. `first` is the position of the
/// first carry among the inputs; the carries are the first `num_carry` results. `nonzero_out` finds by the mode's own rules which results
/// of a program have one, given the inputs that do: a function may have a reverse rule only.
std::vector<bool> inputs_with_tangents(const Jaxpr& body, const std::vector<bool>& given, std::size_t first, std::size_t num_carry,
                                       const std::function<std::vector<bool>(const Jaxpr&, const std::vector<bool>&)>& nonzero_out);

/// jvp_program or linearize_program of a loop's body; `nonzero`, which says what has a tangent in the first step, is extended to what has
/// one in some step.
template <class Rewrite>
auto rewritten_body(const Jaxpr& body, std::vector<bool>& nonzero, std::size_t first, std::size_t num_carry, Rewrite&& rewrite) {
  nonzero = inputs_with_tangents(body, nonzero, first, num_carry,
                                 [&](const Jaxpr& j, const std::vector<bool>& in) { return rewrite(j, in).nonzero_out; });
  for (;;) {
    auto program = rewrite(body, nonzero);
    const std::vector<bool> before = nonzero;
    for (std::size_t k = 0; k < num_carry; ++k)
      if (program.nonzero_out[k]) nonzero[first + k] = true;
    if (nonzero == before) return program;
  }
}

/// Where the mapped axis is in the inputs of a loop's body in some step: in front of the carries that become mapped, elsewhere as given.
std::vector<int> mapped_inputs(const Jaxpr& body, const MappedAxis& axis, std::vector<int> dims, std::size_t first, std::size_t num_carry);

}  // namespace weft::detail
