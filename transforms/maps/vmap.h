// vmap: a function of one example as a function of a batch.
#pragma once
#include "weft/core/array/array_functions.h"
#include "weft/transforms/flat.h"
#include "weft/transforms/options.h"

namespace weft {

namespace detail {

std::vector<Array> flat_vmap(FlatFunction& f, const VmapOptions& options);

template <class F>
class Vmap : public Callable<Vmap<F>> {
 public:
  using weft_inner = F;
  Vmap(F f, VmapOptions options) : f_(std::move(f)), options_(std::move(options)) {}
  template <class... A>
  out_t<F, A...> call(SourceLoc loc, const A&... args) const {
    FlatCall<F, A...> flat(f_, loc, args...);
    const std::vector<Array> results = flat_vmap(flat, options_);
    return flat.make_result(results);
  }

 private:
  mutable F f_;
  VmapOptions options_;
};

}  // namespace detail

/// A function of one example as a function of a batch (jax.vmap): each mapped argument has one more axis, and so has each result. Throws
/// ShapeError if the mapped axes have different sizes, AxisError for an axis that an argument doesn't have, PytreeError if in_axes or
/// out_axes is not a prefix of the arguments or results.
template <class F = UnaryFunction>
detail::Vmap<F> vmap(F f, VmapOptions options = {}) {
  return {std::move(f), std::move(options)};
}
template <std::same_as<BinaryFunction> F = BinaryFunction>
detail::Vmap<F> vmap(F f, VmapOptions options = {}) {
  return {f, std::move(options)};
}
/// The same with in_axes alone: `vmap(f, {none, 0})`.
// A template of both parameters, so that `{.in_axes = 0}` is options.
template <class F = UnaryFunction, std::convertible_to<Axes> A = Axes>
detail::Vmap<F> vmap(F f, A in_axes) {
  return {std::move(f), VmapOptions{.in_axes = Axes(std::move(in_axes))}};
}

WEFT_GIVES_A_FUNCTION(vmap)

}  // namespace weft
