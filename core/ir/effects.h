// Which equations do something besides computing their results: prints, callbacks. Passes keep those, in their order.
#pragma once
#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// Whether the equation, or one in a sub-program of it, has an effect.
bool has_effects(const Eqn& e);
bool has_effects(const Jaxpr& j);
/// Whether the program comes to a callback of any kind, also a pure one.
bool calls_back(const Eqn& e);
bool calls_back(const Jaxpr& j);
/// The same for io_callback alone, which must run once for each time that the user's program says so; debugging output may come twice
/// where values are computed again.
bool performs_io(const Eqn& e);
bool performs_io(const Jaxpr& j);
/// Whether it can be computed where the user's program wouldn't come to it: it ends, and calls nothing of the user's, which may throw.
bool is_harmless(const Eqn& e);

}  // namespace weft::detail
