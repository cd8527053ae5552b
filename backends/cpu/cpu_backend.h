// Compiles programs to native code for the host's processors.
#pragma once
#include "weft/runtime/host/executable.h"

namespace weft::detail {

class CpuBackend final : public Backend {
 public:
  std::string_view platform() const override { return "cpu"; }
  /// Throws CompileError where a part of the program has no implementation on this backend.
  Ref<Executable> compile(const Jaxpr& j, const CompileOptions& options) override;
};

}  // namespace weft::detail
