#include "weft/runtime/host/thread_pool.h"

#include <fmt/core.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/base/cancellation.h"
#include "weft/core/base/environment.h"
#include "weft/core/base/float_environment.h"
#include "weft/core/errors/error.h"
#include "weft/runtime/host/cpu_limit.h"
#include "weft/runtime/host/process_end.h"

namespace weft::detail {
namespace {

constexpr int kSlots = 8;     // loops that run at once, from different threads; more than that run on their caller alone
constexpr int kSpins = 2000;  // with a thread's processor to itself, before it lets others run: about 20 to 50 microseconds

thread_local bool in_task = false;
std::atomic<std::uint32_t> background_work{0};  // scopes of BackgroundWork

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}
void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t expected) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<std::uint32_t>& word, int threads) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, threads, nullptr, nullptr, 0);
}

std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

/// How long a thread waits for what is about to happen before it sleeps: as long as waking one has taken at most lately, since waiting as
/// long as sleeping costs is at most twice the cost of the better choice (Karlin, Manasse, McGeoch, Owicki, "Competitive randomized
/// algorithms for nonuniform problems", 1990). That is microseconds on a machine of one's own, and milliseconds where a hypervisor has
/// given the processor away meanwhile.
class SpinBudget {
 public:
  /// Waits while `waits()`, at most so long; whether it has ended.
  template <typename Waits>
  bool spin(Waits waits) const {
    for (int i = 0; i < kSpins; ++i, pause_briefly())
      if (!waits()) return true;
    const std::int64_t end = now_ns() + cost_.load(std::memory_order_relaxed);
    do {
      for (int i = 0; i < kYield; ++i, pause_briefly())
        if (!waits()) return true;
      sched_yield();  // the thread that is waited for may be queued on this processor
    } while (now_ns() < end);
    return !waits();
  }
  /// A thread that was woken at `since` runs now.
  void woken(std::int64_t since) {
    const std::int64_t took = std::clamp<std::int64_t>(now_ns() - since, 0, kMost);
    cost_.store(std::max(took, cost_.load(std::memory_order_relaxed) * 7 / 8), std::memory_order_relaxed);
  }

 private:
  static constexpr std::int64_t kMost = 5'000'000;
  static constexpr int kYield = 50;
  std::atomic<std::int64_t> cost_{50'000};
};

/// A part of a running loop's tasks: neighbours, so that each thread goes through memory in order, far from the others.
struct alignas(64) Part {
  std::atomic<std::int64_t> next{0}, end{0};
  bool has_more() const { return next.load(std::memory_order_relaxed) < end.load(std::memory_order_relaxed); }
};

// A running loop. A thread joins by raising `state` while kOpen is set; the slot is reused only when all have left.
struct alignas(64) Slot {
  static constexpr std::uint32_t kOpen = 1u << 31;
  std::atomic<bool> taken{false};
  std::atomic<std::uint32_t> state{0};  // kOpen | threads inside, the caller not counted
  std::vector<Part> parts{static_cast<std::size_t>(num_threads())};
  std::atomic<std::size_t> num_parts{0};  // of this loop
  void (*task)(void*, std::int64_t) = nullptr;
  void* context = nullptr;
  bool flushing = false;  // subnormal numbers, as on the caller's thread
  std::atomic<bool> failed{false};
  std::exception_ptr error;
  std::atomic<std::int64_t> left_at{0};  ///< when a thread last left

  void set(std::int64_t n) {
    const std::int64_t count = std::min(n, static_cast<std::int64_t>(parts.size()));
    for (std::int64_t p = 0; p < count; ++p) {
      parts[static_cast<std::size_t>(p)].next.store(n * p / count, std::memory_order_relaxed);
      parts[static_cast<std::size_t>(p)].end.store(n * (p + 1) / count, std::memory_order_relaxed);
    }
    num_parts.store(static_cast<std::size_t>(count), std::memory_order_relaxed);
  }
  bool has_more() const {
    const std::size_t count = num_parts.load(std::memory_order_relaxed);
    return std::any_of(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(count), [](const Part& p) { return p.has_more(); });
  }
  /// A thread's own part first, then what others have left.
  void work(std::size_t thread) {
    const std::size_t count = num_parts.load(std::memory_order_relaxed);
    for (std::size_t k = 0; k < count; ++k)
      for (Part& part = parts[(thread + k) % count]; part.has_more();) {
        const std::int64_t i = part.next.fetch_add(1, std::memory_order_relaxed);
        if (i < part.end.load(std::memory_order_relaxed)) run(i);
      }
  }
  void run(std::int64_t i) {
    try {
      task(context, i);
    } catch (...) {
      if (!failed.exchange(true)) error = std::current_exception();
    }
  }
  bool enter() {
    std::uint32_t s = state.load(std::memory_order_relaxed);
    while (s & kOpen) {
      if (!has_more()) return false;
      if (state.compare_exchange_weak(s, s + 1, std::memory_order_acquire, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  void leave() {
    left_at.store(now_ns(), std::memory_order_relaxed);
    if (state.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake(state, 1);  // closed, and this was the last
  }
};

int wanted_threads() {
  if (const auto wanted = integer_in_environment("WEFT_NUM_THREADS")) return static_cast<int>(*wanted);
  return usable_processors();
}

bool uses_all_processors() {
  try {
    return num_threads() >= usable_processors();
  } catch (const std::exception&) {
    return false;  // files could not be read
  }
}

void run_inline(std::int64_t n, void (*task)(void*, std::int64_t), void* context) {
  std::exception_ptr error;
  for (std::int64_t i = 0; i < n; ++i) try {
      task(context, i);
    } catch (...) {
      if (!error) error = std::current_exception();
    }
  if (error) std::rethrow_exception(error);
}

class Pool {
 public:
  Pool() {
    try {
      for (std::size_t i = 1; i < static_cast<std::size_t>(num_threads()); ++i) std::thread([this, i] { serve(i); }).detach();
    } catch (const std::exception&) {
      // No more threads can be started: those that exist, and the caller itself, do all tasks.
    }
  }
  void run(std::int64_t n, void (*task)(void*, std::int64_t), void* context);

 private:
  void serve(std::size_t thread);
  bool help(std::size_t thread);
  std::array<Slot, kSlots> slots_;
  alignas(64) std::atomic<std::uint32_t> epoch_{0};
  std::atomic<int> sleeping_{0};
  std::atomic<std::int64_t> woken_at_{0};  ///< when sleeping threads were last woken
  SpinBudget budget_;
  const bool makes_room_ = uses_all_processors();  ///< the last thread, for BackgroundWork
};
Pool& pool() {
  static Pool* p = new Pool;  // never destroyed: its threads sleep on it until the process ends
  return *p;
}

bool Pool::help(std::size_t thread) {
  bool helped = false;
  for (Slot& slot : slots_)
    if (slot.enter()) {
      restore_standard_floats(slot.flushing);  // threads begin with what their maker had set
      slot.work(thread);
      slot.leave();
      helped = true;
    }
  return helped;
}

void Pool::serve(std::size_t thread) {
  in_task = true;
  const bool makes_room = makes_room_ && thread + 1 == static_cast<std::size_t>(num_threads());
  for (;;) {
    if (const std::uint32_t others = background_work.load(); makes_room && others > 0) {
      futex_wait(background_work, others);
      continue;
    }
    const std::uint32_t seen = epoch_.load(std::memory_order_acquire);
    if (help(thread)) continue;
    if (budget_.spin([&] { return epoch_.load(std::memory_order_relaxed) == seen; })) continue;
    sleeping_.fetch_add(1);
    if (epoch_.load() == seen) {
      futex_wait(epoch_, seen);
      if (epoch_.load() == seen + 1) budget_.woken(woken_at_.load(std::memory_order_relaxed));
    }
    sleeping_.fetch_sub(1);
  }
}

void Pool::run(std::int64_t n, void (*task)(void*, std::int64_t), void* context) {
  Slot* slot = nullptr;
  for (Slot& s : slots_)
    if (!s.taken.load(std::memory_order_relaxed) && !s.taken.exchange(true, std::memory_order_acquire)) {
      slot = &s;
      break;
    }
  if (!slot) return run_inline(n, task, context);
  slot->set(n);
  slot->task = task, slot->context = context, slot->error = nullptr, slot->flushing = has_standard_floats(true);
  slot->failed.store(false, std::memory_order_relaxed);
  slot->state.store(Slot::kOpen, std::memory_order_release);
  if (sleeping_.load(std::memory_order_relaxed) > 0) woken_at_.store(now_ns(), std::memory_order_relaxed);
  epoch_.fetch_add(1);
  if (const int asleep = sleeping_.load(); asleep > 0) futex_wake(epoch_, static_cast<int>(std::min<std::int64_t>(asleep, n - 1)));

  slot->work(0);
  std::uint32_t inside = slot->state.fetch_and(~Slot::kOpen, std::memory_order_acq_rel) & ~Slot::kOpen;
  const auto is_busy = [&] { return (inside = slot->state.load(std::memory_order_acquire)) != 0; };
  if (inside != 0 && !budget_.spin(is_busy))
    while (is_busy()) {
      futex_wait(slot->state, inside);
      if (!is_busy()) budget_.woken(slot->left_at.load(std::memory_order_relaxed));
    }
  const std::exception_ptr error = std::exchange(slot->error, nullptr);
  slot->taken.store(false, std::memory_order_release);
  if (error) std::rethrow_exception(error);
}

}  // namespace

int num_threads() {
  static const int n = wanted_threads();
  return n;
}

bool in_parallel_region() { return in_task; }

BackgroundWork::BackgroundWork() { background_work.fetch_add(1); }
BackgroundWork::~BackgroundWork() {
  background_work.fetch_sub(1);
  futex_wake(background_work, 1);
}

SerialScope::SerialScope() : saved_(in_task) { in_task = true; }
SerialScope::~SerialScope() { in_task = saved_; }

void parallel_for(std::int64_t n, void (*task)(void*, std::int64_t), void* context) {
  if (n <= 0) return;
  const StandardFloats floats(has_standard_floats(true));  // as the pool's threads have
  const CancellationHeld held;
  if (n == 1 || in_task || num_threads() == 1 || process_has_ended()) return run_inline(n, task, context);
  SerialScope scope;
  pool().run(n, task, context);
}

}  // namespace weft::detail
