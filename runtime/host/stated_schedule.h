// Schedules that a user or a test states, and whether others are searched for. backends/registry.cpp, which knows all targets, defines the
// first, backends/cpu/executable/schedule_search.cpp the others.
#pragma once
#include "weft/runtime/host/executable.h"

namespace weft::detail {

/// As Backend::compile of the platform, but for the kernels whose schedules the text states (`as_text("schedule")` prints such a text).
/// CompileError where the text can't be followed, and for platforms and programs that take none.
Ref<Executable> compile_scheduled(std::string_view platform, const Jaxpr& j, const CompileOptions& options, std::string_view schedules);

/// Whether programs that are compiled from here on get schedules that measurements in the background found faster than the usual ones:
/// what switch_schedule_search said last, or else whether WEFT_SCHEDULE_SEARCH is switched on.
bool searches_schedules();
void switch_schedule_search(bool on);

}  // namespace weft::detail
