// Kernels as LLVM functions for CPUs. Declared without LLVM's headers.
#pragma once
#include <string>

#include "backends/codegen/schedule.h"

namespace llvm {
class Module;
}

namespace weft::detail {

struct VectorFeatures;

/// Adds `void name(void** args, int64 begin, int64 end)` to the module: runs the blocks [begin, end) of the schedule. `args` holds one
/// pointer for each argument of the kernel that is no scratch.
void emit_kernel(llvm::Module& module, const Kernel& k, const Schedule& s, const VectorFeatures& features, const std::string& name);

}  // namespace weft::detail
