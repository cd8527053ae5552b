// Collectives between processes that overlap with computation: one dedicated thread executes them in the order in which they were started,
// which is the same in every process.
#pragma once
#include <functional>
#include <memory>

namespace weft::detail {

/// A collective in the thread's queue.
class QueuedCollective {
 public:
  /// Queues the work behind all earlier collectives. If no thread can be created, the caller does the work at once.
  explicit QueuedCollective(std::function<void()> work);
  /// Waits for its end.
  ~QueuedCollective();
  QueuedCollective(const QueuedCollective&) = delete;
  QueuedCollective& operator=(const QueuedCollective&) = delete;
  /// Waits for its end; rethrows its exception.
  void wait();

 private:
  struct State;
  friend class CollectiveThread;
  std::shared_ptr<State> state_;
};

/// Waits until the queue is empty, before a collective that does not go through it. Returns at once in the thread itself.
void wait_for_queued_collectives();
/// Whether the caller is that thread and nothing waits for its collective: it then yields the processor to computing threads.
bool runs_unawaited();
/// The number of collectives queued since the process began.
long num_queued_collectives();

}  // namespace weft::detail
