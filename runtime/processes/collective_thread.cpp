#include "weft/runtime/processes/collective_thread.h"

#include <sys/prctl.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "weft/core/base/float_environment.h"
#include "weft/core/base/process_wide.h"

namespace weft::detail {

struct QueuedCollective::State {
  std::function<void()> work;
  std::exception_ptr error;
  bool done = false;
};

/// The queue and its thread, which is made when it is first needed and sleeps until the process ends.
class CollectiveThread {
 public:
  using Entry = std::shared_ptr<QueuedCollective::State>;

  bool put(const Entry& entry) {
    const std::lock_guard lock(mutex_);
    if (!running_) {
      try {
        std::thread([this] { serve(); }).detach();
      } catch (const std::system_error&) {
        return false;
      }
      running_ = true;
    }
    queue_.push_back(entry);
    ++count_;
    open_.fetch_add(1, std::memory_order_release);
    news_.notify_one();
    return true;
  }
  void wait(const Entry& entry) {
    std::unique_lock lock(mutex_);
    if (entry->done) return;
    awaited_.fetch_add(1, std::memory_order_relaxed);
    ended_.wait(lock, [&] { return entry->done; });
    awaited_.fetch_sub(1, std::memory_order_relaxed);
  }
  void wait_for_all() {
    if (open_.load(std::memory_order_acquire) == 0 || is_own()) return;
    std::unique_lock lock(mutex_);
    awaited_.fetch_add(1, std::memory_order_relaxed);
    ended_.wait(lock, [&] { return open_.load(std::memory_order_relaxed) == 0; });
    awaited_.fetch_sub(1, std::memory_order_relaxed);
  }
  bool is_unawaited() const { return is_own() && awaited_.load(std::memory_order_relaxed) == 0; }
  long count() {
    const std::lock_guard lock(mutex_);
    return count_;
  }

 private:
  static bool& own() {
    static thread_local bool is = false;
    return is;
  }
  static bool is_own() { return own(); }

  void serve() {
    own() = true;
    prctl(PR_SET_TIMERSLACK, 1000UL);  // it sleeps for microseconds at a time
    std::unique_lock lock(mutex_);
    for (;;) {
      news_.wait(lock, [&] { return !queue_.empty(); });
      const Entry entry = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      try {
        restore_standard_floats(flush_subnormals());  // threads begin with what their maker had set
        entry->work();
      } catch (...) {
        entry->error = std::current_exception();
      }
      lock.lock();
      entry->done = true;
      open_.fetch_sub(1, std::memory_order_release);
      ended_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable news_, ended_;
  std::deque<Entry> queue_;
  bool running_ = false;
  long count_ = 0;
  std::atomic<int> open_{0}, awaited_{0};  // collectives that have not ended; threads that wait for some
};

namespace {
CollectiveThread& collective_thread() {
  static auto& thread = process_wide<CollectiveThread>();
  return thread;
}
}  // namespace

QueuedCollective::QueuedCollective(std::function<void()> work) : state_(std::make_shared<State>()) {
  state_->work = std::move(work);
  if (collective_thread().put(state_)) return;
  try {
    state_->work();
  } catch (...) {
    state_->error = std::current_exception();
  }
  state_->done = true;
}
QueuedCollective::~QueuedCollective() { collective_thread().wait(state_); }
void QueuedCollective::wait() {
  collective_thread().wait(state_);
  if (state_->error) std::rethrow_exception(state_->error);
}

void wait_for_queued_collectives() { collective_thread().wait_for_all(); }
bool runs_unawaited() { return collective_thread().is_unawaited(); }
long num_queued_collectives() { return collective_thread().count(); }

}  // namespace weft::detail
