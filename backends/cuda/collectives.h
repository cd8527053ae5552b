// Collectives between CUDA devices, by NCCL.
#pragma once
#include "backends/cuda/device.h"
#include "runtime/collectives.h"

namespace weft::detail::cuda {

/// As Accelerators::join.
void join_group(const CollectivePlan& plan, const std::vector<int>& group, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
                std::span<const int> device_ids);
/// Waits for a device; while it does, errors that NCCL reports of its communicators become DistributedErrors, as does a wait of more than
/// WEFT_COLLECTIVE_TIMEOUT seconds, if that is set.
void wait_watching(GpuDevice& device, const std::string& what);

}  // namespace weft::detail::cuda
