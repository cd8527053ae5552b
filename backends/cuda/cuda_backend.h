// Compiles programs for NVIDIA's GPUs.
#pragma once
#include "weft/runtime/host/executable.h"

namespace weft::detail::cuda {

class CudaBackend final : public Backend {
 public:
  std::string_view platform() const override { return "cuda"; }
  /// Throws DeviceError where there is no device, CompileError where a part of the program has no implementation on this backend.
  Ref<Executable> compile(const Jaxpr& j, const CompileOptions& options) override;
};

}  // namespace weft::detail::cuda
