#include "weft/core/base/nesting.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <limits>

#include "weft/core/errors/error.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

constexpr std::size_t kMargin = 256 << 10;     // stack that code above a check may need: rules, libraries, the unwinding of exceptions
constexpr std::size_t kUnknown = 512 << 10;    // assumed to be left where the system can't tell
constexpr std::size_t kOwnStack = 256u << 20;  // of a thread for work that needs much; pages are taken as they are touched
constexpr std::size_t kLeast = 64 << 10;       // if no thread can be started, such work is tried with at least this much

/// The limits of the thread's stack, which grows downwards.
struct Stack {
  std::uintptr_t low = 0, high = 0;
  std::uintptr_t stop = std::numeric_limits<std::uintptr_t>::max();  // below this address there is a reason to look; at first always
};
constinit thread_local Stack stack;

std::uintptr_t here() { return reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)); }

void find_stack() {
  pthread_attr_t attributes;
  void* low = nullptr;
  std::size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    std::size_t guard = 0;
    if (pthread_attr_getstack(&attributes, &low, &size) != 0) size = 0;
    if (pthread_attr_getguardsize(&attributes, &guard) != 0) guard = 0;
    pthread_attr_destroy(&attributes);
    // For the first thread, glibc counts pages that the kernel keeps free below the stack.
    if (size > 2 * guard) low = static_cast<char*>(low) + guard, size -= guard;
  }
  const std::uintptr_t now = here();
  stack.low = reinterpret_cast<std::uintptr_t>(low), stack.high = stack.low + size;
  if (size == 0) stack.low = now - kUnknown, stack.high = now + kUnknown;
  stack.stop = stack.low + std::min(kMargin, (stack.high - stack.low) / 4);
}

/// Whether the caller runs on the thread's own stack and little of it is left.
bool at_the_end(std::uintptr_t at) {
  if (stack.high == 0) find_stack();
  return at < stack.stop && at >= stack.low;
}

}  // namespace

std::size_t stack_left() {
  const std::uintptr_t at = here();
  if (stack.high == 0) find_stack();
  return at >= stack.low && at < stack.high ? at - stack.low : std::numeric_limits<std::size_t>::max();
}

void check_nesting(const char* what, int depth) {
  const std::uintptr_t at = here();
  if (at >= stack.stop || !at_the_end(at)) [[likely]]
    return;
  throw Error(fmt::format("{} are nested too deeply{} for the stack of this thread, which has {} KB; nest them less (a loop as scan or "
                          "fori_loop, a chain of nodes as a vector), or run this on a thread with a larger stack (ulimit -s, "
                          "pthread_attr_setstacksize)",
                          what, depth >= 0 ? fmt::format(" ({} levels)", depth) : "", (stack.high - stack.low) >> 10),
              effective_loc({}));
}

void with_stack(std::size_t bytes, FunctionRef<void()> f) {
  if (stack_left() >= bytes) return f();
  struct Work {
    FunctionRef<void()> f;
    std::exception_ptr thrown;
  } work{f, nullptr};
  const auto run = [](void* w) -> void* {
    Work& given = *static_cast<Work*>(w);
    try {
      given.f();
    } catch (...) {
      given.thrown = std::current_exception();
    }
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_t thread;
  bool made = pthread_attr_init(&attributes) == 0;
  if (made) {
    made = pthread_attr_setstacksize(&attributes, std::max(kOwnStack, 2 * bytes)) == 0 &&
           pthread_create(&thread, &attributes, run, &work) == 0;
    if (!made) made = pthread_attr_setstacksize(&attributes, 2 * bytes) == 0 && pthread_create(&thread, &attributes, run, &work) == 0;
    pthread_attr_destroy(&attributes);
  }
  if (made) {
    pthread_join(thread, nullptr);
  } else {
    if (stack_left() < kLeast) throw Error("no thread can be started, and too little of this thread's stack is left");
    run(&work);
  }
  if (work.thrown) std::rethrow_exception(work.thrown);
}

}  // namespace weft::detail
