// The schedules of a compiled function, stated by its user.
#pragma once
#include <string_view>

#include "weft/transforms/jit/stages.h"

namespace weft {

/// Compiles the function once more, for the host, with other schedules for some of its kernels; from then on it runs by that code, in all
/// copies of it and in the jitted function that it comes from. `steps` is a text as `as_text("schedule")` gives it: `kernel0:`, then a line
/// for each step; kernels that it doesn't name keep the schedules that weft chooses, and an empty text gives all of them back. Steps that
/// change the order of independent work keep all bits of the results. CompileError, with kernel and step, for steps that code can't be made
/// by, for programs that run on several devices, and on other platforms than the host's; the function stays as it was then.
void schedule(const detail::CompiledBase& compiled, std::string_view steps, SourceLoc loc = SourceLoc::here());

}  // namespace weft
