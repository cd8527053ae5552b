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
// Templates (detail::Nothing), so that `{}` goes on meaning what it means without them.
/// Ones on a diagonal: `eye(3, {.dtype = float64})`.
Array eye(Int n, EyeOptions o, SourceLoc loc = SourceLoc::here(), detail::Nothing auto...) { return eye(n, o.m, o.k, o.dtype, loc); }
Array eye(Int n, Int m, DiagonalOptions options, SourceLoc loc = SourceLoc::here(), detail::Nothing auto...) {
  return eye(n, m, options.k, options.dtype, loc);
}
/// Zeros of a dtype.
Array zeros(Shape shape, DTypeOptions options, SourceLoc loc = SourceLoc::here(), detail::Nothing auto...) {
  return zeros(std::move(shape), options.dtype.value_or(float32), loc);
}
/// Ones of a dtype.
Array ones(Shape shape, DTypeOptions options, SourceLoc loc = SourceLoc::here(), detail::Nothing auto...) {
  return ones(std::move(shape), options.dtype.value_or(float32), loc);
}
/// One value everywhere, in a dtype.
Array full(Shape shape, Arg value, DTypeOptions o, detail::Nothing auto...) { return full(std::move(shape), std::move(value), o.dtype); }
/// Numbers in a row, in a dtype.
Array arange(detail::Number stop, DTypeOptions options, SourceLoc loc = SourceLoc::here(), detail::Nothing auto...) {
  return arange(stop, options.dtype, loc);
}
Array arange(detail::Number start, detail::Number stop, DTypeOptions options, SourceLoc loc = SourceLoc::here(), detail::Nothing auto...) {
  return arange(start, stop, 1, options.dtype, loc);
}
/// Numbers in braces, in a dtype.
Array array(Literal values, DTypeOptions options, SourceLoc loc = SourceLoc::here(), detail::Nothing auto...) {
  return array(values, options.dtype, loc);
}
template <NumberRange R, std::same_as<DTypeOptions> O = DTypeOptions>
Array array(const R& values, O options, SourceLoc loc = SourceLoc::here()) {
  return array(values, Shape(std::size(values)), options.dtype, loc);
}
Array asarray(Literal values, DTypeOptions options, SourceLoc loc = SourceLoc::here(), detail::Nothing auto...) {
  return array(values, options.dtype, loc);
}
/// Uninitialised arrays are zeros.
inline Array empty(Shape shape, DType dtype = float32, SourceLoc loc = SourceLoc::here()) { return zeros(std::move(shape), dtype, loc); }
/// Options of zeros_like, ones_like and full_like.
struct LikeOptions {
  std::optional<DType> dtype = {};  ///< absent: x's
  OptionalShape shape = none;       ///< absent: x's
};
Array full_like(Arg x, Arg value, LikeOptions options, detail::Nothing auto...) {
  return full(options.shape.has_value() ? options.shape.value() : x.array().shape(), value, options.dtype.value_or(x.array().dtype()));
}
Array zeros_like(Arg x, LikeOptions options, detail::Nothing auto...) { return full_like(std::move(x), 0, options); }
Array ones_like(Arg x, LikeOptions options, detail::Nothing auto...) { return full_like(std::move(x), 1, options); }
/// Bounds of clip by name.
struct ClipOptions {
  std::optional<Array> min = {}, max = {};  ///< absent: no bound
};
Array clip(Arg x, ClipOptions bounds);

/// NumPy's groups of dtypes, for issubdtype: `jnp::floating` or `DTypeGroup::floating`, ...
enum class DTypeGroup { number, integer, signedinteger, unsignedinteger, inexact, floating, complexfloating };
namespace constants {
using enum DTypeGroup;
}
/// Whether a dtype is in a group.
bool issubdtype(DType dtype, DTypeGroup group);
/// Whether x's dtype is complex.
inline bool iscomplexobj(Arg x) { return x.array().dtype().is_complex(); }

}  // namespace weft
