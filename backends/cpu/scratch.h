// Temporary memory of routines on the CPU.
#pragma once
#include <cstddef>

#include "weft/runtime/host/allocator.h"

namespace weft::detail {

/// Uninitialised memory for the length of a scope, from the caching allocator.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t n) : bytes_(static_cast<std::size_t>(n) * sizeof(T)), data_(static_cast<T*>(allocate_host(bytes_, 0))) {}
  ~Scratch() { release_host(data_, bytes_, 0); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  T* get() const { return data_; }
  T& operator[](std::int64_t i) const { return data_[i]; }

 private:
  std::size_t bytes_;
  T* data_;
};

}  // namespace weft::detail
