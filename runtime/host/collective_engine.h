// The engine that executes a collective between the devices of a mesh: the process itself for its own host devices, several processes over
// a transport, or a vendor's library. It is chosen when a program is compiled, by where the devices are.
#pragma once
#include <memory>
#include <string_view>

#include "weft/runtime/host/collectives.h"

namespace weft::detail {

/// A collective in progress. The destructor waits for its end.
class StartedCollective {
 public:
  virtual ~StartedCollective() = default;
  /// Waits for the end; out[k] is the result of the device at position k. Throws DistributedError as run() does.
  virtual void wait(std::span<Ref<Buffer>> out) = 0;
};

/// A prepared collective: its channels are open and its messages are laid out.
class ReadyCollective {
 public:
  virtual ~ReadyCollective() = default;
  /// in[k] is the operand of the device at position k, out[k] its result; both null for a device of another process. Returns when `out` may
  /// be used on the devices. All processes that have devices in the mesh call it, in the same order. Throws DistributedError if one of them
  /// fails or does not call it in time.
  virtual void run(std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out) = 0;
  /// Starts the collective, to run after those started before. Only for engines that overlap.
  virtual std::unique_ptr<StartedCollective> start(std::span<const Ref<Buffer>> in);
};

class CollectiveEngine {
 public:
  virtual ~CollectiveEngine() = default;
  /// "in-process", "mpi", ...
  virtual std::string_view name() const = 0;
  /// Whether its collectives, once started, overlap with computation.
  virtual bool overlaps() const { return false; }
  /// `device_ids` are those of the mesh's positions, `mesh_shape` the sizes of its axes. All processes make their collectives ready in one
  /// order.
  virtual std::unique_ptr<ReadyCollective> prepare(const CollectivePlan& plan, std::span<const int> device_ids,
                                                   std::span<const std::int64_t> mesh_shape) = 0;
};

/// The engine that joins these devices.
CollectiveEngine& collective_engine(std::span<const int> device_ids);

}  // namespace weft::detail
