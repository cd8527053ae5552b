#pragma once
#include "weft/core/array/array_functions.h"
#include "weft/core/trees/prefix.h"
#include "weft/transforms/jit/jit.h"

namespace weft {

/// Options of pmap (jax.pmap).
struct PmapOptions {
  detail::NamedFields named = detail::NamedFields();
  Axes in_axes = 0;                      ///< which axis of each argument is sharded over the devices; none: all have the same
  Axes out_axes = 0;                     ///< where the devices' axis is in each result; none: any device's, as all are the same
  std::string axis_name = {};            ///< for collectives
  std::optional<Int> axis_size = {};     ///< needed only where no argument is mapped
  std::vector<Device> devices = {};      ///< which ones, in order; if empty those of the mesh in scope, or all
  std::vector<int> donate_argnums = {};  ///< arguments whose memory may be taken
  bool chunk = false;                    ///< more rows than devices run in rounds
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

/// A function of one device's part as a function of all parts, run on several devices at once (jax.pmap): the mapped axis of each argument
/// is sharded over the devices, each sees its part without that axis, and the results have it again, sharded over the devices. It is
/// compiled as by jit. Throws DeviceError if there are more rows than devices, ShapeError if the mapped axes have different sizes,
/// AxisError for an axis that an argument doesn't have, PytreeError if in_axes or out_axes is not a prefix of the arguments or results,
/// ShardingError for an argument that is committed to other devices, or divided otherwise, for a device that is given twice or is not in
/// the mesh in scope (use_mesh).
template <class F = UnaryFunction>
detail::Pmap<F> pmap(F f, PmapOptions options = {}) {
  return {std::move(f), options};
}
template <std::same_as<BinaryFunction> F = BinaryFunction>
detail::Pmap<F> pmap(F f, PmapOptions options = {}) {
  return {f, options};
}

}  // namespace weft
