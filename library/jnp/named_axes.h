// Functions whose axis is given by name, as in JAX: `concatenate({a, b}, {.axis = 1})`.
#pragma once
#include <concepts>
#include <utility>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/array/integer.h"
#include "weft/core/array/optional_shape.h"
#include "weft/core/functions/shaping.h"
#include "weft/library/jnp/names.h"
#include "weft/library/jnp/positions.h"
#include "weft/library/jnp/statistics.h"
#include "weft/library/numpy/numpy.h"

namespace weft {

/// The axes of flip, roll, squeeze and expand_dims by name.
struct AxesOption {
  detail::NamedFields named = detail::NamedFields();
  Axis axis = none;  ///< which
};
/// The diagonal of diag, tril and triu by name.
struct DiagonalOption {
  detail::NamedFields named = detail::NamedFields();
  Int k = 0;  ///< which diagonal: 0 the main one, positive ones above it
};
/// Decimals of round by name.
struct RoundOptions {
  detail::NamedFields named = detail::NamedFields();
  Int decimals = 0;  ///< digits behind the point; negative: zeros before it
};

// Templates (detail::Nothing), so that `{}` and `{1}` go on meaning what they mean without them.
/// `concatenate({a, b}, {.axis = 1})`.
Array concatenate(Args xs, AxisOption options, SourceLoc loc = SourceLoc::here(), detail::Nothing auto...) {
  return concatenate(std::move(xs), options.axis, loc);
}
/// `stack({a, b}, {.axis = 1})`.
Array stack(Args xs, AxisOption o, SourceLoc loc = SourceLoc::here(), detail::Nothing auto...) { return stack(std::move(xs), o.axis, loc); }
/// `split(x, 2, {.axis = 1})`.
std::vector<Array> split(Arg x, Sections sections, AxisOption options, detail::Nothing auto...) {
  return split(std::move(x), std::move(sections), options.axis);
}
/// `repeat(x, 2, {.axis = 1})`.
Array repeat(Arg x, Int n, AxisOption options, detail::Nothing auto...) { return repeat(std::move(x), n, options.axis); }
/// `flip(x, {.axis = 1})`.
Array flip(Arg x, AxesOption options, detail::Nothing auto...) { return flip(std::move(x), options.axis); }
/// `roll(x, 2, {.axis = 1})`.
Array roll(Arg x, Shape shift, AxesOption options, detail::Nothing auto...) { return roll(std::move(x), std::move(shift), options.axis); }
/// `squeeze(x, {.axis = 1})`.
Array squeeze(Arg x, AxesOption options, detail::Nothing auto...) { return squeeze(std::move(x), options.axis); }
/// `expand_dims(x, {.axis = 1})`.
Array expand_dims(Arg x, AxesOption options, detail::Nothing auto...) { return expand_dims(std::move(x), options.axis); }
/// `gradient(x, {.axis = 1})`.
Array gradient(Arg x, AxisOption options, detail::Nothing auto...) { return gradient(std::move(x), 1, options.axis); }
/// `slice_in_dim(x, 1, 3, {.axis = 1})`.
Array slice_in_dim(Arg x, std::optional<Int> start, std::optional<Int> limit, AxisOption options, detail::Nothing auto...) {
  return slice_in_dim(std::move(x), start, limit, 1, options.axis);
}
/// `dynamic_slice_in_dim(x, i, 2, {.axis = 1})`.
Array dynamic_slice_in_dim(Arg x, Arg start, Int size, AxisOption options, detail::Nothing auto...) {
  return dynamic_slice_in_dim(std::move(x), std::move(start), size, options.axis);
}
/// `diag(x, {.k = 1})`.
Array diag(Arg x, DiagonalOption options, detail::Nothing auto...) { return diag(std::move(x), options.k); }
/// `tril(x, {.k = -1})`.
Array tril(Arg x, DiagonalOption options, detail::Nothing auto...) { return tril(std::move(x), options.k); }
/// `triu(x, {.k = 1})`.
Array triu(Arg x, DiagonalOption options, detail::Nothing auto...) { return triu(std::move(x), options.k); }
/// `round(x, {.decimals = 2})`.
Array round(Arg x, RoundOptions options, detail::Nothing auto...) { return round(std::move(x), options.decimals); }

}  // namespace weft
