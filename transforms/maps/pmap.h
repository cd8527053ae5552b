// pmap: a function mapped over devices.
#pragma once
#include "weft/core/array/array_functions.h"
#include "weft/core/trees/prefix.h"
#include "weft/transforms/jit/jit.h"

namespace weft {

/// Options of pmap (jax.pmap).
struct PmapOptions {
  detail::NamedFields named = detail::NamedFields();
  Axes in_axes = 0;                     ///< the axis of each argument that is sharded; none: all devices get the whole argument
  Axes out_axes = 0;                    ///< the position of the devices' axis in each result; none: the result is the same on all devices
  std::string axis_name = {};           ///< for collectives
  std::optional<Int> axis_size = {};    ///< needed only where no argument is mapped
  std::vector<Device> devices = {};     ///< the devices in order; if empty, those of the mesh in scope, or all
  ArgumentNumbers donate_argnums = {};  ///< arguments whose memory results may take
  bool chunk = false;                   ///< allows more rows than devices: each device runs several, one after the other
};

namespace detail {

Ref<const ProgramMaker> make_pmap(const PmapOptions& options);
JitOptions jit_options_of(const PmapOptions& options);

template <class F>
class Pmap : public Callable<Pmap<F>> {
 public:
  using weft_inner = F;
  Pmap(F f, const PmapOptions& options) : jit_(std::move(f), JitCache::make(jit_options_of(options), "_fun", make_pmap(options))) {}
  template <class... A>
  out_t<F, A...> call(SourceLoc loc, const A&... args) const {
    return jit_.call_compiled(loc, args...);
  }
  template <class... A>
  auto trace(const A&... args) const {
    return jit_.trace(args...);
  }
  template <class... A>
  auto lower(const A&... args) const {
    return jit_.lower(args...);
  }

 private:
  Jit<F> jit_;
};

}  // namespace detail

/// Maps a function over devices (jax.pmap): the mapped axis of each argument is sharded over the devices, each device runs f on its
/// slice, which lacks that axis, and the results are stacked along it, sharded over the devices. It is compiled as by jit. Throws
/// DeviceError if there are more rows than devices, ShapeError if the mapped axes have different sizes, AxisError for an axis that an
/// argument doesn't have, PytreeError if in_axes or out_axes is not a prefix of the arguments or results, ShardingError for an argument
/// that is committed to other devices or has another sharding, and for a device that is listed twice or is not in the mesh in scope
/// (use_mesh).
template <class F = UnaryFunction>
detail::Pmap<F> pmap(F f, PmapOptions options = {}) {
  return {std::move(f), options};
}
template <std::same_as<BinaryFunction> F = BinaryFunction>
detail::Pmap<F> pmap(F f, PmapOptions options = {}) {
  return {f, options};
}
/// The same with the axis's name in front, as in JAX: `pmap(f, "i")`, `pmap(f, "i", {.in_axes = {none, 0}})`.
template <class F = UnaryFunction>
detail::Pmap<F> pmap(F f, const char* axis_name, PmapOptions options = {}) {
  options.axis_name = axis_name;
  return {std::move(f), options};
}

}  // namespace weft
