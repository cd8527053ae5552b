// Loops and branches as parts of graphs: conditional nodes, whose conditions kernels set on the device (CUDA 12.4).
#pragma once
#include <functional>
#include <string>

#include "weft/backends/cuda/device.h"

namespace weft::detail::cuda {

/// The code of the kernels that set conditions: PTX, or LLVM's text for the emulator.
std::string condition_code(const GpuTarget& target);

/// A condition of the graph that the device's stream is being captured into. What is captured afterwards sets it, then uses it once.
class GraphCondition {
 public:
  GraphCondition(GpuDevice& device, std::string what);
  /// Sets the condition to whether the byte at p is not 0.
  void set_by_byte(DevicePointer p);
  /// Sets the condition to whether the int32 at p, clamped to [0, last], equals `number`.
  void set_by_index(DevicePointer p, std::int64_t number, std::int64_t last);
  /// What `body` puts into the device's stream is done where the condition holds (kConditionIf), or as long as it does (kConditionWhile).
  void run(int kind, const std::function<void()>& body);

 private:
  void check_call(Result r, const char* call) const;
  GpuDevice& device_;
  const std::string what_;
  Condition condition_ = 0;
};

}  // namespace weft::detail::cuda
