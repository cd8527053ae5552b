#include "weft/runtime/host/process_end.h"

#include <fmt/format.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "weft/core/array/array_reads.h"
#include "weft/core/base/process_wide.h"
#include "weft/core/base/thread_object.h"
#include "weft/core/errors/error.h"

namespace weft::detail {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kLongestWait{1};

enum State : int { open, copying, ended };
std::atomic<int> state{open};
std::atomic<pid_t> ending_thread{0};
std::atomic<int> status{0};  // that the process ends with
std::atomic<void (*)()> finish{nullptr};

/// Records the exit status, which glibc passes to this kind of handler.
void note_status(int with, void*) { status = with; }
void note_status_at_end() {
  static const bool registered = on_exit(note_status, nullptr) == 0;
  static_cast<void>(registered);
}

/// The depth of a thread's calls into libraries, in a list of all threads that ever existed.
struct Use {
  Use();
  ~Use();
  std::atomic<int> depth{0};
  Use *before = nullptr, *after = nullptr;
};
struct Users {
  std::mutex mutex;
  Use* first = nullptr;
};
Users& users() {
  static auto& u = process_wide<Users>();
  return u;
}
Use::Use() {
  note_status_at_end();
  Users& all = users();
  const std::lock_guard lock(all.mutex);
  after = all.first;
  if (after) after->before = this;
  all.first = this;
}
Use::~Use() {
  Users& all = users();
  const std::lock_guard lock(all.mutex);
  (before ? before->after : all.first) = after;
  if (after) after->before = before;
}

/// Whether all other threads have left the libraries by then.
bool wait_for_others(Clock::time_point until) {
  const Use& own = of_thread<Use>();
  for (;;) {
    {
      Users& all = users();
      const std::lock_guard lock(all.mutex);
      const Use* inside = all.first;
      while (inside && (inside == &own || inside->depth.load(std::memory_order_acquire) == 0)) inside = inside->after;
      if (!inside) return true;
    }
    if (Clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void end_process() {
  if (const auto f = finish.load()) f();
  ending_thread = gettid();
  state = ended;
  synchronise_threads();
  if (wait_for_others(Clock::now() + kLongestWait)) return;
  std::fflush(nullptr);
  _exit(status);
}

struct Locks {
  std::array<std::atomic<std::mutex*>, kLockRanks> by_rank{};
  std::array<std::mutex*, kLockRanks> taken{};
};
Locks& locks() {
  static auto& l = process_wide<Locks>();
  return l;
}

void before_copy() {
  of_thread<Use>();                                 // in_child needs it, and can't make it
  const ArrayReads none(std::span<const Array>{});  // in_child needs the thread's list
  int expected = open;
  if (state.compare_exchange_strong(expected, copying)) {
    synchronise_threads();
    wait_for_others(Clock::now() + kLongestWait);
  }
  std::array<std::mutex*, kLockRanks> taken{};
  for (std::size_t rank = 0; rank < taken.size(); ++rank)
    if ((taken[rank] = locks().by_rank[rank])) taken[rank]->lock();
  users().mutex.lock();
  locks().taken = taken;
}
void release() {
  const std::array<std::mutex*, kLockRanks> taken = locks().taken;
  users().mutex.unlock();
  for (std::mutex* m : taken)
    if (m) m->unlock();
  int expected = copying;
  state.compare_exchange_strong(expected, open);
}
void in_parent() { release(); }
void in_child() {
  Use& own = of_thread<Use>();  // the other threads are not there
  own.before = own.after = nullptr;
  users().first = &own;
  forget_reads_of_others();
  release();
}

/// Blocks a thread that is not inside of a library: until a fork is complete, or forever.
void hold() {
  while (state.load(std::memory_order_acquire) != open) std::this_thread::sleep_for(std::chrono::microseconds(200));
}

}  // namespace

void synchronise_threads() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return;
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

LibraryUse::LibraryUse() {
  Use& own = of_thread<Use>();
  const int depth = own.depth.load(std::memory_order_relaxed);
  for (;;) {
    own.depth.store(depth + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the other half is synchronise_threads
    if (depth > 0 || state.load(std::memory_order_acquire) == open) return;
    own.depth.store(0, std::memory_order_release);
    if (process_has_ended() && ending_thread == gettid())
      throw Error("the process is ending: nothing can be compiled, and no library called");
    hold();
  }
}
LibraryUse::~LibraryUse() {
  Use& own = of_thread<Use>();
  const int depth = own.depth.load(std::memory_order_relaxed) - 1;
  own.depth.store(depth, std::memory_order_release);
  if (depth == 0) hold_if_ended();
}

void hold_if_ended() {
  if (!process_has_ended() || ending_thread == gettid()) return;
  of_thread<Use>().depth.store(0, std::memory_order_release);
  hold();
}

bool process_has_ended() { return state.load(std::memory_order_relaxed) == ended; }

void watch_process_end() {
  syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0);
  pthread_atfork(before_copy, in_parent, in_child);
  std::atexit(end_process);
}

void at_process_end(void (*f)()) { finish = f; }

ProcessMutex::ProcessMutex(LockRank rank) {
  std::mutex* none = nullptr;
  if (!locks().by_rank.at(static_cast<std::size_t>(rank)).compare_exchange_strong(none, this))
    throw Error(fmt::format("internal error: there are two process-wide locks of rank {}", static_cast<int>(rank)));
}

}  // namespace weft::detail
