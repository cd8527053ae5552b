// Functions whose axis is given by name, as in JAX: `concatenate({a, b}, {.axis = 1})`.
#pragma once
#include <concepts>
#include <utility>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/array/integer.h"
#include "weft/core/functions/shaping.h"
#include "weft/library/jnp/names.h"

namespace weft {

/// The axis of concatenate, stack, split and repeat by name.
struct AxisOption {
  detail::NamedFields named = detail::NamedFields();
  AxisNumber axis = 0;  ///< along which
};
/// The axes of flip, roll, squeeze and expand_dims by name.
struct AxesOption {
  detail::NamedFields named = detail::NamedFields();
  Axis axis = none;  ///< which
};
/// The diagonal of tril and triu by name.
struct DiagonalOption {
  detail::NamedFields named = detail::NamedFields();
  Int k = 0;  ///< which diagonal: 0 the main one, positive ones above it
};
/// Decimals of round by name.
struct RoundOptions {
  detail::NamedFields named = detail::NamedFields();
  Int decimals = 0;  ///< digits behind the point; negative: zeros before it
};

// Templates, so that `{}` and `{1}` go on meaning what they mean without them.
/// `concatenate({a, b}, {.axis = 1})`.
template <std::same_as<AxisOption> O = AxisOption>
Array concatenate(Args xs, O options, SourceLoc loc = SourceLoc::here()) {
  return concatenate(std::move(xs), options.axis, loc);
}
/// `stack({a, b}, {.axis = 1})`.
template <std::same_as<AxisOption> O = AxisOption>
Array stack(Args xs, O options, SourceLoc loc = SourceLoc::here()) {
  return stack(std::move(xs), options.axis, loc);
}
/// `split(x, 2, {.axis = 1})`.
template <std::same_as<AxisOption> O = AxisOption>
std::vector<Array> split(Arg x, Sections sections, O options) {
  return split(std::move(x), std::move(sections), options.axis);
}
/// `repeat(x, 2, {.axis = 1})`.
template <std::same_as<AxisOption> O = AxisOption>
Array repeat(Arg x, Int n, O options) {
  return repeat(std::move(x), n, options.axis);
}
/// `flip(x, {.axis = 1})`.
template <std::same_as<AxesOption> O = AxesOption>
Array flip(Arg x, O options) {
  return flip(std::move(x), std::move(options.axis));
}
/// `roll(x, 2, {.axis = 1})`.
template <std::same_as<AxesOption> O = AxesOption>
Array roll(Arg x, Shape shift, O options) {
  return roll(std::move(x), std::move(shift), std::move(options.axis));
}
/// `squeeze(x, {.axis = 1})`.
template <std::same_as<AxesOption> O = AxesOption>
Array squeeze(Arg x, O options) {
  return squeeze(std::move(x), std::move(options.axis));
}
/// `expand_dims(x, {.axis = 1})`.
template <std::same_as<AxesOption> O = AxesOption>
Array expand_dims(Arg x, O options) {
  return expand_dims(std::move(x), std::move(options.axis));
}
/// `tril(x, {.k = -1})`.
template <std::same_as<DiagonalOption> O = DiagonalOption>
Array tril(Arg x, O options) {
  return tril(std::move(x), options.k);
}
/// `triu(x, {.k = 1})`.
template <std::same_as<DiagonalOption> O = DiagonalOption>
Array triu(Arg x, O options) {
  return triu(std::move(x), options.k);
}
/// `round(x, {.decimals = 2})`.
template <std::same_as<RoundOptions> O = RoundOptions>
Array round(Arg x, O options) {
  return round(std::move(x), options.decimals);
}

}  // namespace weft
