// Functions applied along axes, to pieces, and to broadcast arguments: apply_along_axis, piecewise, vectorize.
#pragma once
#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/array/array_functions.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/shaping.h"
#include "weft/library/jnp/array_function.h"
#include "weft/library/jnp/positions.h"
#include "weft/transforms/control/control_flow.h"
#include "weft/transforms/flat.h"
#include "weft/transforms/maps/vmap.h"

namespace weft {

namespace detail {
/// x with an axis at the end and all others as one in front.
Array rows_along(const Array& x, int axis);
/// The results of the rows, in the place of the axis.
Array from_rows_along(const Array& results, const Shape& shape, int axis);
Array reduced_over(const Array& result, const Array& x, int axis, SourceLoc loc);
int axis_to_apply_along(const Arg& x, int axis, const char* operation);

/// How many trailing dimensions of each argument a function takes, and of each result it gives, by the text `(m,n),(n)->(m)`.
struct CoreDimensions {
  CoreDimensions(const std::string& signature, std::size_t arguments, SourceLoc loc);
  std::vector<std::vector<std::string>> names, results;
};
/// The arguments broadcast over their leading dimensions, which become one.
struct BroadcastArguments {
  std::vector<Array> rows;
  Shape leading;
};
BroadcastArguments broadcast_leading(const CoreDimensions& core, std::vector<Array> arguments, SourceLoc loc);
Array with_leading_dimensions(const Array& x, const Shape& leading);
/// Throws unless the results, one row for each call, have the dimensions that the signature says, if there is one.
void check_results(const CoreDimensions& core, const BroadcastArguments& all, const std::vector<Array>& results, SourceLoc loc);
/// The positions along each dimension, flattened; throws unless there are as many as the function has parameters.
std::vector<Array> flat_positions(const Shape& shape, DType dtype, std::size_t parameters, SourceLoc loc);
}  // namespace detail

/// f of each vector along an axis, the others mapped (jnp.apply_along_axis): the dimensions of f's result stand in the place of the axis.
template <class F>
Array apply_along_axis(F f, AxisNumber axis, Arg x) {
  const int a = detail::axis_to_apply_along(x, axis, "apply_along_axis");
  auto mapped = vmap([f = std::move(f)](Array row) mutable { return Array(f(row)); });
  return detail::from_rows_along(mapped(detail::rows_along(x.array(), a)), x.array().shape(), a);
}
/// f(x, axis) for each of the axes in turn, which stay with size 1 where f drops them (jnp.apply_over_axes).
template <class F>
Array apply_over_axes(F f, Arg x, Axis axes) {
  Array out = x.array();
  for (int axis : axes.axes()) {
    const int a = detail::axis_to_apply_along(Arg(out, x.where()), axis, "apply_over_axes");
    out = detail::reduced_over(Array(f(out, a)), out, a, x.where());
  }
  return out;
}

/// A function of arrays, or a value, for piecewise.
class PiecewiseFunction {
 public:
  PiecewiseFunction(ScalarType auto value) : function_([value](const Array&) { return Array(value); }) {}
  PiecewiseFunction(const Array& value) : function_([value](const Array&) { return value; }) {}
  template <class F>
    requires(!std::is_convertible_v<F, Array> && std::is_invocable_r_v<Array, F&, const Array&>)
  PiecewiseFunction(F f) : function_(std::move(f)) {}
  Array operator()(const Array& x) const { return function_(x); }

 private:
  ArrayFunction function_;
};
/// switch_ of functions of one array in braces: `switch_(i, {f, g}, x)`.
Array switch_(Arg index, std::initializer_list<ArrayFunction> branches, const Array& x);
/// Elementwise, the function whose condition holds, the last one of several; the function behind the others, or 0, where none does
/// (jnp.piecewise). All functions are computed of all of x. The result has x's dtype.
Array piecewise(Arg x, Args conditions, const std::vector<PiecewiseFunction>& functions);

/// f of the positions of each element of an array of the shape, one argument for each dimension, mapped over all (jnp.fromfunction).
template <class F>
auto fromfunction(F f, Shape shape, DType dtype = float32, SourceLoc loc = SourceLoc::here()) {
  using A = Array;
  constexpr std::size_t n = std::is_invocable_v<F&, A> ? 1 : std::is_invocable_v<F&, A, A> ? 2 : std::is_invocable_v<F&, A, A, A> ? 3 : 4;
  const std::vector<Array> at = detail::flat_positions(shape, dtype, n, loc);
  const auto results = [&]<std::size_t... I>(std::index_sequence<I...>) { return vmap(f)(at[I]...); }(std::make_index_sequence<n>());
  return detail::map_leaves(results, [&](const Array& x) { return detail::with_leading_dimensions(x, shape); });
}
/// The positions where `mask(ones({n, n}), k)` isn't 0: rows and columns (jnp.mask_indices).
template <class F>
std::vector<Array> mask_indices(Int n, F mask, Int k = 0, SourceLoc loc = SourceLoc::here()) {
  return nonzero(mask(ones({n, n}, int32, loc), k));
}

/// A function of arrays with the given trailing dimensions, mapped over all leading ones, which are broadcast together (jnp.vectorize):
/// `vectorize(f, "(n),(n)->()")`; without a signature f takes scalars. Names that occur twice are sizes that must agree. Throws ShapeError
/// for arguments and results that are not as the signature says.
template <class F>
auto vectorize(F f, std::string signature = {}, SourceLoc loc = SourceLoc::here()) {
  return [f = std::move(f), signature = std::move(signature), loc]<class... A>(const A&... arguments) {
    static_assert((std::is_convertible_v<const A&, Array> && ...), "weft: a vectorized function takes arrays");
    const detail::CoreDimensions core(signature, sizeof...(A), loc);
    const detail::BroadcastArguments all = detail::broadcast_leading(core, {Array(arguments)...}, loc);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto results = vmap(f)(all.rows[I]...);
      detail::check_results(core, all, detail::leaves_of(results), loc);
      return detail::map_leaves(results, [&](const Array& x) { return detail::with_leading_dimensions(x, all.leading); });
    }(std::index_sequence_for<A...>());
  };
}

}  // namespace weft
