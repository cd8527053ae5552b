// Matrix products by cuBLASLt, opened when the first program needs it.
#pragma once
#include <memory>

#include "backends/codegen/program.h"
#include "backends/cuda/device.h"

namespace weft::detail::cuda {

/// Whether libcublasLt can be opened (WEFT_LIBCUBLASLT names another file).
bool has_products();

/// One product, made ready for a device: descriptions of the matrices, and the algorithm that the library's heuristic chose.
class GpuProduct {
 public:
  virtual ~GpuProduct() = default;
  virtual void run(DevicePointer a, DevicePointer b, DevicePointer out) const = 0;
};
/// float32 is computed as such, not as TF32.
std::unique_ptr<GpuProduct> make_product(GpuDevice& device, const ProductStep& p);

}  // namespace weft::detail::cuda
