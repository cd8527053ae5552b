// Schedules that a user or a test states, and the switch of the schedule search. compile_scheduled is defined in backends/registry.cpp,
// which knows all targets, the others in backends/cpu/executable/schedule_search.cpp.
#pragma once
#include "weft/runtime/host/executable.h"

namespace weft::detail {

/// Compiles as the platform's Backend::compile does, with the schedules that the text states (`as_text("schedule")` prints such a text).
/// Throws CompileError if a schedule can't be applied, and for platforms and programs that take none.
Ref<Executable> compile_scheduled(std::string_view platform, const Jaxpr& j, const CompileOptions& options, std::string_view schedules);

/// Whether programs compiled from now on search for faster schedules in the background: the last argument of switch_schedule_search, or
/// else WEFT_SCHEDULE_SEARCH.
bool searches_schedules();
void switch_schedule_search(bool on);

}  // namespace weft::detail
