// Constructors whose dtype is given by name, as in JAX: `zeros({2, 3}, {.dtype = float64})`.
#pragma once
#include <concepts>
#include <optional>
#include <utility>

#include "weft/core/array/array.h"
#include "weft/core/array/constructors.h"

namespace weft {

/// Options of constructors.
struct DTypeOptions {
  std::optional<DType> dtype = {};  ///< of the elements; absent: as without options
};
/// Options of eye.
struct EyeOptions {
  std::optional<Int> m = {};  ///< the number of columns; absent: as many as rows
  Int k = 0;                  ///< which diagonal holds ones
  DType dtype = float32;      ///< of the elements
};
// Templates, so that `{}` goes on meaning what it means without them.
/// Ones on a diagonal: `eye(3, {.dtype = float64})`.
template <std::same_as<EyeOptions> O = EyeOptions>
Array eye(Int n, O options, SourceLoc loc = SourceLoc::here()) {
  return eye(n, options.m, options.k, options.dtype, loc);
}
/// Zeros of a dtype.
template <std::same_as<DTypeOptions> O = DTypeOptions>
Array zeros(Shape shape, O options, SourceLoc loc = SourceLoc::here()) {
  return zeros(std::move(shape), options.dtype.value_or(float32), loc);
}
/// Ones of a dtype.
template <std::same_as<DTypeOptions> O = DTypeOptions>
Array ones(Shape shape, O options, SourceLoc loc = SourceLoc::here()) {
  return ones(std::move(shape), options.dtype.value_or(float32), loc);
}
/// One value everywhere, in a dtype.
template <std::same_as<DTypeOptions> O = DTypeOptions>
Array full(Shape shape, Arg value, O options) {
  return full(std::move(shape), std::move(value), options.dtype);
}
/// Numbers in a row, in a dtype.
template <std::same_as<DTypeOptions> O = DTypeOptions>
Array arange(detail::Number stop, O options, SourceLoc loc = SourceLoc::here()) {
  return arange(stop, options.dtype, loc);
}
template <std::same_as<DTypeOptions> O = DTypeOptions>
Array arange(detail::Number start, detail::Number stop, O options, SourceLoc loc = SourceLoc::here()) {
  return arange(start, stop, 1, options.dtype, loc);
}
/// Numbers in braces, in a dtype.
template <std::same_as<DTypeOptions> O = DTypeOptions>
Array array(Literal values, O options, SourceLoc loc = SourceLoc::here()) {
  return array(std::move(values), options.dtype, loc);
}

}  // namespace weft
