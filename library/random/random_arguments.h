// Arguments of jax.random's functions that few programs need: draws without replacement.
#pragma once
#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/array/optional_shape.h"
#include "weft/library/random/random.h"

namespace weft::random {
struct CategoricalArguments;
}  // namespace weft::random
namespace weft::detail {
Array categorical_of(const Arg& key, const Arg& logits, const random::CategoricalArguments& arguments);
}  // namespace weft::detail

namespace weft::random {

/// Options of categorical with those of CategoricalOptions.
struct CategoricalArguments {
  AxisNumber axis = -1;        ///< as of CategoricalOptions
  OptionalShape shape = none;  ///< as of CategoricalOptions
  bool replace = true;         ///< whether one position may be drawn twice along the dimensions in front of the logits' own
};
/// categorical without replacement: `categorical(key, logits, {.shape = {3}, .replace = false})` draws three different positions. Throws
/// Error where more are asked for than there are.
Array categorical(Arg key, Arg logits, CategoricalArguments arguments, weft::detail::Nothing auto...) {
  return weft::detail::categorical_of(key, logits, arguments);
}

}  // namespace weft::random
