// Devices, and moving arrays between them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/base/config.h"
#include "weft/core/base/fmt_formatter.h"
#include "weft/core/errors/source_loc.h"

namespace weft {

/// Memory of one device, in bytes.
struct MemoryStats {
  std::int64_t bytes_in_use = 0;       ///< by arrays and temporaries now
  std::int64_t peak_bytes_in_use = 0;  ///< the most so far
  std::int64_t bytes_limit = 0;        ///< the memory that the device has
};

/// One device: a copyable handle. Prints as `cpu:0`.
class Device {
 public:
  /// Unique among all devices of all platforms; host devices come first.
  int id() const { return id_; }
  /// The hardware, e.g. the processor's model name.
  std::string kind() const;
  /// "cpu" or "cuda".
  std::string platform() const;
  /// The process that drives it.
  int process_index() const;
  MemoryStats memory_stats() const;
  friend bool operator==(const Device& a, const Device& b) { return a.id_ == b.id_; }

  /// For the library: the device with an id that is known to be right.
  static Device of_id(int id) { return Device(id); }

 private:
  explicit Device(int id) : id_(id) {}
  int id_;
};

/// A platform's devices (jax.devices); by default WEFT_PLATFORM's, else `cuda` or `cpu`. Throws DeviceError if it has none.
std::vector<Device> devices(std::string_view platform = {}, SourceLoc loc = SourceLoc::here());
/// The devices of a platform that this process drives (jax.local_devices).
std::vector<Device> local_devices(std::string_view platform = {}, SourceLoc loc = SourceLoc::here());
int device_count(std::string_view platform = {});
int local_device_count(std::string_view platform = {});
/// The number of this process, and the number of processes (jax.process_index, jax.process_count).
int process_index();
int process_count();

/// A setting that lasts as long as the variable: `auto scope = default_device(dev);`.
class [[nodiscard]] Scope {
 public:
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() { restore_(saved_); }

  /// For the library: calls `restore(saved)` at its end.
  static Scope make(void (*restore)(std::intptr_t), std::intptr_t saved) { return Scope(restore, saved); }

 private:
  Scope(void (*restore)(std::intptr_t), std::intptr_t saved) : restore_(restore), saved_(saved) {}
  void (*restore_)(std::intptr_t);
  std::intptr_t saved_;
};
/// Where this thread makes uncommitted arrays and runs operations on them (jax.default_device).
Scope default_device(Device device);

namespace detail {
std::string to_string(const Device& d);
/// The id of the thread's default device.
int default_device_id();
/// The number of host devices, fixed from the first call on.
int num_host_devices();
}  // namespace detail

}  // namespace weft

template <>
struct fmt::formatter<weft::Device, char, void> {
  template <class Context>
  constexpr auto parse(Context& ctx) {
    return ctx.begin();
  }
  template <class Context>
  auto format(const weft::Device& d, Context& ctx) const {
    return weft::detail::write_text(weft::detail::to_string(d), ctx.out());
  }
};
