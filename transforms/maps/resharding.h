// Constraints on how values are sharded.
#pragma once
#include "weft/core/trees/pytree.h"
#include "weft/runtime/sharded/sharding.h"

namespace weft {

namespace detail {
Array constrained(const Array& x, const NamedSharding& s, const char* operation, SourceLoc loc);
/// The spec over the mesh in scope; ShardingError if there is none.
NamedSharding over_mesh_in_scope(const PartitionSpec& spec, const char* operation, SourceLoc loc);
}  // namespace detail

/// The arrays of a tree, sharded over a mesh as the sharding says (jax.lax.with_sharding_constraint). Within jit it constrains how the
/// compiled program shards the value; elsewhere the arrays are moved. Throws ShardingError for a spec that doesn't fit an array.
template <class T>
detail::traced_t<T> with_sharding_constraint(const T& tree, const NamedSharding& sharding, SourceLoc loc = SourceLoc::here()) {
  return detail::map_leaves(detail::to_traced(tree),
                            [&](const Array& x) { return detail::constrained(x, sharding, "with_sharding_constraint", loc); });
}
/// The same over the mesh in scope, that of use_mesh or of the map around. Throws ShardingError if there is none.
template <class T>
detail::traced_t<T> with_sharding_constraint(const T& tree, const PartitionSpec& spec, SourceLoc loc = SourceLoc::here()) {
  return with_sharding_constraint(tree, detail::over_mesh_in_scope(spec, "with_sharding_constraint", loc), loc);
}
/// The arrays of a tree, moved to the given sharding; elements that a device has already are not copied (jax.sharding.reshard). Within jit
/// it is with_sharding_constraint. Throws ShardingError for a spec that doesn't fit an array.
template <class T>
detail::traced_t<T> reshard(const T& tree, const NamedSharding& sharding, SourceLoc loc = SourceLoc::here()) {
  return detail::map_leaves(detail::to_traced(tree), [&](const Array& x) { return detail::constrained(x, sharding, "reshard", loc); });
}
/// The same over the mesh in scope, that of use_mesh or of the map around. Throws ShardingError if there is none.
template <class T>
detail::traced_t<T> reshard(const T& tree, const PartitionSpec& spec, SourceLoc loc = SourceLoc::here()) {
  return reshard(tree, detail::over_mesh_in_scope(spec, "reshard", loc), loc);
}

}  // namespace weft
