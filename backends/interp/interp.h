// The oracle: evaluates a program equation by equation through each primitive's reference(). Slow and obvious.
#pragma once
#include "weft/core/ir/primitive.h"
#include "weft/runtime/host/executable.h"

namespace weft::detail {

/// Runs one equation of any kind on concrete arrays and literals; results are uncommitted arrays in the memory of host device `device`.
std::vector<Array> interpret_eqn(const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                                 std::span<const Aval> out_avals, int device, SourceLoc loc);
/// Runs a program on concrete arrays and literals. Equations without a line of their own count as the caller's.
std::vector<Array> interpret(const Jaxpr& j, std::span<const Array> inputs, int device, SourceLoc caller = {});

/// Compiles to nothing: its executables interpret their program.
class InterpBackend final : public Backend {
 public:
  std::string_view platform() const override { return "interp"; }
  Ref<Executable> compile(const Jaxpr& j, const CompileOptions& options) override;
};

}  // namespace weft::detail
