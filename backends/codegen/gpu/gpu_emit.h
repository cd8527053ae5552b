// Kernels as LLVM functions for GPUs. Declared without LLVM's headers.
#pragma once
#include <string>

#include "weft/backends/codegen/schedule/gpu_schedule.h"

namespace llvm {
class Module;
}

namespace weft::detail {

/// The target of GPU code.
struct GpuTarget {
  int architecture = 80;  ///< compute capability, ten times: 80 is sm_80
  /// Code for the host that calls `weft_emulated_...` for what only a GPU has (its thread's number, barriers, exchanges within a warp),
  /// so that kernels can be tested where there is no GPU.
  bool emulated = false;
  friend bool operator==(const GpuTarget&, const GpuTarget&) = default;
};

/// Adds the kernel `name` to the module. Its parameters: a pointer for each argument that is not scratch, then, if the schedule says so,
/// the workspace. Emulated: `void name(void** parameters)`, where each parameter is the address of a pointer, as cuLaunchKernel takes them.
/// `aliased[a]`: argument a may share memory with another one.
void emit_gpu_kernel(llvm::Module& module, const GpuLaunch& launch, const GpuTarget& target, const std::vector<char>& aliased,
                     const std::string& name);

}  // namespace weft::detail
