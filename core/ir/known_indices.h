// Operations that read an array at positions that are known when the program is compiled, and loops whose bodies do.
#pragma once
#include <optional>
#include <span>

#include "weft/core/base/function_ref.h"
#include "weft/core/ir/rules.h"

namespace weft::detail {

struct KnownIndicesContext {
  const Eqn& eqn;
  std::span<const Aval> in;
  const HostTensor& indices;  ///< the second operand
  bool in_loop = false;       ///< whether a loop runs the equation
};
/// Rules for operations whose second operand holds positions: the program, on the same operands, that reads where those are. They return
/// nullopt where reading the positions from memory is no slower.
struct KnownIndicesTransform {
  static constexpr std::string_view name = "known_indices", doc = "Positions that are constants become expressions or slices.";
  using Function = std::optional<Jaxpr>(const KnownIndicesContext& c);
};

/// Rules for operations that hand operands on to their programs unchanged. `rewritten(program, first, count)` is the program, whose first
/// `count` inputs are the operands from `first` on, for what is known of those; nullopt where it stays. A rule returns the parameters with
/// what was rewritten, or null.
struct KnownConstantsTransform {
  using Rewritten = FunctionRef<std::optional<Jaxpr>(const Jaxpr& program, std::size_t first, std::size_t count)>;
  using Function = ParamsRef(const ParamsBase& params, Rewritten rewritten);
};

}  // namespace weft::detail
