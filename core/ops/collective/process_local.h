// Conversions between one process's rows of an array and the whole array, for pmaps over the devices of several processes.
#pragma once
#include <algorithm>

#include "weft/core/ir/mesh_axes.h"
#include "weft/core/ir/rules.h"

namespace weft::detail {

struct ProcessLocalParams {
  MeshAxes mesh;  ///< the devices of all processes, each process's side by side along the first axis; others are within a process
  int processes = 1;
  SpecList spec;  ///< one: how the global array is sharded
  /// Whether a dimension is sharded over the processes.
  bool spans_processes(int dim) const {
    const std::vector<std::string>& axes = spec[0].axes_of(dim);
    return !mesh.names.empty() && std::find(axes.begin(), axes.end(), mesh.names[0]) != axes.end();
  }
  friend bool operator==(const ProcessLocalParams&, const ProcessLocalParams&) = default;
};

PrimitiveList process_local_primitives();
/// Operations of kind spmd that move between what processes have and the global array; the rule says where to.
enum class ProcessMoveTo { global, host_local };
struct ProcessMoveTransform {
  static constexpr std::string_view name = "process_move", doc = "It moves between what processes have and the global array.";
  using Function = ProcessMoveTo();
};
/// Where the operation moves its operand to; nothing for operations other than the two.
std::optional<ProcessMoveTo> process_move(const Primitive& op);
/// This process's rows, as a part of the global array of all processes' rows; and back.
Array bind_host_local_to_global(const Array& x, ProcessLocalParams params, SourceLoc loc);
Array bind_global_to_host_local(const Array& x, ProcessLocalParams params, SourceLoc loc);

}  // namespace weft::detail
