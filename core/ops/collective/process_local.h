// Between what one process has of an array and all of it: pmap's operands and results where its devices belong to several processes.
#pragma once
#include "weft/core/ir/mesh_axes.h"
#include "weft/core/ir/primitive.h"

namespace weft::detail {

struct ProcessLocalParams {
  MeshAxes mesh;  ///< of one axis: the devices of all processes, each process's side by side
  int processes = 1;
  SpecList spec;  ///< one: how the global array is divided
  friend bool operator==(const ProcessLocalParams&, const ProcessLocalParams&) = default;
};

PrimitiveList process_local_primitives();
/// Whether a primitive of Kind::spmd is one of these, and not shard_map.
bool is_process_local(const Primitive& op);
/// Of these: whether it is the one that makes the global array.
bool makes_global(const Primitive& op);
/// This process's rows, as a part of the global array of all processes' rows; and back.
Array bind_host_local_to_global(const Array& x, ProcessLocalParams params, SourceLoc loc);
Array bind_global_to_host_local(const Array& x, ProcessLocalParams params, SourceLoc loc);

}  // namespace weft::detail
