#include "weft/backends/cuda/device_step.h"

#include "weft/backends/cuda/radix.h"
#include "weft/backends/cuda/solver.h"

namespace weft::detail::cuda {
namespace {

const Rule<DeviceLaunchRules, RadixOrder> radix_order_launches([](const Eqn& e, std::span<const Aval> in) {
  return radix_launches(params_as<RadixOrder::Params>(*e.params), in[0]);
});
const Rule<DeviceStepRules, RadixOrder> radix_order_step([](GpuDevice& device, const NamedKernels& kernels, const Eqn& e,
                                                            std::span<const Aval> in, std::span<const Aval>, const std::string& name) {
  return make_radix_step(device, kernels, params_as<RadixOrder::Params>(*e.params), in, name);
});

const Rule<DeviceLaunchRules, SolverCall> solver_launches([](const Eqn&, std::span<const Aval>) { return -1; });
const Rule<DeviceStepRules, SolverCall> solver_step([](GpuDevice& device, const NamedKernels& kernels, const Eqn& e,
                                                       std::span<const Aval> in, std::span<const Aval> out, const std::string& name) {
  return make_solver_step(device, kernels, params_as<SolverCall::Params>(*e.params), in, out, name);
});

}  // namespace

int device_launches(const Eqn& e, std::span<const Aval> in) {
  DeviceLaunchRules::Function* const rule = find_rule<DeviceLaunchRules>(*e.op);
  return rule ? rule(e, in) : -2;
}

std::unique_ptr<DeviceStep> make_device_step(GpuDevice& device, const NamedKernels& kernels, const Eqn& e, std::span<const Aval> in,
                                             std::span<const Aval> out, const std::string& name) {
  DeviceStepRules::Function* const rule = find_rule<DeviceStepRules>(*e.op);
  return rule ? rule(device, kernels, e, in, out, name) : nullptr;
}

}  // namespace weft::detail::cuda
