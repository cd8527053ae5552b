// The placements that programs with maps over devices accept: on the maps' devices and, for a pmap, sharded as it shards them.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/core/base/function_ref.h"
#include "weft/core/ops/collective/shard_map.h"
#include "weft/core/trees/skeleton.h"
#include "weft/runtime/sharded/sharding.h"

namespace weft::detail {

/// Whether maps move arguments that are on other devices: config.implicit_reshard, or WEFT_IMPLICIT_RESHARD=1.
bool reshards_implicitly();

/// The mesh that a map runs on, with the axes of the maps in it that are spread over its devices.
Mesh mesh_of_map(const ShardMapParams& p);

class MapPlaces {
 public:
  /// The placements that the maps in the program and its sub-programs accept. `is_one_map`: the program is one map, whose arguments must
  /// have its sharding, not only be on its devices.
  MapPlaces(const Jaxpr& j, bool is_one_map);
  /// Throws ShardingError for an argument that is used and whose placement the maps don't accept; the message names the argument, both
  /// placements, and the function that moves it. `what` is the function, `paths` gives the arguments' tree.
  void check(std::span<const Array> inputs, const std::string& what, FunctionRef<Skeleton()> paths, SourceLoc loc) const;

 private:
  void add_maps(const Jaxpr& j);
  struct Argument {
    bool needed = false;
    std::optional<NamedSharding> sharding;  ///< the sharding that the argument must have
    PartitionSpec as_run;                   ///< the spec that is accepted too, if inner maps shard it further
  };
  std::vector<Mesh> meshes_;    ///< of the maps; each list of devices once
  bool process_local_ = false;  ///< arguments are this process's parts of global arrays
  std::vector<Argument> arguments_;
};

/// Whether a map's operand with this sharding may be moved: it is on the map's devices, or it is on one device and will be replicated.
bool may_move_to(const Sharding& now, const Mesh& mesh, const PartitionSpec& spec);
/// Throws the error for an operand of a map that is not on the mesh or, if a spec is given, not sharded as it says.
[[noreturn]] void throw_elsewhere(const std::string& what, const Sharding& now, const Mesh& mesh, const PartitionSpec* spec, SourceLoc loc);

/// Whether jit takes an array that is committed to `now` where in_shardings say `wanted`: each device has its block already, or the array
/// is whole where it is and where it is wanted.
bool fits_in_shardings(const Sharding& now, const Sharding& wanted, const Shape& shape);

/// Values that a mapped function captures are read when it is traced. Captured values on other devices than the map's are treated as
/// uncommitted.
void take_captured(std::vector<Array>& values, const Mesh& mesh);

}  // namespace weft::detail
