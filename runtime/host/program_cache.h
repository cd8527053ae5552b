// The cache of compiled programs by their content, so that the same program is compiled once however often it is made again: a gradient
// that is traced at each call, a function that is jitted in a loop.
#pragma once
#include "weft/runtime/host/executable.h"

namespace weft::detail {

/// The program compiled for a platform, from the cache if an equal one is there. Programs with constants are compiled each time: their
/// values are part of the code. Thread-safe; several threads that ask for one program compile it once.
Ref<Executable> cached_executable(std::string_view platform, const Jaxpr& j, const CompileOptions& options);

/// The same where it was compiled before; null: it wasn't, or is no more in the cache.
Ref<Executable> known_executable(std::string_view platform, const Jaxpr& j);

}  // namespace weft::detail
