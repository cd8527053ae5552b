// Runs kernels that were emitted for the emulated GPU on the host: the threads of a block as fibers of one thread, so that barriers and
// exchanges within a warp work as on the device. Includes neither CUDA nor weft's headers.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace fake_cuda {

class Emulated {
 public:
  virtual ~Emulated() = default;
  /// The address of a kernel; null: there is none of this name.
  virtual void* find(const std::string& name) = 0;
};
/// LLVM's text; the same for the same text. Throws std::runtime_error if it is none.
std::shared_ptr<Emulated> load(const std::string& text);
/// Runs a kernel that find() gave; `parameters` as cuLaunchKernel takes them.
/// FAKE_CUDA_ORDER: `up`, `down` or `mixed`, the order in which threads and blocks take their turns. FAKE_CUDA_CHECK=1: std::runtime_error
/// for accesses of memory that there is not, or that are not aligned as the code says.
void run(void* kernel, unsigned blocks, unsigned threads, void** parameters);
/// What says whether so many bytes at an address are memory of a device.
void check_memory_by(bool (*there)(std::uintptr_t, std::size_t));

/// What kernels call that set a graph's condition.
void set_conditions_by(void (*set)(std::uint64_t, std::uint32_t));

}  // namespace fake_cuda
