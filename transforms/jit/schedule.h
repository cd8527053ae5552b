// The schedules of compiled functions: stated by the user, or searched by measurement.
#pragma once
#include <string_view>

#include "weft/transforms/jit/stages.h"

namespace weft {

/// Compiles the function again, for the host, with other schedules for some of its kernels. All copies of it, and the jitted function that
/// it comes from, then run that code. `steps` is a text as `as_text("schedule")` gives it: `kernel0:`, then a line for each step; kernels
/// that it doesn't name keep the schedules that weft chooses, and an empty text restores all of those. Steps that only reorder independent
/// work keep every bit of the results. Throws CompileError, with kernel and step, for steps that can't be carried out, for programs on
/// several devices, and for other platforms than the host's; the function is then unchanged.
void schedule(const detail::CompiledBase& compiled, std::string_view steps, SourceLoc loc = SourceLoc::here());

/// Switches the search for faster schedules, for programs compiled for the host later: once one has run for a while, a background thread
/// compiles its long-running kernels with a few other schedules, measures them on arrays of its own, and replaces code where that is at
/// least 5 % faster. Results keep every bit. Schedules found are kept in the cache of compiled code, for later programs and processes on
/// the same processor. Searches take at most 5 % of the processor time that the process uses, two seconds in all, and wait while other
/// threads keep the processors busy. Off by default; WEFT_SCHEDULE_SEARCH=1 switches it on, too.
void search_schedules(bool on);

}  // namespace weft
