#include "runtime/device.h"

#include <atomic>
#include <cstdlib>
#include <fstream>

#include "core/error.h"
#include "runtime/accelerator.h"
#include "runtime/allocator.h"
#include "runtime/processes.h"

namespace weft {
namespace {

thread_local int default_device_of_thread = -1;  // the first of this process

int wanted_host_devices() {
  int n = config.num_cpu_devices;
  if (n == Config{}.num_cpu_devices)
    if (const char* text = std::getenv("WEFT_NUM_CPU_DEVICES")) {
      char* end = nullptr;
      const long value = std::strtol(text, &end, 10);
      if (*text == 0 || *end != 0 || value < 1 || value > 1024)
        throw DeviceError(fmt::format("WEFT_NUM_CPU_DEVICES is `{}`; it must be a number from 1 to 1024", text));
      n = static_cast<int>(value);
    }
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
  if (config.num_cpu_devices != at_start)
    throw DeviceError(
        fmt::format("config.num_cpu_devices was set to {} after the devices were first used, when there were {}; set it before",
                    config.num_cpu_devices, n));
  return n;
}

namespace {

std::atomic<bool> found_accelerators{false};

/// As in JAX, what says nothing else goes to the first GPU, where there is one; WEFT_PLATFORM chooses otherwise. Several processes have no
/// GPUs.
bool prefers_gpu() {
  static const bool is = [] {
    const char* given = std::getenv("WEFT_PLATFORM");
    const std::string_view platform = given ? given : "";
    if (!platform.empty() && platform != "cpu" && platform != "cuda")
      throw DeviceError(fmt::format("WEFT_PLATFORM is `{}`; it can be `cpu` or `cuda`", platform));
    if (platform == "cpu" || (platform.empty() && several_processes())) return false;
    if (platform == "cuda" && several_processes())
      throw DeviceError(
          "WEFT_PLATFORM is `cuda`, but several processes have no devices of this platform; only a program of one process has");
    if (accelerators().count() == 0) {
      if (platform.empty()) return false;
      throw DeviceError("WEFT_PLATFORM is `cuda`, but there is no such device: " + accelerators().why_none());
    }
    found_accelerators = true;
    return true;
  }();
  return is;
}

}  // namespace

int default_device_id() {
  if (default_device_of_thread >= 0) return default_device_of_thread;
  return prefers_gpu() ? processes().num_devices() : processes().first_local();
}

bool has_accelerators() { return found_accelerators.load(std::memory_order_relaxed); }

bool is_accelerator(int id) { return id >= processes().num_devices(); }

std::string to_string(const Device& d) {
  return fmt::format("{}:{}", d.platform(), is_accelerator(d.id()) ? d.id() - processes().num_devices() : d.id());
}

}  // namespace detail

std::string Device::kind() const {
  if (detail::is_accelerator(id_)) return detail::accelerators().kind(id_);
  static const std::string name = processor_name();
  return name;
}

std::string Device::platform() const { return detail::is_accelerator(id_) ? "cuda" : "cpu"; }
int Device::process_index() const { return detail::is_accelerator(id_) ? weft::process_index() : detail::processes().process_of(id_); }

MemoryStats Device::memory_stats() const {
  if (detail::is_accelerator(id_)) return detail::accelerators().memory_stats(id_);
  const detail::AllocatorStats s = detail::host_allocator_stats(id_);
  return {s.bytes_in_use, s.peak_bytes_in_use, detail::host_memory_limit()};
}

namespace {

/// The host devices with these ids, and this process's others.
std::vector<Device> devices_between(const char* operation, int begin, int end, std::string_view platform, SourceLoc loc) {
  if (!platform.empty() && platform != "cpu" && platform != "cuda")
    throw DeviceError(fmt::format("{}: there is no device of platform `{}`; there are `cpu` and `cuda`", operation, platform), loc);
  detail::num_host_devices();  // throws if it was changed since
  if (platform.empty()) platform = detail::prefers_gpu() ? "cuda" : "cpu";
  std::vector<Device> list;
  if (platform != "cuda")
    for (int i = begin; i < end; ++i) list.push_back(Device::of_id(i));
  if (platform == "cpu") return list;
  if (detail::several_processes()) {
    if (platform == "cuda")
      throw DeviceError(
          fmt::format("{}: several processes have no devices of platform `cuda`; only a program of one process has", operation), loc);
    return list;
  }
  const int more = detail::accelerators().count();
  if (platform == "cuda" && more == 0)
    throw DeviceError(fmt::format("{}: there is no device of platform `cuda`: {}", operation, detail::accelerators().why_none()), loc);
  if (more > 0) detail::found_accelerators = true;
  for (int i = 0; i < more; ++i) list.push_back(Device::of_id(detail::processes().num_devices() + i));
  return list;
}

}  // namespace

std::vector<Device> devices(std::string_view platform, SourceLoc loc) {
  return devices_between("devices", 0, detail::processes().num_devices(), platform, loc);
}

std::vector<Device> local_devices(std::string_view platform, SourceLoc loc) {
  const detail::Processes& p = detail::processes();
  return devices_between("local_devices", p.first_local(), p.first_local() + p.num_local_devices(), platform, loc);
}

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

fmt::format_context::iterator fmt::formatter<weft::Device>::format(const weft::Device& d, fmt::format_context& ctx) const {
  return fmt::format_to(ctx.out(), "{}", weft::detail::to_string(d));
}
