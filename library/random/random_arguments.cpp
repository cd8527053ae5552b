// Draws without replacement, by the largest of logits with Gumbel noise (W. Kool, H. van Hoof, M. Welling 2019).
#include "weft/library/random/random_arguments.h"

#include <fmt/format.h>

#include <vector>

#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/ops/common.h"
#include "weft/core/trace/trace.h"

namespace weft {

Array detail::categorical_of(const Arg& key, const Arg& logits, const random::CategoricalArguments& arguments) {
  LocScope scope(key.where());
  if (arguments.replace) return random::categorical(key, logits, arguments.axis, arguments.shape);
  const Array x = as_dtype(logits.array(), inexact_dtype(logits.array().dtype()));
  const int axis = normalize_axis(arguments.axis, x.ndim(), "categorical", x.aval(), key.where());
  const Shape batch = x.shape().erased(axis), shape = arguments.shape.has_value() ? arguments.shape.value() : batch;
  const int prefix = shape.size() - batch.size();
  std::int64_t k = 1;
  bool fits = prefix >= 0;
  for (int d = 0; fits && d < shape.size(); ++d) d < prefix ? void(k *= shape[d]) : void(fits = shape[d] == batch[d - prefix]);
  if (!fits)
    throw ShapeError(fmt::format("categorical: the shape {} must end in {}, that of the logits {} without the axis", to_string(shape),
                                 to_string(batch), to_string(logits.aval())),
                     effective_loc(key.where()));
  if (k > x.shape()[axis])
    throw Error(fmt::format("categorical: {} positions without replacement of {}; they can't be more", k, x.shape()[axis]),
                effective_loc(key.where()));
  const Array noisy = x + random::gumbel(key, x.shape(), x.dtype());
  const Array found = top_k(moveaxis(noisy, axis, -1), k).indices;
  return reshape(moveaxis(found, -1, 0), shape);
}

}  // namespace weft
