// The end of the process.
//
// What weft keeps for the process is never destroyed (core/base/process_wide.h), so its own part works until the last instruction: in exit
// handlers, in destructors of static objects, in threads that nobody waits for. The libraries that weft calls (LLVM, oneDNN, OpenBLAS) do
// destroy theirs, and a thread that is inside of one then reads memory that is gone. One exit handler runs before those destructors. It is
// registered when weft is loaded, so it runs after the handlers that the program registered later. In this order, it
//
//  1. ends the background work: what is to be done soon has a fifth of a second, the rest is dropped;
//  2. closes the libraries: a thread that enters or leaves one is held until the process is gone, which is soon;
//  3. waits for the threads that are inside of one, a second at most. Compiling stops at the next piece. If a thread is inside still, the
//     process ends there and then, its streams flushed and with its status, without the destructors that would crash.
//
// A fork keeps threads out of the libraries in the same way while it copies the process, so that the child finds none of their locks taken.
#pragma once
#include <chrono>
#include <mutex>

namespace weft::detail {

/// The scope of calls of other libraries, also of those that a parallel loop makes for it. Once the libraries are closed, it blocks the
/// thread; in the thread that ends the process it throws Error.
class [[nodiscard]] LibraryUse {
 public:
  LibraryUse();
  ~LibraryUse();
  LibraryUse(const LibraryUse&) = delete;
  LibraryUse& operator=(const LibraryUse&) = delete;
};

/// Whether the libraries are closed: work inside of one should stop.
bool process_has_ended();
/// Blocks a thread whose work was abandoned because the process has ended, since an exception might meet code that does not expect one.
/// Returns if the process has not ended, and in the thread that ends it.
void hold_if_ended();

/// Registers the handler. Must be called after the libraries have been loaded and have constructed the objects that they destroy at exit.
void watch_process_end();

/// A memory barrier for all threads of the process (membarrier): earlier writes of any thread are visible here, and earlier writes here are
/// visible to all threads, without barriers of their own.
void synchronise_threads();

/// Registers a function that is called when the process ends, before the libraries are closed. There is at most one.
void at_process_end(void (*finish)());

/// The process-wide locks in the order in which a thread may take them, and a fork does: one is never taken while a later one is held.
enum class LockRank { donation, eager_variants, linearizations, programs, allocator, pinned_memory };
inline constexpr std::size_t kLockRanks = 6;

/// A process-wide lock that no other thread holds while the process is copied. There is one of each rank: a second one is an Error, as a
/// fork would no longer take the first.
class ProcessMutex : public std::mutex {
 public:
  explicit ProcessMutex(LockRank rank);
};

}  // namespace weft::detail
