// Compiling with schedules that a user or a test states. backends/registry.cpp, which knows all targets, defines it.
#pragma once
#include "weft/runtime/host/executable.h"

namespace weft::detail {

/// As Backend::compile of the platform, but for the kernels whose schedules the text states (`as_text("schedule")` prints such a text).
/// CompileError where the text can't be followed, and for platforms and programs that take none.
Ref<Executable> compile_scheduled(std::string_view platform, const Jaxpr& j, const CompileOptions& options, std::string_view schedules);

}  // namespace weft::detail
