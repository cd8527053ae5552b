// Collectives between CUDA devices, by NCCL.
#pragma once
#include "backends/cuda/device.h"
#include "runtime/collectives.h"

namespace weft::detail::cuda {

/// As Accelerators::join.
void join_group(const CollectivePlan& plan, const std::vector<int>& group, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
                std::span<const int> device_ids);
/// Waits for a device. While collectives of it run, errors that NCCL reports of its communicators become DistributedErrors, as does a
/// collective that has begun WEFT_COLLECTIVE_TIMEOUT seconds ago (600 if it is not set, 0: for ever) and has not ended.
void wait_watching(GpuDevice& device, const std::string& what);
/// The same, if collectives of the device may still run.
void wait_for_collectives(GpuDevice& device, const std::string& what);
/// NCCL's version, or why there is none.
std::string collectives_version();

}  // namespace weft::detail::cuda
