// The processes that run one program, and the devices of each; those of process 0 come first.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace weft::detail {

struct Processes {
  int index = 0, count = 1;
  std::vector<int> first_device;  ///< of each process; then, as the last entry, the number of host devices
  /// The same for accelerators, whose ids follow those of all host devices; empty if there is only one process.
  std::vector<int> first_accelerator = {};
  std::vector<std::string> accelerator_kinds = {};  ///< of all processes'
  int num_devices() const { return first_device.back(); }
  int num_accelerators(int process) const {
    const auto r = static_cast<std::size_t>(process);
    return first_accelerator.empty() ? 0 : first_accelerator[r + 1] - first_accelerator[r];
  }
  /// The id of this process's first accelerator.
  int first_local_accelerator() const {
    return first_accelerator.empty() ? num_devices() : first_accelerator[static_cast<std::size_t>(index)];
  }
  int num_local_devices() const { return first_device[static_cast<std::size_t>(index) + 1] - first_local(); }
  int first_local() const { return first_device[static_cast<std::size_t>(index)]; }
  int process_of(int device) const;
  /// The processes of several devices, in order, each once.
  std::vector<int> processes_of(std::span<const int> devices) const;
  bool is_local(int device) const {
    return device < num_devices() ? device >= first_local() && device < first_device[static_cast<std::size_t>(index) + 1]
                                  : process_of(device) == index;
  }
};
/// The processes. The first call fixes the number of host devices.
const Processes& processes();
/// Whether there are several processes. Does not fix the number of host devices.
bool several_processes();
/// Whether processes() has been called.
bool devices_were_used();
/// Called by distributed::initialize(), before a device is used: the number of host devices of each process, and its accelerators (none if
/// left out).
void set_processes(int index, const std::vector<int>& device_counts, const std::vector<std::vector<std::string>>& accelerator_kinds = {});

/// The positions of this process's devices in a mesh.
std::vector<std::size_t> local_positions(const std::vector<int>& device_ids);
bool all_local(const std::vector<int>& device_ids);

}  // namespace weft::detail
