#include "weft/frontends/pjrt/queue.h"

#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <system_error>

#include "weft/core/base/float_environment.h"
#include "weft/runtime/host/process_end.h"

namespace weft::pjrt {
namespace {

constexpr std::size_t kMost = 32;

}  // namespace

struct Queue::State {
  std::mutex mutex;
  std::condition_variable added, taken;
  std::deque<std::function<void()>> jobs;
  bool ends = false;

  void work() {
    detail::restore_standard_floats();
    std::unique_lock lock(mutex);
    for (;;) {
      added.wait(lock, [&] { return ends || !jobs.empty(); });
      if (jobs.empty()) return;
      std::function<void()> job = std::move(jobs.front());
      jobs.pop_front();
      lock.unlock();
      taken.notify_one();
      job();
      job = nullptr;  // the next program may write to memory that only this one held
      lock.lock();
    }
  }
};

Queue::~Queue() {
  if (!thread_.joinable()) return;
  if (process_ != getpid() || detail::process_has_ended()) {
    thread_.detach();
    return;
  }
  {
    const std::lock_guard lock(state_->mutex);
    state_->ends = true;
  }
  state_->added.notify_one();
  thread_.join();
}

void Queue::add(std::function<void()> job) {
  {
    const std::lock_guard lock(starting_);
    if (!thread_.joinable()) {
      try {
        state_ = std::make_shared<State>();
        thread_ = std::thread([state = state_] { state->work(); });
        process_ = getpid();
      } catch (const std::system_error&) {
        // The next call tries again.
      }
    }
  }
  if (process_ != getpid()) return job();
  std::unique_lock lock(state_->mutex);
  state_->taken.wait(lock, [&] { return state_->jobs.size() < kMost; });
  state_->jobs.push_back(std::move(job));
  lock.unlock();
  state_->added.notify_one();
}

}  // namespace weft::pjrt
