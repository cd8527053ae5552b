#include "weft/runtime/host/device.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "weft/core/base/environment.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/accelerator.h"
#include "weft/runtime/host/allocator.h"
#include "weft/runtime/processes/processes.h"

namespace weft {
namespace {

thread_local int default_device_of_thread = -1;  // the first of this process

int wanted_host_devices() {
  int n = config.num_cpu_devices;
  if (n == ProcessConfig{}.num_cpu_devices) n = static_cast<int>(detail::integer_in_environment("WEFT_NUM_CPU_DEVICES").value_or(n));
  if (n < 1 || n > 1024) throw DeviceError(fmt::format("config.num_cpu_devices is {}; it must be from 1 to 1024", n));
  return n;
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0 || line.rfind("CPU part", 0) == 0) {
      const std::size_t colon = line.find(':');
      if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
    }
  return "host processor";
}

}  // namespace

namespace detail {

int num_host_devices() {
  static const int at_start = config.num_cpu_devices;
  static const int n = wanted_host_devices();
  if (config.num_cpu_devices != at_start && config.num_cpu_devices != n)
    throw DeviceError(
        fmt::format("config.num_cpu_devices was set to {} after the devices were first used, when there were {}; set it before",
                    config.num_cpu_devices, n));
  return n;
}

namespace {

std::atomic<bool> found_accelerators{false};

/// As in JAX, what says nothing else goes to the first GPU, where there is one; WEFT_PLATFORM chooses otherwise. Of several processes each
/// must have one.
bool prefers_gpu() {
  static const bool is = [] {
    const std::string_view platform = word_in_environment("WEFT_PLATFORM"), other = accelerators().platform();
    if (!platform.empty() && platform != "cpu" && platform != other)
      throw DeviceError(fmt::format("WEFT_PLATFORM is `{}`; it can be `cpu` or `{}`", platform, other));
    if (platform == "cpu") return false;
    if (several_processes()) {
      const Processes& p = processes();
      std::vector<int> without;
      for (int r = 0; r < p.count; ++r)
        if (p.num_accelerators(r) == 0) without.push_back(r);
      if (without.empty()) return found_accelerators = true;
      if (platform.empty()) return false;
      throw DeviceError(fmt::format("WEFT_PLATFORM is `{}`, but of {} processes {} {} no such device{}", other, p.count,
                                    fmt::join(without, ", "), without.size() == 1 ? "has" : "have",
                                    p.num_accelerators(p.index) == 0 ? ": " + accelerators().why_none() : std::string()));
    }
    if (accelerators().count() == 0) {
      if (platform.empty()) return false;
      throw DeviceError(fmt::format("WEFT_PLATFORM is `{}`, but there is no such device: {}", other, accelerators().why_none()));
    }
    found_accelerators = true;
    return true;
  }();
  return is;
}

}  // namespace

int default_device_id() {
  if (default_device_of_thread >= 0) return default_device_of_thread;
  return prefers_gpu() ? processes().first_local_accelerator() : processes().first_local();
}

bool keeps_to_the_host() { return word_in_environment("WEFT_PLATFORM") == "cpu"; }

bool has_accelerators() { return found_accelerators.load(std::memory_order_relaxed); }

bool is_accelerator(int id) { return id >= processes().num_devices(); }

std::string to_string(const Device& d) {
  return fmt::format("{}:{}", d.platform(), is_accelerator(d.id()) ? d.id() - processes().num_devices() : d.id());
}

}  // namespace detail

std::string Device::kind() const {
  if (detail::is_accelerator(id_)) {
    const detail::Processes& p = detail::processes();
    return p.is_local(id_) ? detail::accelerators().kind(id_) : p.accelerator_kinds.at(static_cast<std::size_t>(id_ - p.num_devices()));
  }
  static const auto& name = detail::process_wide<std::string>(processor_name());
  return name;
}

std::string Device::platform() const { return detail::is_accelerator(id_) ? std::string(detail::accelerators().platform()) : "cpu"; }
int Device::process_index() const { return detail::processes().process_of(id_); }

MemoryStats Device::memory_stats() const {
  if (detail::is_accelerator(id_)) {
    if (!detail::processes().is_local(id_))
      throw DeviceError(fmt::format("memory_stats: {} is process {}'s; a process knows of its own devices, which local_devices() lists",
                                    *this, process_index()));
    return detail::accelerators().memory_stats(id_);
  }
  const detail::AllocatorStats s = detail::host_allocator_stats(id_);
  return {s.bytes_in_use, s.peak_bytes_in_use, detail::host_memory_limit()};
}

namespace {

std::vector<Device> devices_of(const char* operation, bool only_local, std::string_view platform, SourceLoc loc) {
  const std::string_view other = detail::accelerators().platform();
  if (!platform.empty() && platform != "cpu" && platform != other)
    throw DeviceError(fmt::format("{}: unknown platform '{}'; available: 'cpu', '{}'", operation, platform, other), loc);
  detail::num_host_devices();  // throws if it was changed since
  if (platform.empty()) platform = detail::prefers_gpu() ? other : "cpu";
  const detail::Processes& p = detail::processes();
  const auto between = [](int begin, int end) {
    std::vector<Device> list;
    for (int i = begin; i < end; ++i) list.push_back(Device::of_id(i));
    return list;
  };
  if (platform == "cpu")
    return only_local ? between(p.first_local(), p.first_local() + p.num_local_devices()) : between(0, p.num_devices());
  const int first = only_local ? p.first_local_accelerator() : p.num_devices();
  const int end = !detail::several_processes() ? first + detail::accelerators().count()
                  : only_local                 ? first + p.num_accelerators(p.index)
                                               : p.first_accelerator.back();
  if (end == first)
    throw DeviceError(fmt::format("{}: there is no device of platform `{}`: {}", operation, other,
                                  detail::several_processes() && detail::keeps_to_the_host()
                                      ? std::string("with WEFT_PLATFORM=cpu a process among several has none")
                                      : detail::accelerators().why_none()),
                      loc);
  detail::found_accelerators = true;
  return between(first, end);
}

}  // namespace

std::vector<Device> devices(std::string_view platform, SourceLoc loc) { return devices_of("devices", false, platform, loc); }

std::vector<Device> local_devices(std::string_view platform, SourceLoc loc) { return devices_of("local_devices", true, platform, loc); }

int device_count(std::string_view platform) { return static_cast<int>(devices(platform).size()); }
int local_device_count(std::string_view platform) { return static_cast<int>(local_devices(platform).size()); }
int process_index() { return detail::several_processes() ? detail::processes().index : 0; }
int process_count() { return detail::several_processes() ? detail::processes().count : 1; }

Scope default_device(Device device) {
  if (!detail::processes().is_local(device.id()))
    throw DeviceError(fmt::format("default_device: {} is process {}'s; a process computes on its own devices, which local_devices() lists",
                                  device, device.process_index()));
  const int saved = default_device_of_thread;
  default_device_of_thread = device.id();
  return Scope::make([](std::intptr_t id) { default_device_of_thread = static_cast<int>(id); }, saved);
}

}  // namespace weft
