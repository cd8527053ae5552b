// Mapped programs on accelerators as graphs: launches are captured once and replayed. Defined in backends/cuda, bound at link time.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "weft/core/array/array_impl.h"

namespace weft::detail {

class MappedReplay {
 public:
  using Values = std::vector<std::vector<Ref<Buffer>>>;  ///< for each value, a buffer on each device
  virtual ~MappedReplay() = default;
  /// Launches the program's work on the devices' streams; `one_thread`: from the calling thread only.
  using Steps = std::function<Values(const Values& inputs, bool one_thread)>;
  /// The program's results for these inputs. Calls like an earlier one replay the devices' graphs and do not call `steps`.
  /// Thread-safe.
  virtual Values run(Values inputs, const Steps& steps) = 0;
};
/// For a program with collectives over these devices. The first inputs are the same buffers at each call. If devices belong to several
/// processes, all of these call it alike.
std::unique_ptr<MappedReplay> make_mapped_replay(std::vector<int> device_ids, std::size_t num_constants);

}  // namespace weft::detail
