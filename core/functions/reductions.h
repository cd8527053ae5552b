// The user's reductions and running reductions.
#pragma once
#include <concepts>
#include <optional>
#include <utility>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"

namespace weft {

/// Rare options of reductions.
struct ReduceOptions {
  detail::NamedFields named = detail::NamedFields();
  Axis axis = none;                 ///< over which, where no axis is an argument: one, several or all of them
  std::optional<DType> dtype = {};  ///< of the computation and the result; of argmax and argmin, the index type
  bool keepdims = false;            ///< the reduced axes stay, with size 1
  Int ddof = 0;                     ///< var and std_: the divisor is the number of elements less ddof
  std::optional<Array> where = {};  ///< a mask that broadcasts to x: only elements where it is true take part
  /// of sum, prod, max and min: a number that is combined with each result; extrema of no elements are then defined
  std::optional<Array> initial = {};
};
inline const ReduceOptions& keepdims = *new ReduceOptions{.keepdims = true};  // never destroyed

// Reductions over one axis, several (`{0, 2}`) or all of them (`none`), with jax.numpy's meaning: without an axis given, over all. An axis
// that x hasn't got, or that is given twice, is an AxisError. The maximum, the minimum and their positions propagate NaN.

/// The sum. Small integers and bools are added as int32 or uint32; 16-bit floats in float32, and rounded once.
Array sum(Arg x, Axis axis, ReduceOptions options = {});
inline Array sum(Arg x) { return sum(std::move(x), none); }
inline Array sum(Arg x, ReduceOptions options) { return sum(std::move(x), none, std::move(options)); }
/// The product, with the same types as the sum.
Array prod(Arg x, Axis axis, ReduceOptions options = {});
inline Array prod(Arg x) { return prod(std::move(x), none); }
inline Array prod(Arg x, ReduceOptions options) { return prod(std::move(x), none, std::move(options)); }
/// The arithmetic mean: float32 for integers (float64 for 64-bit ones), NaN for none at all.
Array mean(Arg x, Axis axis, ReduceOptions options = {});
inline Array mean(Arg x) { return mean(std::move(x), none); }
inline Array mean(Arg x, ReduceOptions options) { return mean(std::move(x), none, std::move(options)); }
/// The variance: the mean of the squared distances from the mean, with divisor n - ddof; NaN where that isn't positive.
Array var(Arg x, Axis axis, ReduceOptions options = {});
inline Array var(Arg x) { return var(std::move(x), none); }
inline Array var(Arg x, ReduceOptions options) { return var(std::move(x), none, std::move(options)); }
/// The standard deviation, sqrt(var(x)).
Array std_(Arg x, Axis axis, ReduceOptions options = {});
inline Array std_(Arg x) { return std_(std::move(x), none); }
inline Array std_(Arg x, ReduceOptions options) { return std_(std::move(x), none, std::move(options)); }
/// The same, by NumPy's name: `weft::std(x)` and `jnp::std(x)`. (Beside `using namespace weft`, `std` alone is ambiguous.)
inline Array std(Arg x, Axis axis = none, ReduceOptions options = {}) { return std_(std::move(x), std::move(axis), std::move(options)); }
/// The maximum. Its gradient is shared equally by ties. Of no elements: a ShapeError, unless there is an `initial` one.
Array max(Arg x, Axis axis, ReduceOptions options = {});
inline Array max(Arg x) { return max(std::move(x), none); }
inline Array max(Arg x, ReduceOptions options) { return max(std::move(x), none, std::move(options)); }
/// The minimum, as max.
Array min(Arg x, Axis axis, ReduceOptions options = {});
inline Array min(Arg x) { return min(std::move(x), none); }
template <class B>
  requires(std::floating_point<B> || std::same_as<B, Array>)
Array max(Arg, const B&) {
  static_assert(!sizeof(B), "weft: max(x, axis) reduces along an axis; the larger of two arrays or numbers is maximum(a, b)");
  return {};
}
template <class B>
  requires(std::floating_point<B> || std::same_as<B, Array>)
Array min(Arg, const B&) {
  static_assert(!sizeof(B), "weft: min(x, axis) reduces along an axis; the smaller of two arrays or numbers is minimum(a, b)");
  return {};
}
inline Array min(Arg x, ReduceOptions options) { return min(std::move(x), none, std::move(options)); }
/// The first position of the maximum along one axis, or in the flattened array; int32.
Array argmax(Arg x, Axis axis, ReduceOptions options = {});
inline Array argmax(Arg x) { return argmax(std::move(x), none); }
inline Array argmax(Arg x, ReduceOptions options) { return argmax(std::move(x), none, std::move(options)); }
/// The first position of the minimum, as argmax.
Array argmin(Arg x, Axis axis, ReduceOptions options = {});
inline Array argmin(Arg x) { return argmin(std::move(x), none); }
inline Array argmin(Arg x, ReduceOptions options) { return argmin(std::move(x), none, std::move(options)); }
/// Whether any element isn't 0.
Array any(Arg x, Axis axis, ReduceOptions options = {});
inline Array any(Arg x) { return any(std::move(x), none); }
inline Array any(Arg x, ReduceOptions options) { return any(std::move(x), none, std::move(options)); }
/// Whether no element is 0.
Array all(Arg x, Axis axis, ReduceOptions options = {});
inline Array all(Arg x) { return all(std::move(x), none); }
inline Array all(Arg x, ReduceOptions options) { return all(std::move(x), none, std::move(options)); }
/// log(sum(exp(x))) without overflow; all -inf gives -inf. As jax.nn.logsumexp.
Array logsumexp(Arg x, Axis axis, ReduceOptions options = {});
inline Array logsumexp(Arg x) { return logsumexp(std::move(x), none); }
inline Array logsumexp(Arg x, ReduceOptions options) { return logsumexp(std::move(x), none, std::move(options)); }

// Running reductions along an axis. Without one, cumsum and cumprod flatten the array, as in jax.numpy; the others take the first axis, as
// in jax.lax.

/// Rare options of running reductions.
struct CumulativeOptions {
  detail::NamedFields named = detail::NamedFields();
  std::optional<AxisNumber> axis = {};  ///< along which, where no axis is an argument
  bool reverse = false;                 ///< from the last element to the first
  std::optional<DType> dtype = {};      ///< of cumsum and cumprod: of the computation and the result
};
/// The sum of the elements up to each, of the flattened array without an axis. Bools are counted in int32.
Array cumsum(Arg x, AxisNumber axis, CumulativeOptions options = {});
Array cumsum(Arg x, CumulativeOptions options);
inline Array cumsum(Arg x) { return cumsum(std::move(x), CumulativeOptions()); }
Array cumsum(Arg x, detail::NoneValue auto) { return cumsum(std::move(x)); }
/// The product of the elements up to each, of the flattened array without an axis.
Array cumprod(Arg x, AxisNumber axis, CumulativeOptions options = {});
Array cumprod(Arg x, CumulativeOptions options);
inline Array cumprod(Arg x) { return cumprod(std::move(x), CumulativeOptions()); }
Array cumprod(Arg x, detail::NoneValue auto) { return cumprod(std::move(x)); }
/// The maximum of the elements up to each.
Array cummax(Arg x, AxisNumber axis, CumulativeOptions options = {});
inline Array cummax(Arg x) { return cummax(std::move(x), 0); }
inline Array cummax(Arg x, CumulativeOptions options) { return cummax(std::move(x), options.axis.value_or(0), options); }
/// The minimum of the elements up to each.
Array cummin(Arg x, AxisNumber axis, CumulativeOptions options = {});
inline Array cummin(Arg x) { return cummin(std::move(x), 0); }
inline Array cummin(Arg x, CumulativeOptions options) { return cummin(std::move(x), options.axis.value_or(0), options); }
/// log(sum(exp(x))) of the elements up to each, without overflow.
Array cumlogsumexp(Arg x, AxisNumber axis, CumulativeOptions options = {});
inline Array cumlogsumexp(Arg x) { return cumlogsumexp(std::move(x), 0); }
inline Array cumlogsumexp(Arg x, CumulativeOptions options) { return cumlogsumexp(std::move(x), options.axis.value_or(0), options); }

namespace detail {
/// The axes as positions in [0, ndim), all of them for `none`. Throws AxisError where one is out of range or given twice.
std::vector<int> resolve_axes(const Axis& axis, const Arg& x, const char* operation);
/// The dtype in which a floating-point operation on this dtype is computed: the dtype itself if it is floating or complex, else float32, or
/// float64 for 64-bit integers.
inline DType inexact_dtype(DType d) { return d.is_inexact() ? d : d.itemsize() == 8 ? float64 : float32; }
/// The dtype in which sums are accumulated: float32 for 16-bit floats.
inline DType wide_dtype(DType d) { return d == float16 || d == bfloat16 ? float32 : d; }
/// convert(), or x itself where it has the dtype.
Array as_dtype(const Array& x, DType dtype);
}  // namespace detail

}  // namespace weft
