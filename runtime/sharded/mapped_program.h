// Programs with shard_map equations in them: what is between the maps is compiled as usual; the maps run on their meshes.
#pragma once
#include "weft/runtime/host/executable.h"

namespace weft::detail {

/// Compiles a program that may hold shard_map equations, also within calls and control flow; one without any is the backend's own. The
/// executable of one with takes operands of any placement, and its results stay where the maps leave them.
Ref<Executable> compile_with_maps(Backend& backend, const Jaxpr& j, const CompileOptions& options);

}  // namespace weft::detail
