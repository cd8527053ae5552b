// Programs called on arrays that are sharded over a mesh, outside of any jit that would keep the partitioned program.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/core/ir/jaxpr.h"

namespace weft::detail {

/// The program's results, if some of the inputs are divided and the program can be partitioned over their mesh: then it runs as one program
/// on all devices. Nothing if none is divided, if one is committed elsewhere, or if the program holds what can't run so. What was compiled
/// is kept, by the program's structure and the inputs' divisions.
std::optional<std::vector<Array>> call_sharded(const std::string& name, const Jaxpr& j, std::span<const Array> inputs);

}  // namespace weft::detail
