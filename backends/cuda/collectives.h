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

/// Collectives that are put into the devices' streams between its making and `begun()`: who waits for the devices watches over them.
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

/// Among several processes, before something is put into the devices' streams: looks for failures, and waits while very much is in them, so
/// that no call of the driver waits for room instead, where nobody looks.
void before_collective(const std::vector<GpuDevice*>& devices, const CollectiveLabel& label, const std::vector<int>& across);

/// Aborts all communicators, and forgets what ran.
void give_up_collectives(const std::string& why);

/// Waits for a device. While collectives of it run, errors that NCCL reports of its communicators become DistributedErrors, as does a
/// collective that has begun WEFT_COLLECTIVE_TIMEOUT seconds ago (600 if it is not set, 0: for ever; among several processes their time
/// limit) and has not ended, and, among several, that another has given up or is gone.
void wait_watching(GpuDevice& device, const std::string& what);
/// The same, while more collectives of the device may still run than these.
void wait_for_collectives(GpuDevice& device, const std::string& what, std::size_t at_most = 0);
/// NCCL's version, or why there is none.
std::string collectives_version();

}  // namespace weft::detail::cuda
