// Messages of host memory between processes: over the transport, or, where there is none and each process has a GPU, through the GPUs.
#pragma once
#include <optional>
#include <vector>

#include "weft/runtime/processes/process_world.h"

namespace weft::detail {

/// One collective of this process, like CollectiveCall, whose messages are all sent by one wait(). Between GPUs the processes first compare
/// which collective they are in, so that a mismatch is an error.
class ProcessExchange {
 public:
  /// All processes of `ranks` take part. Throws DistributedError.
  ProcessExchange(ProcessWorld& world, const std::vector<int>& ranks, const CollectiveLabel& label);
  void send(int to, const Ref<Buffer>& from);
  void receive(int from, const Ref<Buffer>& to);
  /// On DistributedError, `keep` is never freed, as messages may still arrive in it.
  void wait(std::initializer_list<std::span<const Ref<Buffer>>> keep);

 private:
  struct Message {
    int peer;
    Ref<Buffer> memory;
  };
  void by_devices(const std::vector<Message>& going, const std::vector<Message>& coming);
  void compare();

  ProcessWorld& world_;
  const std::vector<int> ranks_;
  const CollectiveLabel& label_;
  std::optional<CollectiveCall> call_;
  std::vector<int> devices_;  ///< where messages go through GPUs: one of each process
  std::vector<Message> going_, coming_;
};

}  // namespace weft::detail
