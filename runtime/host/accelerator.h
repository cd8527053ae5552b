// The runtime's interface to accelerators (GPUs), implemented in backends/cuda and bound at link time. The ids of accelerators follow those
// of all processes' host devices.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/array/array_impl.h"
#include "weft/runtime/host/device.h"

namespace weft::detail {

struct CollectivePlan;
struct CollectiveLabel;

class Accelerators {
 public:
  virtual ~Accelerators() = default;
  /// Their platform's name, as Device::platform() gives it and WEFT_PLATFORM and devices() take it.
  virtual std::string_view platform() const = 0;
  /// The kind of each accelerator of the machine. Opens the driver at the first call, but no device; empty without a driver.
  virtual std::vector<std::string> found() = 0;
  /// Restricts this process to the accelerators at these positions in found(). Must be called before one is used.
  virtual void choose(std::vector<int> places) = 0;
  /// The number of accelerators that this process drives; 0 without a driver.
  virtual int count() = 0;
  /// The reason why count() is 0, for messages.
  virtual std::string why_none() = 0;
  virtual std::string kind(int id) = 0;
  virtual MemoryStats memory_stats(int id) = 0;

  /// Memory of the device, aligned to at least 256 bytes. Throws DeviceError if the device is out of memory.
  virtual Ref<Buffer> allocate(std::size_t bytes, int id) = 0;
  /// A copy of host memory on the device, ordered with the device's other work.
  virtual Ref<Buffer> upload(const void* from, std::size_t bytes, int id) = 0;
  /// Waits for the device's work, then copies the buffer to the host.
  virtual void download(const Ref<Buffer>& from, void* to) = 0;
  /// A copy on the same device, or another one.
  virtual Ref<Buffer> copy(const Ref<Buffer>& from, int id) = 0;
  /// Waits until the buffer's contents have been computed; throws the errors of the work that computes them.
  virtual void wait(const Ref<Buffer>& buffer) = 0;
  /// Runs one group of a collective, as run_collective does; in[k] is on device_ids[k], and null for a device of another process. All
  /// processes that have devices among device_ids call it, in the same order. Throws DistributedError if a device or its process fails.
  virtual void join(const CollectivePlan& plan, const std::vector<int>& group, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
                    std::span<const int> device_ids) = 0;
  /// A message between this process's device and that of another process: the memory, on this process's device, that is sent to it or
  /// received from it. Throws DistributedError.
  struct DeviceMessage {
    std::size_t place = 0;
    Ref<Buffer> memory;
  };
  virtual void exchange(std::span<const int> device_ids, std::span<const DeviceMessage> going, std::span<const DeviceMessage> coming,
                        const CollectiveLabel& label) = 0;
};
Accelerators& accelerators();

/// Whether the environment restricts this process to host devices.
bool keeps_to_the_host();

/// Whether there are accelerators.
bool has_accelerators();

/// Whether the id is that of an accelerator, of any process.
bool is_accelerator(int id);

}  // namespace weft::detail
