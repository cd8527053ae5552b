#include "backends/cuda/device_step.h"

#include "backends/cuda/radix.h"
#include "backends/cuda/solver.h"

namespace weft::detail::cuda {

int device_launches(const Eqn& e, std::span<const Aval> in) {
  if (e.op == &primitive_of<RadixOrder>) return radix_launches(params_as<RadixOrder::Params>(*e.params), in[0]);
  if (e.op == &primitive_of<SolverCall>) return -1;
  return -2;
}

std::unique_ptr<DeviceStep> make_device_step(GpuDevice& device, const NamedKernels& kernels, const Eqn& e, std::span<const Aval> in,
                                             std::span<const Aval> out, const std::string& name) {
  if (e.op == &primitive_of<RadixOrder>) return make_radix_step(device, kernels, params_as<RadixOrder::Params>(*e.params), in, name);
  if (e.op == &primitive_of<SolverCall>) return make_solver_step(device, kernels, params_as<SolverCall::Params>(*e.params), in, out, name);
  return nullptr;
}

}  // namespace weft::detail::cuda
