// The processes that run one program, and whose devices are whose: the devices of process 0 come first.
#pragma once
#include <span>
#include <string>
#include <vector>

namespace weft::detail {

struct Processes {
  int index = 0, count = 1;
  std::vector<int> first_device;  ///< of each process, and at the end how many host devices there are
  /// The same of devices beyond the hosts' (GPUs), whose ids follow those of all hosts'; empty where one process has all that there are.
  std::vector<int> first_accelerator = {};
  std::vector<std::string> accelerator_kinds = {};  ///< of all processes'
  int num_devices() const { return first_device.back(); }
  int num_accelerators(int process) const {
    const auto r = static_cast<std::size_t>(process);
    return first_accelerator.empty() ? 0 : first_accelerator[r + 1] - first_accelerator[r];
  }
  /// The first of this process's.
  int first_local_accelerator() const {
    return first_accelerator.empty() ? num_devices() : first_accelerator[static_cast<std::size_t>(index)];
  }
  int num_local_devices() const { return first_device[static_cast<std::size_t>(index) + 1] - first_local(); }
  int first_local() const { return first_device[static_cast<std::size_t>(index)]; }
  int process_of(int device) const;
  /// Those of several devices, in order, each once.
  std::vector<int> processes_of(std::span<const int> devices) const;
  bool is_local(int device) const {
    return device < num_devices() ? device >= first_local() && device < first_device[static_cast<std::size_t>(index) + 1]
                                  : process_of(device) == index;
  }
};
/// Fixes the number of host devices.
const Processes& processes();
/// Whether there are others. Fixes nothing.
bool several_processes();
/// Whether processes() has been asked.
bool devices_were_used();
/// Of distributed::initialize(), before the first use of a device: how many host devices each process has, and which others; none where
/// that is left out.
void set_processes(int index, const std::vector<int>& device_counts, const std::vector<std::vector<std::string>>& accelerator_kinds = {});

/// Positions in a mesh of this process's devices.
std::vector<std::size_t> local_positions(const std::vector<int>& device_ids);
bool all_local(const std::vector<int>& device_ids);

}  // namespace weft::detail
