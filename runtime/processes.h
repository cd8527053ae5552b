// The processes that run one program, and whose devices are whose: the devices of process 0 come first.
#pragma once
#include <span>
#include <vector>

namespace weft::detail {

struct Processes {
  int index = 0, count = 1;
  std::vector<int> first_device;  ///< of each process, and at the end how many devices there are
  int num_devices() const { return first_device.back(); }
  int num_local_devices() const { return first_device[static_cast<std::size_t>(index) + 1] - first_local(); }
  int first_local() const { return first_device[static_cast<std::size_t>(index)]; }
  int process_of(int device) const;
  /// Those of several devices, in order, each once.
  std::vector<int> processes_of(std::span<const int> devices) const;
  /// Devices beyond the hosts' (GPUs) are each process's own.
  bool is_local(int device) const {
    return (device >= first_local() && device < first_device[static_cast<std::size_t>(index) + 1]) || device >= num_devices();
  }
};
/// Fixes the number of host devices.
const Processes& processes();
/// Whether there are others. Fixes nothing.
bool several_processes();
/// Whether processes() has been asked.
bool devices_were_used();
/// Of distributed::initialize(), before the first use of a device: how many devices each process has.
void set_processes(int index, const std::vector<int>& device_counts);

/// Positions in a mesh of this process's devices.
std::vector<std::size_t> local_positions(const std::vector<int>& device_ids);
bool all_local(const std::vector<int>& device_ids);

}  // namespace weft::detail
