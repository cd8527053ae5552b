// Messages of host memory between processes: over the transport, or, where there is none and each process has a GPU, through the GPUs.
#pragma once
#include <optional>
#include <vector>

#include "weft/runtime/processes/process_world.h"

namespace weft::detail {

/// One collective of this process, as CollectiveCall, whose messages all go at one wait(). Between GPUs the processes first compare what
/// they are in, so that those that part ways hear of it.
class ProcessExchange {
 public:
  /// All processes of `ranks` take part. Throws DistributedError.
  ProcessExchange(ProcessWorld& world, const std::vector<int>& ranks, const CollectiveLabel& label);
  void send(int to, const Ref<Buffer>& from);
  void receive(int from, const Ref<Buffer>& to);
  /// Throws DistributedError: then `keep` are kept for ever, as messages may still come.
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
  std::vector<int> devices_;  ///< instead: one of each process
  std::vector<Message> going_, coming_;
};

}  // namespace weft::detail
