// Collectives between CUDA devices, by NCCL.
#pragma once
#include <functional>
#include <memory>
#include <vector>

#include "backends/cuda/device.h"
#include "runtime/collectives.h"

namespace weft::detail::cuda {

/// As Accelerators::join.
void join_group(const CollectivePlan& plan, const std::vector<int>& group, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
                std::span<const int> device_ids);
/// Collectives that are put into the devices' streams between its making and `begun()`: who waits for the devices watches over them.
class WatchedCollective {
 public:
  WatchedCollective(const std::vector<GpuDevice*>& devices, std::string what);
  void begun();

 private:
  std::vector<GpuDevice*> devices_;
  std::string what_;
  std::vector<std::unique_ptr<Mark>> begin_;
};

/// Whoever keeps graphs in which communicators are used has one of these: `drop` is called before these are aborted.
class KeepsCollectives {
 public:
  explicit KeepsCollectives(std::function<void()> drop);
  ~KeepsCollectives();
  KeepsCollectives(const KeepsCollectives&) = delete;
  KeepsCollectives& operator=(const KeepsCollectives&) = delete;
  void drop() const { drop_(); }

 private:
  std::function<void()> drop_;
};
/// How often communicators have been aborted: what was captured before holds no more.
std::uint64_t communicators_aborted();
/// After a failure nothing can be done with communicators but to abort them; the next collective makes new ones.
void abort_communicators();

/// Waits for a device. While collectives of it run, errors that NCCL reports of its communicators become DistributedErrors, as does a
/// collective that has begun WEFT_COLLECTIVE_TIMEOUT seconds ago (600 if it is not set, 0: for ever) and has not ended.
void wait_watching(GpuDevice& device, const std::string& what);
/// The same, if collectives of the device may still run.
void wait_for_collectives(GpuDevice& device, const std::string& what);
/// NCCL's version, or why there is none.
std::string collectives_version();

}  // namespace weft::detail::cuda
