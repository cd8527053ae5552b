// What cuBLASLt, cuSOLVER and cuBLAS have in common: how they are opened, and what each device keeps for them.
#pragma once
#include <dlfcn.h>

#include <cstdlib>
#include <initializer_list>
#include <map>
#include <mutex>

#include "weft/backends/cuda/device.h"

namespace weft::detail::cuda {

/// The file that the variable names, or the first of these that there is; null: there is none.
inline void* open_library(const char* variable, std::initializer_list<const char*> names) {
  if (const char* given = std::getenv(variable)) return dlopen(given, RTLD_NOW | RTLD_LOCAL);
  for (const char* name : names)
    if (void* file = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return file;
  return nullptr;
}

/// The one T of a device, for as long as the process lives. `complete` makes, each time, what it still lacks: a call that failed is made
/// again by who asks next. The device is the calling thread's from then on.
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
