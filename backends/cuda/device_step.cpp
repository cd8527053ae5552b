#include "backends/cuda/device_step.h"

#include "backends/cuda/radix.h"

namespace weft::detail::cuda {

int device_launches(const Eqn& e, std::span<const Aval> in) {
  if (e.op == &primitive_of<RadixOrder>) return radix_launches(params_as<RadixOrder::Params>(*e.params), in[0]);
  return -2;
}

std::unique_ptr<DeviceStep> make_device_step(GpuDevice& device, const NamedKernels& kernels, const Eqn& e, std::span<const Aval> in,
                                             std::span<const Aval>, const std::string& name) {
  if (e.op == &primitive_of<RadixOrder>) return make_radix_step(device, kernels, params_as<RadixOrder::Params>(*e.params), in, name);
  return nullptr;
}

}  // namespace weft::detail::cuda
