// Options have one order everywhere: what goes in, what comes out, the axis, where it runs, what is donated, the name.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "weft/core/trees/prefix.h"

namespace weft {

/// Options of vmap (jax.vmap).
struct VmapOptions {
  detail::NamedFields named = detail::NamedFields();
  Axes in_axes = 0;                   ///< which axis of each argument is mapped; none: it is the same for all
  Axes out_axes = 0;                  ///< where the mapped axis is in each result; none: the result is the same for all
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
