// What the runtime needs of devices beyond the host's: defined in backends/cuda, bound at link time. Their ids follow those of all
// processes' host devices.
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
  /// The machine's, by kind. Opens the driver at the first call; never throws for want of one, and uses none.
  virtual std::vector<std::string> found() = 0;
  /// Before the first use of one: this process drives those that have these places in found(), and no others.
  virtual void choose(std::vector<int> places) = 0;
  /// How many this process drives. Never throws for want of a driver.
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
  /// One group of a collective, as run_collective has it; in[k] is on device_ids[k], and is null for another process's. All processes
  /// that have devices among device_ids call it, in one order. Throws DistributedError where the devices fail each other.
  virtual void join(const CollectivePlan& plan, const std::vector<int>& group, std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out,
                    std::span<const int> device_ids) = 0;
  /// Messages between processes' devices, one of each process: what goes to the device at a place, and what comes from it. The memory is
  /// this process's device's. Throws DistributedError.
  struct DeviceMessage {
    std::size_t place = 0;
    Ref<Buffer> memory;
  };
  virtual void exchange(std::span<const int> device_ids, std::span<const DeviceMessage> going, std::span<const DeviceMessage> coming,
                        const CollectiveLabel& label) = 0;
};
Accelerators& accelerators();

/// Whether the environment says that devices beyond the host's are to be left alone.
bool keeps_to_the_host();

/// Whether anything has found devices beyond the host's.
bool has_accelerators();

/// Whether the id is none of a host device, of any process.
bool is_accelerator(int id);

}  // namespace weft::detail
