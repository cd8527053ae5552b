// The process's one pool of threads: kernels, library calls, SPMD segments and collectives all run on it.
#pragma once
#include <cstdint>
#include <type_traits>

namespace weft::detail {

/// The number of threads that run a parallel loop, the caller included: WEFT_NUM_THREADS, or the number of processors that the process may
/// use (its affinity mask and its container's quota).
int num_threads();

/// Calls task(context, i) for each i in [0, n), by several threads, in no order; returns when all are done. The caller takes part. Called
/// from within a task it runs inline. If tasks throw, the others still run, and the first exception is rethrown.
void parallel_for(std::int64_t n, void (*task)(void* context, std::int64_t i), void* context);

/// Whether the caller is itself a task of a parallel loop.
bool in_parallel_region();

template <class F>
void parallel_for(std::int64_t n, F&& f) {
  using Fn = std::remove_reference_t<F>;
  parallel_for(n, [](void* context, std::int64_t i) { (*static_cast<Fn*>(context))(i); }, const_cast<void*>(static_cast<const void*>(&f)));
}

/// A scope in which parallel loops run inline, as inside a task: for callers that have a thread for each task already.
class [[nodiscard]] SerialScope {
 public:
  SerialScope();
  ~SerialScope();
  SerialScope(const SerialScope&) = delete;
  SerialScope& operator=(const SerialScope&) = delete;

 private:
  bool saved_;
};

/// A scope of long work beside the pool's, such as optimising code. Where the pool has a thread for each processor, one of these rests
/// meanwhile: three threads on two processors take turns, and parallel loops wait for the one whose turn it is not.
class [[nodiscard]] BackgroundWork {
 public:
  BackgroundWork();
  ~BackgroundWork();
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;
};

}  // namespace weft::detail
