// Arrays over the devices of several processes: how they are made, resharded and read.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "weft/core/base/function_ref.h"
#include "weft/runtime/sharded/sharding.h"

namespace weft {

namespace detail {
Array host_local_to_global(const Array& x, const Mesh& mesh, const PartitionSpec& spec, SourceLoc loc);
Array global_to_host_local(const Array& x, const Mesh& mesh, const PartitionSpec& spec, SourceLoc loc);
Array allgather_array(const Array& x, bool tiled, SourceLoc loc);
Array broadcast_array(const Array& x, bool is_source, SourceLoc loc);
Array array_from_callback(const Shape& shape, const NamedSharding& s, FunctionRef<Array(const std::vector<Slice>&)> part, SourceLoc loc);
/// Reshards an array between processes. All processes that have a part of it, before or after, call it.
Array redistribute(const Array& x, const NamedSharding& s);
/// The submesh of this process's devices. Throws ShardingError if they are not a block of the mesh.
Mesh local_mesh(const Mesh& mesh, const char* operation, SourceLoc loc);
}  // namespace detail

/// A global array to which each process contributes, as one array, the part that its devices hold (jax.make_array_from_process_local_data).
/// Along a dimension where `local` has the global size, the process's own rows are taken from it. Without `global_shape`, `local` holds
/// this process's part of every sharded dimension, and the global shape follows from it. Throws ShardingError if the shapes don't fit.
Array make_array_from_process_local_data(const NamedSharding& sharding, const Array& local, std::optional<Shape> global_shape = {},
                                         SourceLoc loc = SourceLoc::here());
/// A global array made of shards that are on this process's devices already, one for each in the mesh's order
/// (jax.make_array_from_single_device_arrays); nothing is copied. Throws ShardingError if their number is wrong, ShapeError or DTypeError
/// if one is not a block of the array, DeviceError if one is on another device.
Array make_array_from_single_device_arrays(const Shape& shape, const NamedSharding& sharding, const std::vector<Array>& arrays,
                                           SourceLoc loc = SourceLoc::here());
/// A global array made by a callback: `part(index)` is called once for each block that this process has (jax.make_array_from_callback).
/// `index` is one slice for each dimension. Throws ShapeError for a part of another shape, DTypeError if parts have different dtypes.
template <class F>
Array make_array_from_callback(const Shape& shape, const NamedSharding& sharding, F&& part, SourceLoc loc = SourceLoc::here()) {
  return detail::array_from_callback(shape, sharding, [&](const std::vector<Slice>& index) -> Array { return part(index); }, loc);
}

/// The arrays of a tree, each process's own, as parts of global arrays that are sharded over a mesh (jax's
/// host_local_array_to_global_array).
template <class T>
T host_local_array_to_global_array(const T& tree, const Mesh& mesh, const PartitionSpec& spec, SourceLoc loc = SourceLoc::here()) {
  return detail::map_leaves(tree, [&](const Array& x) { return detail::host_local_to_global(x, mesh, spec, loc); });
}
/// This process's parts of global arrays, as arrays over its own devices of the mesh.
template <class T>
T global_array_to_host_local_array(const T& tree, const Mesh& mesh, const PartitionSpec& spec, SourceLoc loc = SourceLoc::here()) {
  return detail::map_leaves(tree, [&](const Array& x) { return detail::global_to_host_local(x, mesh, spec, loc); });
}

/// Options of process_allgather.
struct ProcessAllgatherOptions {
  bool tiled = false;  ///< the processes' arrays are joined along their first dimension rather than stacked along a new one
};
/// On all processes: all of a global array; for arrays that each process has on its own, the processes' arrays stacked along a new first
/// dimension, or with `tiled` joined along the first (jax's process_allgather). All processes call it.
template <class T>
T process_allgather(const T& tree, ProcessAllgatherOptions options = {}, SourceLoc loc = SourceLoc::here()) {
  return detail::map_leaves(tree, [&](const Array& x) { return detail::allgather_array(x, options.tiled, loc); });
}
/// The arrays of the source process, on all processes (jax's broadcast_one_to_all). All processes call it, with arrays of the same
/// types.
template <class T>
T broadcast_one_to_all(const T& tree, std::optional<bool> is_source = {}, SourceLoc loc = SourceLoc::here()) {
  const bool source = is_source.value_or(process_index() == 0);
  return detail::map_leaves(tree, [&](const Array& x) { return detail::broadcast_array(x, source, loc); });
}
/// A barrier of all processes (jax's sync_global_devices). Throws DistributedError in all if one calls it with another name.
void sync_global_devices(const std::string& name, SourceLoc loc = SourceLoc::here());

/// Prints, as a table, which devices have which part of an array of one or two dimensions, and returns the text
/// (jax.debug.visualize_array_sharding). Throws ShapeError for an array of more dimensions.
std::string visualize_array_sharding(const Array& x, SourceLoc loc = SourceLoc::here());
namespace debug {
using weft::visualize_array_sharding;
}
/// The same as a picture, in the file's format: .svg.
void save_array_sharding(const Array& x, const std::string& path, SourceLoc loc = SourceLoc::here());

}  // namespace weft
