// Reductions over windows, written out in movements and elementwise primitives, for backends that fuse those.
#pragma once
#include <optional>

#include "weft/core/ir/rules.h"
#include "weft/core/ops/reduce/window_params.h"

namespace weft::detail {

/// What computes an equation's result from its operands; null where it is better done otherwise.
using WindowExpansion = Array (*)(std::span<const Array> in, const ParamsBase& params);
/// The expansions of operations that reduce over windows in a way of their own.
struct WindowExpansionTransform {
  static constexpr std::string_view name = "window_expansion",
                                    doc = "A reduction over windows, expanded into elementwise operations and data movement.";
  using Function = WindowExpansion(const ParamsBase& params, std::span<const Aval> in);
};
/// The expansions of select_and_gather_add and of select_and_scatter_add.
WindowExpansion expand_choice(const SelectAndGatherParams& p, std::span<const Aval> in);
WindowExpansion expand_scatter_to_choice(const SelectAndScatterParams& p, std::span<const Aval> in);

/// The program of an equation that reduces over windows, chooses from them or adds to what they choose; nothing where it is better done
/// otherwise: choices among many elements, elements that many windows share and add to, programs as combiners.
std::optional<Jaxpr> expand_window(const Eqn& eqn, std::span<const Aval> in);

}  // namespace weft::detail
