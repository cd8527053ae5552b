// The cache of compiled programs, keyed by their content, so that a program that is traced again (a gradient at each call, a function that
// is jitted in a loop) is compiled only once.
#pragma once
#include "weft/runtime/host/executable.h"

namespace weft::detail {

/// The program compiled for a platform, from the cache if an equal one is there. Programs with constants are compiled each time: their
/// values are part of the code. Thread-safe; several threads that ask for one program compile it once.
Ref<Executable> cached_executable(std::string_view platform, const Jaxpr& j, const CompileOptions& options);

/// The same if it is in the cache, else null.
Ref<Executable> known_executable(std::string_view platform, const Jaxpr& j);

}  // namespace weft::detail
