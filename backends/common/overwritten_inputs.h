// What becomes of donated inputs whose memory has results in it, where the call throws.
#pragma once
#include <cstddef>
#include <span>

#include "weft/backends/codegen/planner/program.h"
#include "weft/core/array/array.h"

namespace weft::detail {

/// For a call that throws in one of its steps: the inputs into whose memory the first `begun` steps may have written results hold nothing
/// any more, so that reading them is an error and never other numbers. The other inputs stay as they were.
void drop_overwritten_inputs(const KernelProgram& program, std::size_t begun, std::span<const Array> inputs);

}  // namespace weft::detail
