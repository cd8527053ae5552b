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
  std::int64_t bytes_limit = 0;        ///< what there is at all
};

/// One device: a copyable handle. Prints as `cpu:0`.
class Device {
 public:
  /// Differs from that of every other device, of whatever platform; the host's come first.
  int id() const { return id_; }
  /// What hardware it is, e.g. the processor's model name.
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

/// A platform's; by default `cuda` if there is a GPU, else `cpu`, or WEFT_PLATFORM's (jax.devices). Throws DeviceError if it isn't there.
std::vector<Device> devices(std::string_view platform = {}, SourceLoc loc = SourceLoc::here());
/// Those that this process drives.
std::vector<Device> local_devices(std::string_view platform = {}, SourceLoc loc = SourceLoc::here());
int device_count(std::string_view platform = {});
int local_device_count(std::string_view platform = {});
/// This process's number, and how many there are.
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
/// Uncommitted arrays are made, and operations on them run, on this device; for this thread.
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
