// Expansions, for the host, of operations that have neither a kernel nor a library routine into kernels and matmuls.
#pragma once
#include <optional>
#include <span>

#include "weft/core/ops/control/composite.h"

namespace weft::detail {

/// Rules, by a composite's name, for the program that the host runs in place of its body on operands of these types; nothing keeps the
/// body. Rules may be in any file.
struct CpuComposite {
  using Function = std::optional<Jaxpr>(const CompositeParams& p, std::span<const Aval> in);
};

/// The program of an equation: convolutions for which oneDNN has no code, those of a single channel, and composites with a rule. Nothing
/// for others.
std::optional<Jaxpr> expand_for_cpu(const Eqn& e, std::span<const Aval> in);

}  // namespace weft::detail
