// Constructors whose dtype is given by name, as in JAX: `zeros({2, 3}, {.dtype = float64})`.
#pragma once
#include <concepts>
#include <optional>
#include <utility>

#include "weft/core/array/array.h"
#include "weft/core/array/constructors.h"
#include "weft/core/array/optional_shape.h"

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
/// Options of eye of n rows and m columns.
struct DiagonalOptions {
  Int k = 0;              ///< which diagonal holds ones
  DType dtype = float32;  ///< of the elements
};
// Templates, so that `{}` goes on meaning what it means without them.
/// Ones on a diagonal: `eye(3, {.dtype = float64})`.
template <std::same_as<EyeOptions> O = EyeOptions>
Array eye(Int n, O options, SourceLoc loc = SourceLoc::here()) {
  return eye(n, options.m, options.k, options.dtype, loc);
}
template <std::same_as<DiagonalOptions> O = DiagonalOptions>
Array eye(Int n, Int m, O options, SourceLoc loc = SourceLoc::here()) {
  return eye(n, m, options.k, options.dtype, loc);
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
  return array(values, options.dtype, loc);
}
template <NumberRange R, std::same_as<DTypeOptions> O = DTypeOptions>
Array array(const R& values, O options, SourceLoc loc = SourceLoc::here()) {
  return array(values, Shape(std::size(values)), options.dtype, loc);
}
template <std::same_as<DTypeOptions> O = DTypeOptions>
Array asarray(Literal values, O options, SourceLoc loc = SourceLoc::here()) {
  return array(values, options.dtype, loc);
}
/// Uninitialised arrays are zeros.
inline Array empty(Shape shape, DType dtype = float32, SourceLoc loc = SourceLoc::here()) { return zeros(std::move(shape), dtype, loc); }
/// Options of zeros_like, ones_like and full_like.
struct LikeOptions {
  std::optional<DType> dtype = {};  ///< absent: x's
  OptionalShape shape = none;       ///< absent: x's
};
template <std::same_as<LikeOptions> O = LikeOptions>
Array full_like(Arg x, Arg value, O options) {
  return full(options.shape.has_value() ? options.shape.value() : x.array().shape(), value, options.dtype.value_or(x.array().dtype()));
}
template <std::same_as<LikeOptions> O = LikeOptions>
Array zeros_like(Arg x, O options) {
  return full_like(std::move(x), 0, options);
}
template <std::same_as<LikeOptions> O = LikeOptions>
Array ones_like(Arg x, O options) {
  return full_like(std::move(x), 1, options);
}
/// Bounds of clip by name.
struct ClipOptions {
  std::optional<Array> min = {}, max = {};  ///< absent: no bound
};
Array clip(Arg x, ClipOptions bounds);

/// NumPy's groups of dtypes, for issubdtype: `DTypeGroup::floating`, ...
enum class DTypeGroup { number, integer, signedinteger, unsignedinteger, inexact, floating, complexfloating };
/// Whether a dtype is in a group.
bool issubdtype(DType dtype, DTypeGroup group);
/// Whether x's dtype is complex.
inline bool iscomplexobj(Arg x) { return x.array().dtype().is_complex(); }

}  // namespace weft
