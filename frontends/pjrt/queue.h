// A thread that runs programs whose caller does not wait for them, one after the other in the order of the calls.
#pragma once
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace weft::pjrt {

class Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  /// Waits until all jobs are done; at the end of the process, where the thread may be stopped inside another library, it does not wait.
  ~Queue();

  /// Gives the job, which throws nothing, to the queue's thread. Waits while the queue is full, as the jobs in it hold memory. In the child
  /// of a fork, which has no such thread, and where no thread can be started, the job runs before this returns.
  void add(std::function<void()> job);

 private:
  struct State;
  std::mutex starting_;
  std::shared_ptr<State> state_;  ///< the thread's, too: it may be left behind
  std::thread thread_;
  int process_ = 0;
};

}  // namespace weft::pjrt
