// How processes agree on collectives that a vendor's library (NCCL) runs between their devices: which devices share a communicator, in one
// order everywhere, and when communicators become invalid. Messages go over the control plane; data does not.
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
  /// Ends when somebody gives up the communicators, all of all processes: what is made after that belongs to the next one.
  std::uint64_t era();

  /// Some processes come together, always in one order, and all with the same text; returns what `tell` gives the first of them, which
  /// alone calls it. Throws DistributedError on all where one comes with another text or `tell` throws, and if one has given up or does not
  /// come in time.
  std::string meet(const std::vector<int>& ranks, const CollectiveLabel& label, const std::string& text,
                   const std::function<std::string()>& tell = {});
  /// The same, to say whether `what` is so; whether all of them say yes.
  bool all_say(const std::vector<int>& ranks, const CollectiveLabel& label, const std::string& what, bool yes);

  /// Why another process has given up this era's communicators, if one has.
  std::optional<std::string> given_up();
  /// Begins the next era. `why` is told to the others; empty: they know.
  void next_era(const std::string& why);
  /// Throws DistributedError if somebody has given up, or is gone.
  void look(const CollectiveLabel& label);

  /// A collective has been put into the streams of these processes' devices.
  void put(const std::vector<int>& ranks, const CollectiveLabel& label);
  /// One that was put into them as the `calls`th does not end. Where a process has not come to it, that is the end of all collectives over
  /// several processes: throws DistributedError.
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

/// Null where there is one process.
DeviceWorld* device_world();

}  // namespace weft::detail
