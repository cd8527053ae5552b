// shard_map and smap: a function of the shards, run by each device.
#pragma once
#include "weft/core/array/array_functions.h"
#include "weft/core/trees/prefix.h"
#include "weft/transforms/jit/jit.h"

namespace weft {

/// Options of shard_map (jax.shard_map).
struct ShardMapOptions {
  std::optional<Mesh> mesh = {};  ///< the devices; the mesh of the use_mesh scope if none is given
  Specs in_specs = {};            ///< how each argument is sharded over the mesh
  Specs out_specs = {};           ///< how each result is assembled from the devices' blocks
  /// The mesh axes over which the function is mapped; empty: all. Specs and collectives name only these. Over the other axes, arrays keep
  /// the caller's shardings and the partitioner shards the function's operations, as in jit.
  std::vector<std::string> axis_names = {};
  bool check_vma = true;  ///< keep track of what differs between devices: see shard_map
};
/// Options of smap (jax.smap).
struct SmapOptions {
  Axes in_axes = 0;            ///< the axis of each argument that is sharded over the mesh's axis; none: all devices get the whole argument
  Axes out_axes = 0;           ///< the axis along which the blocks of each result are joined; none: the result is the same on all devices
  std::string axis_name = {};  ///< the mesh's axis
};

namespace detail {

/// The programs of a mapped function: one cache for each mesh that it is called with.
class ShardMapCaches : public RefCounted {
 public:
  static Ref<ShardMapCaches> make(const ShardMapOptions& options);
  static Ref<ShardMapCaches> make(const SmapOptions& options);
  /// The cache for the mesh of the options, or else the mesh in scope. Throws ShardingError if there is none.
  Ref<JitCache> cache(SourceLoc loc);
};

template <class F>
class ShardMapped : public Callable<ShardMapped<F>> {
 public:
  using weft_inner = F;
  ShardMapped(F f, Ref<ShardMapCaches> caches) : f_(std::move(f)), caches_(std::move(caches)) {}
  template <class... A>
  out_t<F, A...> call(SourceLoc loc, const A&... args) const {
    return Jit<F>(f_, caches_->cache(loc)).call_compiled(loc, args...);
  }
  template <class... A>
  auto trace(const A&... args) const {
    return Jit<F>(f_, caches_->cache({})).trace(args...);
  }
  template <class... A>
  auto lower(const A&... args) const {
    return Jit<F>(f_, caches_->cache({})).lower(args...);
  }

 private:
  F f_;
  KeptRef<ShardMapCaches> caches_;
};

}  // namespace detail

/// Maps a function of blocks over the devices of a mesh (jax.shard_map). Dimension d of an argument is sharded over the mesh axes that its
/// spec names at d, and replicated over axes that it doesn't name. Each device runs f on its block, which has the argument's rank, and may
/// use collectives over the mesh's axes. The blocks of a result are joined as its spec says; over axes that the spec doesn't name, the
/// blocks must be the same on all devices.
///
/// With `check_vma`, each value in the function has a set of mesh axes over which it may vary, and a result that may vary over an axis that
/// its spec doesn't name is an error. An operation on a replicated and a varying value applies pvary to the first, whose transpose is a
/// psum: so a gradient inside the function with respect to a replicated value is summed over the devices. Without it nothing is checked,
/// psum is its own transpose, and a gradient inside the function is that of one device's computation.
///
/// With `axis_names` the map is over some of the mesh's axes only: the function's blocks are whole arrays with respect to the other axes,
/// over which its operations are partitioned as in a jitted function. Inside, with_sharding_constraint may name those axes, and another
/// shard_map may map over them.
///
/// Throws ShardingError for a spec that doesn't fit the mesh, its argument or its result, for axis_names that the mesh doesn't have, for a
/// spec that names an axis beside them, for an argument that is committed to other devices than the mesh's, and for a mesh other than that
/// of the scope (use_mesh) or of the enclosing map; AxisError for an axis over which an enclosing map runs already; PytreeError if specs
/// are not a prefix of the arguments.
template <class F = UnaryFunction>
detail::ShardMapped<F> shard_map(F f, ShardMapOptions options) {
  return {std::move(f), detail::ShardMapCaches::make(options)};
}

/// shard_map over one axis of the mesh in scope (use_mesh), given by axes like those of vmap (jax.smap). The function sees blocks of the
/// same rank. It may be mapped over another axis inside.
template <class F = UnaryFunction>
detail::ShardMapped<F> smap(F f, SmapOptions options) {
  return {std::move(f), detail::ShardMapCaches::make(options)};
}

}  // namespace weft
