// Collectives between processes that run beside the caller's computing: a thread of their own does them, one after the other, in the order
// in which they were started. Every process starts them in the same order, as it calls all others.
#pragma once
#include <functional>
#include <memory>

namespace weft::detail {

/// One that was put into the thread's queue.
class QueuedCollective {
 public:
  /// Begins when all that were put before have ended. Where the system gives no thread it is done at once, by the caller.
  explicit QueuedCollective(std::function<void()> work);
  /// Waits for its end.
  ~QueuedCollective();
  QueuedCollective(const QueuedCollective&) = delete;
  QueuedCollective& operator=(const QueuedCollective&) = delete;
  /// Returns when it has ended; throws what it threw.
  void wait();

 private:
  struct State;
  friend class CollectiveThread;
  std::shared_ptr<State> state_;
};

/// Waits until all that were put into the queue have ended: for who is to join the others after them. Returns at once in the thread itself.
void wait_for_queued_collectives();
/// Whether the caller is that thread, and nobody waits for what it does: then it leaves the processor to those who compute.
bool runs_unawaited();
/// How many have been put into the queue since the process began.
long num_queued_collectives();

}  // namespace weft::detail
