#include "weft/backends/cpu/background.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

#include "weft/core/base/float_environment.h"
#include "weft/runtime/host/process_end.h"

namespace weft::detail {
namespace {

class Worker;
Worker& worker();

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostSoon = 256;
constexpr Clock::duration kLongestEnd = std::chrono::milliseconds(200), kLongestStop = std::chrono::seconds(1);

std::atomic<bool> is_ending{false};
std::atomic<Clock::rep> last_moment{std::numeric_limits<Clock::rep>::max()};

/// The background thread is never joined: it sleeps when the process ends, and a forked child has none.
class Worker {
 public:
  /// High-priority jobs run for a moment longer; then the running job is asked to stop and waited for.
  void end() {
    if (getpid() != process_) return;
    std::unique_lock lock(mutex_);
    const Clock::time_point moment = Clock::now() + kLongestEnd;
    last_moment = moment.time_since_epoch().count();
    is_ending = true;
    wake_.notify_all();
    idle_.wait_until(lock, moment + kLongestStop, [&] { return !busy_ && (soon_.empty() || background_has_ended()); });
  }
  void add(std::function<void()> job, bool soon) {
    if (getpid() != process_) return;
    const std::lock_guard lock(mutex_);
    if (is_ending || (soon && soon_.size() >= kMostSoon)) return;
    (soon ? soon_ : jobs_).push_back(std::move(job));
    try {
      if (!started_) std::thread([this] { work(); }).detach();
      started_ = true;
    } catch (const std::system_error&) {  // there is no thread to be had: perhaps next time
      jobs_.clear(), soon_.clear();
    }
    wake_.notify_one();
  }

 private:
  [[noreturn]] void work() {
    restore_standard_floats();
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return is_ending ? !soon_.empty() && !background_has_ended() : !jobs_.empty() || !soon_.empty(); });
      std::deque<std::function<void()>>& from = soon_.empty() ? jobs_ : soon_;
      std::function<void()> job = std::move(from.front());
      from.pop_front();
      busy_ = true;
      lock.unlock();
      try {
        job();
      } catch (...) {
        // After an error the present code continues to be used.
      }
      job = nullptr;
      lock.lock();
      busy_ = false;
      idle_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::deque<std::function<void()>> jobs_, soon_;
  const pid_t process_ = getpid();
  bool started_ = false, busy_ = false;
};

Worker& worker() {
  static auto& w = *[] {
    auto* made = new Worker;  // never destroyed
    at_process_end([] { worker().end(); });
    return made;
  }();
  return w;
}

}  // namespace

void in_background(std::function<void()> job) { worker().add(std::move(job), false); }
void soon_in_background(std::function<void()> job) { worker().add(std::move(job), true); }

bool background_is_ending() { return is_ending; }
bool background_has_ended() { return Clock::now().time_since_epoch().count() > last_moment; }

}  // namespace weft::detail
