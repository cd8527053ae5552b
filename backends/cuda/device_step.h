// Steps of a program on a device other than the planner's kernels and matmuls: equations that hand-written kernels or one of NVIDIA's
// libraries computes. All other equations without kernels run on the host.
#pragma once
#include <map>
#include <memory>
#include <span>
#include <string>

#include "weft/backends/cuda/device.h"
#include "weft/core/base/function_ref.h"
#include "weft/core/ir/jaxpr.h"
#include "weft/core/ir/rules.h"

namespace weft::detail::cuda {

class DeviceStep {
 public:
  virtual ~DeviceStep() = default;
  /// Scratch memory that run() needs, which no other step uses meanwhile.
  virtual std::int64_t workspace_bytes() const { return 0; }
  /// Puts the work into the device's stream. `at`: the operands, then the results. `line`: the user's, for errors.
  virtual void run(std::span<const DevicePointer> at, DevicePointer workspace, FunctionRef<SourceLoc()> line) = 0;
};

/// Kernels of a program's code that are not kernels of the planner's, by name.
using NamedKernels = std::map<std::string, Function>;

/// The rules that make steps, and say how many launches they take; an operation has both or neither.
struct DeviceLaunchRules {
  using Function = int(const Eqn& e, std::span<const Aval> in);
};
struct DeviceStepRules {
  using Function = std::unique_ptr<DeviceStep>(GpuDevice& device, const NamedKernels& kernels, const Eqn& e, std::span<const Aval> in,
                                               std::span<const Aval> out, const std::string& name);
};

/// How many launches an equation without kernels takes on the device; -1: they cannot be captured; -2: the device has nothing for it.
int device_launches(const Eqn& e, std::span<const Aval> in);
/// The prepared step; null if the device has no implementation. `name`: of the program, for messages.
std::unique_ptr<DeviceStep> make_device_step(GpuDevice& device, const NamedKernels& kernels, const Eqn& e, std::span<const Aval> in,
                                             std::span<const Aval> out, const std::string& name);

}  // namespace weft::detail::cuda
