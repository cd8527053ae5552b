// Calls of programs on arrays that are sharded over a mesh, outside of jit, which keeps partitioned programs itself.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// The program's results, if some of the inputs are sharded and the program can be partitioned over their mesh: it then runs as one SPMD
/// program. Nothing if no input is sharded, if one is committed to other devices, or if the program can't be partitioned. Compiled programs
/// are cached by the program's structure and the inputs' shardings.
std::optional<std::vector<Array>> call_sharded(const std::string& name, const Jaxpr& j, std::span<const Array> inputs);

}  // namespace weft::detail
