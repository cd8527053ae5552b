// Programs that contain shard_map equations: the code between the maps is compiled as usual, and the maps run on their meshes.
#pragma once
#include "weft/runtime/host/executable.h"

namespace weft::detail {

/// Compiles a program that may contain shard_map equations, also within calls and control flow; without any, the backend compiles it. With
/// them, the executable takes operands of any placement, and its results stay where the maps leave them.
Ref<Executable> compile_with_maps(Backend& backend, const Jaxpr& j, const CompileOptions& options);

}  // namespace weft::detail
