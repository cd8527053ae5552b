// The engine that executes a collective between the devices of a mesh: the process itself for its own host devices, several processes over
// a transport, or a vendor's library. It is chosen by where the devices are, when a program is made.
#pragma once
#include <memory>
#include <string_view>

#include "weft/runtime/host/collectives.h"

namespace weft::detail {

/// A collective that goes on by itself. Its end is waited for when it is destroyed.
class StartedCollective {
 public:
  virtual ~StartedCollective() = default;
  /// Returns when it has ended; out[k] is what the device at position k gets. Throws DistributedError as run() does.
  virtual void wait(std::span<Ref<Buffer>> out) = 0;
};

/// A collective that its engine has made ready: channels open, messages laid out.
class ReadyCollective {
 public:
  virtual ~ReadyCollective() = default;
  /// in[k] is what the device at position k has, out[k] what it gets; both null for a device of another process. Returns when `out` may be
  /// used on the devices. All processes whose devices are in the mesh call it, in one order. Throws DistributedError if one of them fails
  /// or stays away.
  virtual void run(std::span<const Ref<Buffer>> in, std::span<Ref<Buffer>> out) = 0;
  /// Begins it, after all that were started before; of an engine that overlaps.
  virtual std::unique_ptr<StartedCollective> start(std::span<const Ref<Buffer>> in);
};

class CollectiveEngine {
 public:
  virtual ~CollectiveEngine() = default;
  /// "in-process", "mpi", ...
  virtual std::string_view name() const = 0;
  /// Whether its collectives, once started, go on beside what the processors compute.
  virtual bool overlaps() const { return false; }
  /// `device_ids` are those of the mesh's positions, `mesh_shape` the sizes of its axes. All processes make their collectives ready in one
  /// order.
  virtual std::unique_ptr<ReadyCollective> prepare(const CollectivePlan& plan, std::span<const int> device_ids,
                                                   std::span<const std::int64_t> mesh_shape) = 0;
};

/// The engine that joins these devices.
CollectiveEngine& collective_engine(std::span<const int> device_ids);

}  // namespace weft::detail
