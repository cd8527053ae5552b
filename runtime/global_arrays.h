#pragma once
#include "core/function_ref.h"
#include "runtime/sharding.h"

namespace weft {

namespace detail {
Array array_from_parts(const Shape& shape, const NamedSharding& s, FunctionRef<Array(const std::vector<Slice>&)> part, SourceLoc loc);
}

/// An array of the shape, divided as the sharding says, whose blocks `part` gives: it is called with the index of a block, one slice for each
/// dimension, once for each block that differs (jax.make_array_from_callback). Throws ShapeError for a block of another shape, DTypeError if
/// blocks have different dtypes.
template <class F>
Array make_array_from_callback(const Shape& shape, const NamedSharding& sharding, F&& part, SourceLoc loc = SourceLoc::here()) {
  return detail::array_from_parts(shape, sharding, [&](const std::vector<Slice>& index) -> Array { return part(index); }, loc);
}
/// The array of which each process has a part: with one process, that part is all of it (jax.make_array_from_process_local_data).
Array make_array_from_process_local_data(const NamedSharding& sharding, const Array& local, SourceLoc loc = SourceLoc::here());
/// The array whose blocks these are, in the order of the sharding's devices, each on its device (jax.make_array_from_single_device_arrays).
/// Nothing is copied. Throws ShardingError if they are not as many, ShapeError or DTypeError if one is no block, DeviceError for one that lies
/// elsewhere.
Array make_array_from_single_device_arrays(const Shape& shape, const NamedSharding& sharding, const std::vector<Array>& blocks,
                                           SourceLoc loc = SourceLoc::here());
/// All of a global array, on the host of every process (jax.experimental.multihost_utils.process_allgather).
template <class T>
T process_allgather(const T& tree, SourceLoc loc = SourceLoc::here()) {
  return device_get(tree, loc);
}

/// Prints which devices have which part of an array of one or two dimensions, as a table, and gives its text
/// (jax.debug.visualize_array_sharding). Throws ShapeError for an array of more dimensions.
std::string visualize_array_sharding(const Array& x, SourceLoc loc = SourceLoc::here());
/// The same as a picture, in the file's format: .svg.
void save_array_sharding(const Array& x, const std::string& path, SourceLoc loc = SourceLoc::here());

}  // namespace weft
