#include "backends/cpu/background.h"

#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace weft::detail {
namespace {

std::atomic<bool> is_ending{false};

class Worker {
 public:
  ~Worker() { end(); }
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      is_ending = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }
  void add(std::function<void()> job) {
    const std::lock_guard lock(mutex_);
    if (ending_) return;
    jobs_.push_back(std::move(job));
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    wake_.notify_one();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return ending_ || !jobs_.empty(); });
      if (ending_) return;
      std::function<void()> job = std::move(jobs_.front());
      jobs_.pop_front();
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
  std::deque<std::function<void()>> jobs_;
  std::thread thread_;
  bool ending_ = false;
};

}  // namespace

void in_background(std::function<void()> job) {
  static Worker worker;
  // Jobs make static objects of the compiler's, which the process's end would take from under them: the main thread's own objects go first.
  struct MainThread {
    ~MainThread() {
      if (getpid() == gettid()) worker.end();
    }
  };
  thread_local const MainThread end;
  worker.add(std::move(job));
}

bool background_is_ending() { return is_ending; }

}  // namespace weft::detail
