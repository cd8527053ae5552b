// Threads that are cancelled (pthread_cancel).
#pragma once
#include <pthread.h>

namespace weft::detail {

/// Puts off the cancellation of this thread to the end of the scope. A cancellation is an exception that must not be caught, and comes
/// from any call that may wait: it can't pass through emitted code, LLVM, or what hands exceptions to other threads.
class CancellationHeld {
 public:
  CancellationHeld() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~CancellationHeld() { pthread_setcancelstate(before_, nullptr); }
  CancellationHeld(const CancellationHeld&) = delete;
  CancellationHeld& operator=(const CancellationHeld&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace weft::detail
