#include "weft/core/base/own_exit.h"

#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <utility>
#include <vector>

#include "weft/core/base/process_wide.h"

namespace weft::detail {
namespace {

struct Handlers {
  std::mutex mutex;
  std::vector<std::pair<pid_t, void (*)()>> waiting;  // the next to be called last, as the C library has its own
};
Handlers& handlers() {
  static Handlers& all = process_wide<Handlers>();
  return all;
}

void call_last() {
  std::pair<pid_t, void (*)()> last;
  {
    const std::lock_guard lock(handlers().mutex);
    last = handlers().waiting.back();
    handlers().waiting.pop_back();
  }
  if (last.first == getpid()) last.second();
}

}  // namespace

void at_own_exit(void (*handler)()) {
  const std::lock_guard lock(handlers().mutex);
  handlers().waiting.emplace_back(getpid(), handler);
  if (std::atexit(call_last) != 0) handlers().waiting.pop_back();
}

}  // namespace weft::detail
