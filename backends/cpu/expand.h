// Expansions, for the host, of operations that have neither a kernel nor a library routine into kernels and matmuls.
#pragma once
#include <optional>
#include <span>

#include "weft/core/ops/control/composite.h"

namespace weft::detail {

/// What the host runs in place of a composite's body on operands of these types; nothing: the body. A rule for a name may be in any
/// file.
struct CpuComposite {
  using Function = std::optional<Jaxpr>(const CompositeParams& p, std::span<const Aval> in);
};

/// The program of an equation: convolutions for which oneDNN has no code, those of a single channel, and composites with a rule. Nothing
/// for others.
std::optional<Jaxpr> expand_for_cpu(const Eqn& e, std::span<const Aval> in);

}  // namespace weft::detail
