#pragma once
#include "weft/core/trees/pytree.h"
#include "weft/runtime/sharded/sharding.h"

namespace weft {

namespace detail {
Array constrained(const Array& x, const NamedSharding& s, const char* operation, SourceLoc loc);
}

/// The arrays of a tree, sharded over a mesh as the sharding says (jax.lax.with_sharding_constraint). Within jit it says how the compiled
/// program divides the value; elsewhere the arrays are put there. Throws ShardingError for a spec that doesn't fit an array.
template <class T>
detail::traced_t<T> with_sharding_constraint(const T& tree, const NamedSharding& sharding, SourceLoc loc = SourceLoc::here()) {
  return detail::map_leaves(detail::to_traced(tree),
                            [&](const Array& x) { return detail::constrained(x, sharding, "with_sharding_constraint", loc); });
}
/// The same, for arrays that are somewhere already: what a device has already stays (jax.sharding.reshard).
template <class T>
detail::traced_t<T> reshard(const T& tree, const NamedSharding& sharding, SourceLoc loc = SourceLoc::here()) {
  return detail::map_leaves(detail::to_traced(tree), [&](const Array& x) { return detail::constrained(x, sharding, "reshard", loc); });
}

}  // namespace weft
