// What cuBLASLt, cuSOLVER and cuBLAS have in common: how they are opened, and what each device keeps for them.
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>
#include <map>
#include <mutex>

#include "weft/backends/cuda/device.h"
#include "weft/core/base/environment.h"

namespace weft::detail::cuda {

/// The file that the variable names, or the first of these that there is; null: there is none.
inline void* open_library(const char* variable, std::initializer_list<const char*> names) {
  if (const std::string given(word_in_environment(variable)); !given.empty()) return dlopen(given.c_str(), RTLD_NOW | RTLD_LOCAL);
  for (const char* name : names)
    if (void* file = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return file;
  return nullptr;
}

/// The T of a device, for as long as the process lives. `complete` creates the missing parts at each call, so that a failed call is retried
/// by the next one. Makes the device the calling thread's current one.
template <class T, class F>
T& kept_by(GpuDevice& device, F complete) {
  static std::mutex mutex;
  static std::map<GpuDevice*, T>& all = *new std::map<GpuDevice*, T>;
  const std::lock_guard lock(mutex);
  T& kept = all[&device];
  device.enter();
  complete(kept);
  return kept;
}

}  // namespace weft::detail::cuda
