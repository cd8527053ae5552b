// The schedules of compiled functions: stated by the user, or searched by measurement.
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

/// Whether programs compiled for the host from here on search their schedules: once such a program has run for a while, a thread in the
/// background compiles its long-running kernels by a few other schedules, measures them on arrays of its own, and replaces the code of
/// those that became at least 5 % faster. Results keep every bit. What was found is kept in the cache of compiled code, for later programs
/// and processes on the same processor. Searches take at most a twentieth of the processor time that the process uses, two seconds in all,
/// and are put off while other threads keep the processor busy. Off by default; WEFT_SCHEDULE_SEARCH=1 switches it on, too.
void search_schedules(bool on);

}  // namespace weft
