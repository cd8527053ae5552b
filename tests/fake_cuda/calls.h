// What the fake libraries count, and where they fail.
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace fake_cuda {

class Calls {
 public:
  /// Counts the call; the code that a test wants it to fail with, 0: none.
  int enter(const char* name) {
    const std::lock_guard lock(mutex_);
    ++counts_[name];
    if (fails_ != name || --fails_in_ != 0) return 0;
    fails_.clear();
    return fails_with_;
  }
  void fail(const char* call, int n, int code) {
    const std::lock_guard lock(mutex_);
    fails_ = call ? call : "", fails_in_ = n, fails_with_ = code;
  }
  void fail_first(const char* variable, int code) {
    if (const char* call = std::getenv(variable)) fail(call, 1, code);
  }
  int count(const char* name) {
    const std::lock_guard lock(mutex_);
    return counts_[name];
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    counts_.clear();
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::string fails_;
  int fails_in_ = 0, fails_with_ = 0;
};

/// A function of the fake driver.
template <class F>
F* driver_function(const char* name) {
  return reinterpret_cast<F*>(dlsym(dlopen(std::getenv("WEFT_LIBCUDA"), RTLD_NOW), name));
}

}  // namespace fake_cuda
