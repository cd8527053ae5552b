#include "weft/library/jnp/activations.h"

#include <numbers>

#include "weft/core/array/constructors.h"
#include "weft/core/functions/chosen_axis.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/nn/nn.h"

namespace weft::nn {

using detail::LocScope;

Array hard_swish(Arg x) { return hard_silu(std::move(x)); }
Array squareplus(Arg x, Arg b) {
  LocScope scope(x.where());
  return (x.array() + sqrt(square(x) + b)) / 2;
}
Array sparse_plus(Arg x) {
  LocScope scope(x.where());
  const Array v = detail::to_inexact(x);
  return where(v <= -1, 0, where(v >= 1, v, square(v + 1) / 4));
}
Array sparse_sigmoid(Arg x) {
  LocScope scope(x.where());
  return clip(detail::to_inexact(x) + 1, 0, 2) * 0.5;
}
Array log1mexp(Arg x) {
  LocScope scope(x.where());
  const Array v = detail::to_inexact(x), small = v < std::numbers::ln2;
  // Each branch sees numbers for which its derivative is finite.
  const Array near = where(small, v, 1), far = where(small, 1, v);
  return where(small, log(-expm1(-near)), log1p(-exp(-far)));
}
Array logmeanexp(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  const Array v = detail::to_inexact(x), total = weft::logsumexp(Arg(detail::as_wide(v), x.where()), axis, options);
  const Array counted = sum(ones(v.shape(), total.dtype()), detail::axis_of(axis, options, "logmeanexp", x.where()),
                            {.keepdims = options.keepdims, .where = options.where});
  return detail::as_dtype(total - log(counted), v.dtype());
}

}  // namespace weft::nn
