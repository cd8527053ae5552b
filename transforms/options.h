// Options of vmap and grad. In all option structs the order is: inputs, outputs, the axis, devices, donation, the name.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "weft/core/trees/prefix.h"

namespace weft {

/// Options of vmap (jax.vmap).
struct VmapOptions {
  detail::NamedFields named = detail::NamedFields();
  Axes in_axes = 0;                   ///< the mapped axis of each argument; none: the argument is the same for all lanes
  Axes out_axes = 0;                  ///< the mapped axis of each result; none: the result is the same for all lanes
  std::string axis_name = {};         ///< for collectives
  std::optional<Int> axis_size = {};  ///< needed only where no argument is mapped
  std::string spmd_axis_name = {};    ///< the mesh axis over which a shard_map inside shards the mapped axis
};
/// Options of grad and value_and_grad (jax.grad).
struct GradOptions {
  bool holomorphic = false;  ///< the function is complex and holomorphic: the result is its complex derivative
  bool allow_int = false;    ///< integer leaves get a gradient of zeros of dtype bool instead of an error
};

}  // namespace weft
