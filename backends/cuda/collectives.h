// Collectives between CUDA devices, by NCCL.
#pragma once
#include <memory>
#include <vector>

#include "weft/backends/cuda/communicators.h"
#include "weft/backends/cuda/device.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/collectives.h"

namespace weft::detail::cuda {

/// As Accelerators::join.
void join_group(const CollectivePlan& plan, const std::vector<int>& group, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
                std::span<const int> device_ids);
/// As Accelerators::exchange.
void exchange_messages(std::span<const int> device_ids, std::span<const Accelerators::DeviceMessage> going,
                       std::span<const Accelerators::DeviceMessage> coming, const CollectiveLabel& label);

/// Collectives launched on the devices' streams between its construction and `begun()`; threads that wait for the devices watch them.
class WatchedCollective {
 public:
  struct What {
    CollectiveLabel label;
    std::vector<int> across;  ///< processes; empty: this one alone
    std::uint64_t calls = 0;  ///< so many those have put into their devices' streams, with this one
  };
  WatchedCollective(const std::vector<GpuDevice*>& devices, const CollectiveLabel& label, const std::vector<int>& across);
  void begun();

 private:
  std::vector<GpuDevice*> devices_;
  std::shared_ptr<const What> what_;
  std::vector<std::unique_ptr<Mark>> begin_;
};

/// Called with several processes before work is launched on the devices' streams: checks for failures, and waits while the streams are very
/// full, since a driver call that waits for space could not be watched.
void before_collective(const std::vector<GpuDevice*>& devices, const CollectiveLabel& label, const std::vector<int>& across);

/// Aborts all communicators, and forgets what ran.
void give_up_collectives(const std::string& why);

/// Waits for a device. While collectives of it run, errors that NCCL reports of its communicators become DistributedErrors, as does a
/// collective that has begun WEFT_COLLECTIVE_TIMEOUT seconds ago (600 if it is not set, 0: for ever; among several processes their time
/// limit) and has not ended, and, among several, that another has given up or is gone.
void wait_watching(GpuDevice& device, const std::string& what);
/// Waits until at most this many collectives of the device are running.
void wait_for_collectives(GpuDevice& device, const std::string& what, std::size_t at_most = 0);
/// NCCL's version, or why there is none.
std::string collectives_version();

}  // namespace weft::detail::cuda
