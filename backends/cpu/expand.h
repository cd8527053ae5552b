// Operations that no kernel is and that no library computes on the host, written out in ones that are kernels and products.
#pragma once
#include <optional>
#include <span>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// The program of an equation: convolutions for which oneDNN has no code, and those of a single channel. Nothing for others.
std::optional<Jaxpr> expand_for_cpu(const Eqn& e, std::span<const Aval> in);

}  // namespace weft::detail
