#include "backends/cpu/background.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <thread>

namespace weft::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostSoon = 256;
constexpr Clock::duration kLongestEnd = std::chrono::milliseconds(200);

std::atomic<bool> is_ending{false};
std::atomic<Clock::rep> last_moment{std::numeric_limits<Clock::rep>::max()};

// Never destroyed: a child that was forked must neither join its thread nor drop what that waits on.
class Worker {
 public:
  /// `longest`: what is left to be done soon is done for so long.
  void end(Clock::duration longest) {
    if (getpid() != process_) return;  // a child that was forked has no such thread
    {
      const std::lock_guard lock(mutex_);
      if (!ending_) last_moment = (Clock::now() + longest).time_since_epoch().count();
      ending_ = true;
      is_ending = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  void add(std::function<void()> job, bool soon) {
    if (getpid() != process_) return;
    const std::lock_guard lock(mutex_);
    if (ending_ || (soon && soon_.size() >= kMostSoon)) return;
    (soon ? soon_ : jobs_).push_back(std::move(job));
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    wake_.notify_one();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return ending_ || !jobs_.empty() || !soon_.empty(); });
      if (ending_ && (soon_.empty() || background_has_ended())) return;
      std::deque<std::function<void()>>& from = soon_.empty() ? jobs_ : soon_;
      std::function<void()> job = std::move(from.front());
      from.pop_front();
      lock.unlock();
      try {
        job();
      } catch (...) {
        // The code that is there goes on being used.
      }
      job = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_, soon_;
  const pid_t process_ = getpid();
  std::thread thread_;
  bool ending_ = false;
};

void add(std::function<void()> job, bool soon) {
  static Worker& worker = *new Worker;
  static const struct Process {
    ~Process() { worker.end({}); }
  } process;
  // Jobs make static objects of the compiler's, which the process's end would take from under them: the main thread's own objects go first.
  struct MainThread {
    ~MainThread() {
      if (getpid() == gettid()) worker.end(kLongestEnd);
    }
  };
  thread_local const MainThread end;
  worker.add(std::move(job), soon);
}

}  // namespace

void in_background(std::function<void()> job) { add(std::move(job), false); }
void soon_in_background(std::function<void()> job) { add(std::move(job), true); }

bool background_is_ending() { return is_ending; }
bool background_has_ended() { return Clock::now().time_since_epoch().count() > last_moment; }

}  // namespace weft::detail
