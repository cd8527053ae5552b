// Matmuls by cuBLASLt, opened when the first program needs it.
#pragma once
#include <memory>

#include "weft/backends/codegen/planner/program.h"
#include "weft/backends/cuda/device.h"
#include "weft/core/base/function_ref.h"

namespace weft::detail::cuda {

/// Whether libcublasLt can be opened (WEFT_LIBCUBLASLT names another file).
bool has_matmuls();
/// Its version, or that there is none.
std::string matmuls_version();

/// One matmul, made ready for a device: descriptions of the matrices, and an algorithm, chosen once in a process for devices of a kind.
/// It is the fastest of those that the library proposes, and kept in the cache of code; among several processes, with WEFT_CUDA_TUNE=0
/// or WEFT_CUDA_DETERMINISTIC=1 it is the first one. float32 is computed as such; WEFT_CUDA_TF32=1 allows TF32. Narrower floats are
/// summed in float32.
class GpuMatmul {
 public:
  virtual ~GpuMatmul() = default;
  /// `bias`: 0 where the step has none. `line`: the user's, for errors.
  virtual void run(DevicePointer a, DevicePointer b, DevicePointer out, DevicePointer bias, FunctionRef<SourceLoc()> line) = 0;
};
/// `name`: of the program, for messages.
std::unique_ptr<GpuMatmul> make_matmul(GpuDevice& device, const MatmulStep& p, const std::string& name);

}  // namespace weft::detail::cuda
