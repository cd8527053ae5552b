// Which equations have effects besides computing their results: prints, callbacks. Passes keep those equations, and their order.
#pragma once
#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// Whether the equation, or one in a sub-program of it, has an effect.
bool has_effects(const Eqn& e);
bool has_effects(const Jaxpr& j);
/// Whether the program contains a callback of any kind, also a pure one.
bool calls_back(const Eqn& e);
bool calls_back(const Jaxpr& j);
/// Whether the program contains an io_callback, which must run exactly as often as the user's program says. Debugging output may appear
/// twice where values are recomputed.
bool performs_io(const Eqn& e);
bool performs_io(const Jaxpr& j);
/// Whether the equation may be executed speculatively: it terminates, and calls no function of the user's, which might throw.
bool is_harmless(const Eqn& e);

}  // namespace weft::detail
