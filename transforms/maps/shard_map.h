#pragma once
#include "weft/core/array/array_functions.h"
#include "weft/core/trees/prefix.h"
#include "weft/transforms/jit/jit.h"

namespace weft {

/// Options of shard_map (jax.shard_map).
struct ShardMapOptions {
  std::optional<Mesh> mesh = {};  ///< the devices; the mesh of the use_mesh scope if none is given
  Specs in_specs = {};            ///< how each argument is sharded over the mesh
  Specs out_specs = {};           ///< how each result is put together of the devices' blocks
  /// The mesh's axes that are the function's own; none: all. Specs and collectives name these alone. How arrays are sharded over the others
  /// is the caller's, and followed through the function as jit does it.
  std::vector<std::string> axis_names = {};
  bool check_vma = true;  ///< keep track of what differs between devices: see shard_map
};
/// Options of smap (jax.smap).
struct SmapOptions {
  Axes in_axes = 0;            ///< which axis of each argument is sharded over the mesh's axis; none: it is the same for all
  Axes out_axes = 0;           ///< along which axis the blocks of each result are joined; none: they are all the same
  std::string axis_name = {};  ///< the mesh's axis
};

namespace detail {

/// The programs of a mapped function: one cache for each mesh that it is called with.
class ShardMapCaches : public RefCounted {
 public:
  static Ref<ShardMapCaches> make(const ShardMapOptions& options);
  static Ref<ShardMapCaches> make(const SmapOptions& options);
  /// For the mesh given, or in scope. Throws ShardingError if there is none.
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
  Ref<ShardMapCaches> caches_;
};

}  // namespace detail

/// A function of one device's blocks as a function of whole arrays, run on all devices of a mesh at once (jax.shard_map). Dimension d of an
/// argument is sharded over the mesh axes that its spec names at d; what no axis names, all devices have alike. The function sees a block,
/// of the same rank, and may speak of the mesh's axes in collectives. The blocks of a result are joined as its spec says; what the spec
/// doesn't name must be the same on all devices of that axis.
///
/// With `check_vma` it is known of each value in the function over which axes it may vary, and a result that may differ where its spec says
/// otherwise is refused. An operation on a value that is replicated and one that varies marks the first by pvary, whose transpose is a
/// psum: so a gradient inside the function, with respect to a replicated value, is summed over the devices, and that of a psum is not.
/// Without it, nothing is checked, psum is its own transpose, and gradients inside are of each device's own.
///
/// With `axis_names` the map is over some of the mesh's axes: the function sees blocks of arrays that are whole with respect to the others,
/// and each of its operations is partitioned over those as in a jitted function. Inside, with_sharding_constraint may name them, and
/// another shard_map may take some of them.
///
/// Throws ShardingError for a spec that doesn't fit the mesh, its argument or its result, for axis_names that the mesh doesn't have, for a
/// spec that names an axis beside them, for an argument that is committed to other devices than the mesh's, and for a mesh that isn't that
/// of the scope (use_mesh) or of the map around it; AxisError for an axis that a map around has; PytreeError if specs are not a prefix of
/// the arguments.
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
