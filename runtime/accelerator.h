// What the runtime needs of devices beyond the host's: defined in backends/cuda, bound at link time. Their ids follow those of all
// processes' host devices.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/array_impl.h"
#include "runtime/device.h"

namespace weft::detail {

struct CollectivePlan;

class Accelerators {
 public:
  virtual ~Accelerators() = default;
  /// How many there are. Opens the driver at the first call; never throws for want of one.
  virtual int count() = 0;
  /// Why there are none.
  virtual std::string why_none() = 0;
  virtual std::string kind(int id) = 0;
  virtual MemoryStats memory_stats(int id) = 0;

  /// Memory of the device, aligned to 256 bytes at least. Throws DeviceError when there is no more.
  virtual Ref<Buffer> allocate(std::size_t bytes, int id) = 0;
  /// A copy on the device, made in the order of what else the device does.
  virtual Ref<Buffer> upload(const void* from, std::size_t bytes, int id) = 0;
  /// Waits for what the device has to do, and copies to the host.
  virtual void download(const Ref<Buffer>& from, void* to) = 0;
  /// A copy on the same device, or another one.
  virtual Ref<Buffer> copy(const Ref<Buffer>& from, int id) = 0;
  /// Waits until the buffer's contents are there; errors of what makes them are thrown here.
  virtual void wait(const Ref<Buffer>& buffer) = 0;
  /// One group of a collective, as run_collective has it; in[k] lies on device_ids[k]. Throws DistributedError where the devices fail each
  /// other.
  virtual void join(const CollectivePlan& plan, const std::vector<int>& group, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
                    std::span<const int> device_ids) = 0;
};
Accelerators& accelerators();

/// Whether anything has found devices beyond the host's.
bool has_accelerators();

/// Whether the id is none of a host device, of any process.
bool is_accelerator(int id);

}  // namespace weft::detail
