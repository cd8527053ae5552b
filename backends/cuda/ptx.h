// The kernels of a program as code for NVIDIA's GPUs. Declared without LLVM's headers.
#pragma once
#include <string>
#include <vector>

#include "weft/backends/codegen/gpu/gpu_emit.h"
#include "weft/backends/codegen/planner/program.h"

namespace weft::detail {

/// A kernel of a program: the launches that it takes, one after the other, each with all arguments that are not scratch.
struct GpuFunction {
  std::string name;
  GpuSchedule schedule;
};
struct GpuCode {
  std::string image;                              ///< PTX; emulated: LLVM's text for the host
  std::vector<std::vector<GpuFunction>> kernels;  ///< of each kernel of the program
  /// What other steps launch: names without and with the prefix.
  std::vector<std::pair<std::string, std::string>> others;
};

/// The architecture that code is made for where no device says it: WEFT_CUDA_ARCH (80, sm_90), else sm_80.
GpuTarget default_gpu_target();
/// The architecture of a device, as far as the code generator knows it: newer ones take code for the newest that it knows.
int known_architecture(int compute_capability);

/// How programs are cut into kernels for GPUs.
TargetTraits gpu_traits();
/// Code for all kernels, from the cache of files if it was made before. Throws CompileError where a function needs libdevice and there is
/// none. `prefix`: of the kernels' names.
GpuCode compile_for_gpu(const KernelProgram& p, const GpuTarget& target, const std::string& prefix);
/// PTX of all kernels of a program, for people and tests.
std::string ptx_text(const Jaxpr& j, const std::vector<bool>& donated, const GpuTarget& target, const std::string& prefix);
/// Writes the PTX of a program for sm_80 and sm_90 into the folder that WEFT_PTX_DIR names, if it does: scripts/gpu-code assembles what
/// whole test programs leave there. What has no PTX leaves a file that begins with "error:". Programs of several devices are left out.
void keep_ptx(const Jaxpr& j, const std::vector<bool>& donated, const std::string& name);
/// LLVM's text before code generation, likewise.
std::string gpu_llvm_text(const KernelProgram& p, const GpuTarget& target);

/// Where libdevice.10.bc is; empty: nowhere. WEFT_LIBDEVICE, beside this library, the CUDA toolkit, Python's packages.
std::string libdevice_path();

}  // namespace weft::detail
