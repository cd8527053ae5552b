// Compiles programs to native code for the host's processors.
#pragma once
#include "weft/runtime/host/executable.h"

namespace weft::detail {

class CpuBackend final : public Backend {
 public:
  std::string_view platform() const override { return "cpu"; }
  /// Throws CompileError where a part of the program has no implementation on this backend.
  Ref<Executable> compile(const Jaxpr& j, const CompileOptions& options) override { return compile(j, options, {}); }
  /// Compiles with the schedules that the text states (codegen/schedule/schedule_text.h); other kernels get the scheduler's.
  Ref<Executable> compile(const Jaxpr& j, const CompileOptions& options, std::string_view schedules);
};

}  // namespace weft::detail
