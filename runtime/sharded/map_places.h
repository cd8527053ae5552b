// Where a program with maps over devices takes its arguments: on the devices of its maps, and, of a pmap, divided as it divides them.
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

/// Whether maps move arguments that are elsewhere: config.implicit_reshard, or WEFT_IMPLICIT_RESHARD=1.
bool reshards_implicitly();

/// The mesh that a map runs on, with the axes of the maps in it that are spread over its devices.
Mesh mesh_of_map(const ShardMapParams& p);

class MapPlaces {
 public:
  /// The places of the maps in the program and in those that it calls. `one_division`: the program is one map, whose arguments must be
  /// divided as it takes them, not only be on its devices.
  MapPlaces(const Jaxpr& j, bool one_division);
  /// Throws ShardingError for an argument that is needed and placed where the maps don't take it; it names the argument, both places, and
  /// what moves it. `what` is the function, `paths` gives the arguments' tree.
  void check(std::span<const Array> inputs, const std::string& what, FunctionRef<Skeleton()> paths, SourceLoc loc) const;

 private:
  void add_maps(const Jaxpr& j);
  struct Argument {
    bool needed = false;
    std::optional<NamedSharding> division;  ///< the one it must have
    PartitionSpec as_run;                   ///< or this one, where maps in the map divide it further
  };
  std::vector<Mesh> meshes_;    ///< of the maps; each list of devices once
  bool process_local_ = false;  ///< arguments are what this process has of those of all
  std::vector<Argument> arguments_;
};

/// Whether a map's operand that is there is moved: within the map's devices, or from one device where all devices have the same.
bool may_move_to(const Sharding& now, const Mesh& mesh, const PartitionSpec& spec);
/// For an operand of a map over the mesh that isn't there, or as the spec says, if one is given.
[[noreturn]] void throw_elsewhere(const std::string& what, const Sharding& now, const Mesh& mesh, const PartitionSpec* spec, SourceLoc loc);

/// Values that a mapped function captures are read when it is traced: those that are on other devices than the map's follow it as ones that
/// nobody placed do.
void take_captured(std::vector<Array>& values, const Mesh& mesh);

}  // namespace weft::detail
