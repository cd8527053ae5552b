// Execution of the primitives that convert between one process's rows and the whole array.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "weft/core/array/array_impl.h"
#include "weft/core/ops/collective/process_local.h"
#include "weft/runtime/sharded/mesh.h"

namespace weft::detail {

/// The execution of one such equation. Thread-safe.
class ProcessMove {
 public:
  ProcessMove(const Primitive& op, const ParamsBase& params, SourceLoc loc);
  Array run(const Array& x, SourceLoc loc);

 private:
  /// A placement of the operand that needs no copy, and the result's placement for it.
  struct Fit {
    Ref<const Placement> from, to;
  };
  bool to_global_;
  ProcessLocalParams params_;
  Mesh mesh_;
  std::vector<std::size_t> here_;  // positions of this process's devices in the mesh
  std::mutex mutex_;
  Fit last_;
};

Array run_process_local(const Primitive& op, const ParamsBase& params, const Array& x, SourceLoc loc);

}  // namespace weft::detail
