// Mapped programs on accelerators whose launches are captured once and repeated: defined in backends/cuda, bound at link time.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "weft/core/array/array_impl.h"

namespace weft::detail {

class MappedReplay {
 public:
  using Values = std::vector<std::vector<Ref<Buffer>>>;  ///< of each value, a buffer for each device
  virtual ~MappedReplay() = default;
  /// Puts the program's work into the devices' streams; the last argument: from the calling thread alone.
  using Steps = std::function<Values(const Values& inputs, bool one_thread)>;
  /// The program's results for these inputs. What was seen before is replayed as graphs of the devices, for which `steps` is not called.
  /// Thread-safe.
  virtual Values run(Values inputs, const Steps& steps) = 0;
};
/// For a program with collectives over these devices. The first inputs are the same buffers at each call. Where some of the devices are
/// other processes', all processes that have some call it alike.
std::unique_ptr<MappedReplay> make_mapped_replay(std::vector<int> device_ids, std::size_t num_constants);

}  // namespace weft::detail
