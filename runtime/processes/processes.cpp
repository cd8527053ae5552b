#include "weft/runtime/processes/processes.h"

#include <algorithm>
#include <atomic>

#include "weft/core/base/process_wide.h"
#include "weft/runtime/host/device.h"

namespace weft::detail {
namespace {

std::atomic<bool> used{false};
std::atomic<const Processes*> joined{nullptr};

}  // namespace

int Processes::process_of(int device) const {
  if (device >= num_devices() && first_accelerator.empty()) return index;
  const std::vector<int>& first = device < num_devices() ? first_device : first_accelerator;
  return static_cast<int>(std::upper_bound(first.begin(), first.end(), device) - first.begin()) - 1;
}

std::vector<int> Processes::processes_of(std::span<const int> devices) const {
  std::vector<int> ranks;
  for (int d : devices) ranks.push_back(process_of(d));
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

const Processes& processes() {
  if (const Processes* p = joined.load(std::memory_order_acquire)) return *p;
  static const auto& alone = process_wide_from([] {
    Processes p;
    p.first_device = {0, num_host_devices()};
    used.store(true, std::memory_order_release);
    return p;
  });
  return alone;
}

bool several_processes() {
  const Processes* p = joined.load(std::memory_order_acquire);
  return p && p->count > 1;
}

bool devices_were_used() { return used.load(std::memory_order_acquire); }

void set_processes(int index, const std::vector<int>& device_counts, const std::vector<std::vector<std::string>>& accelerator_kinds) {
  auto* p = new Processes;  // lives as long as the process
  p->index = index, p->count = static_cast<int>(device_counts.size());
  p->first_device = {0};
  for (int n : device_counts) p->first_device.push_back(p->first_device.back() + n);
  p->first_accelerator = {p->num_devices()};
  for (std::size_t r = 0; r < device_counts.size(); ++r) {
    if (r < accelerator_kinds.size())
      p->accelerator_kinds.insert(p->accelerator_kinds.end(), accelerator_kinds[r].begin(), accelerator_kinds[r].end());
    p->first_accelerator.push_back(p->num_devices() + static_cast<int>(p->accelerator_kinds.size()));
  }
  joined.store(p, std::memory_order_release);
}

std::vector<std::size_t> local_positions(const std::vector<int>& device_ids) {
  const Processes& p = processes();
  std::vector<std::size_t> list;
  for (std::size_t k = 0; k < device_ids.size(); ++k)
    if (p.is_local(device_ids[k])) list.push_back(k);
  return list;
}

bool all_local(const std::vector<int>& device_ids) {
  if (!several_processes()) return true;
  const Processes& p = processes();
  return std::all_of(device_ids.begin(), device_ids.end(), [&](int id) { return p.is_local(id); });
}

}  // namespace weft::detail
