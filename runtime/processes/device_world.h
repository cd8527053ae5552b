// How processes agree on collectives that a vendor's library (NCCL) runs between their devices: which devices share a communicator, in one
// order everywhere, and when communicators become invalid. Only messages about them go over the control plane.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "weft/runtime/processes/process_world.h"

namespace weft::detail {

/// Thread-safe.
class DeviceWorld {
 public:
  explicit DeviceWorld(ProcessWorld& world) : world_(world) {}
  ProcessWorld& world() const { return world_; }
  /// The number of the current era. An era ends when a process gives up all communicators; those made later belong to the next one.
  std::uint64_t era();

  /// A rendezvous of some processes, in the same order everywhere and with the same text. The first process calls `tell`, and its result is
  /// returned in all. Throws DistributedError in all if the texts differ or `tell` throws, and if a process has given up or does not come
  /// in time.
  std::string meet(const std::vector<int>& ranks, const CollectiveLabel& label, const std::string& text,
                   const std::function<std::string()>& tell = {});
  /// A rendezvous that returns whether `what` is true in all of the processes.
  bool all_say(const std::vector<int>& ranks, const CollectiveLabel& label, const std::string& what, bool yes);

  /// Why another process has given up this era's communicators, if one has.
  std::optional<std::string> given_up();
  /// Begins the next era. `why` is sent to the other processes, unless it is empty.
  void next_era(const std::string& why);
  /// Throws DistributedError if a process has given up or has ended.
  void look(const CollectiveLabel& label);

  /// Records that a collective was launched on the streams of these processes' devices.
  void put(const std::vector<int>& ranks, const CollectiveLabel& label);
  /// Called when the `calls`th collective that was launched does not end. If a process has not launched it, all collectives over several
  /// processes have failed: throws DistributedError.
  void expect(const std::vector<int>& ranks, const CollectiveLabel& label, std::uint64_t calls);
  std::uint64_t calls(const std::vector<int>& ranks);

 private:
  struct Verdict {
    bool yes;
    std::string told;
  };
  Verdict come(const std::vector<int>& ranks, const CollectiveLabel& label, const std::string& text, bool yes,
               const std::function<std::string()>& tell);
  std::string wait_for(const std::string& key, int whom, const CollectiveLabel& label);
  std::string next_place(const std::vector<int>& ranks);

  ProcessWorld& world_;
  std::mutex mutex_;
  std::uint64_t era_ = 1;
  std::optional<std::uint32_t> question_;
  std::map<std::vector<int>, std::uint64_t> meetings_, calls_;
};

/// Null if there is only one process.
DeviceWorld* device_world();

}  // namespace weft::detail
