// The estimated cost of a program of kernels and steps.
#pragma once
#include "weft/backends/codegen/planner/program.h"
#include "weft/runtime/host/executable.h"

namespace weft::detail {

/// Flops and bytes of all its steps; of branches the mean is taken, while loops count one iteration.
CostAnalysis program_cost(const KernelProgram& p);

/// The cost of one step of p, of a loop with all its iterations; `root`: the outermost program, which has the tables.
CostAnalysis step_cost(const Step& s, const KernelProgram& p, const KernelProgram& root);

/// The bytes of its arguments, its results, and its temporaries.
MemoryAnalysis program_memory(const KernelProgram& p);

}  // namespace weft::detail
