// Arguments that JAX's programs give by name to functions of jax.numpy and jax.lax, and that few programs need: <weft/weft.h> leaves them
// out.
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/array/indexing.h"
#include "weft/core/array/optional_shape.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/library/jnp/constructor_options.h"
#include "weft/library/jnp/editing.h"
#include "weft/library/jnp/joining.h"
#include "weft/library/jnp/lax_names.h"
#include "weft/library/jnp/statistics.h"
#include "weft/library/numpy/numpy.h"

namespace weft {

struct VarOptions;
struct CumulativeSumOptions;
struct GridOptions;
struct SorterOptions;
namespace detail {
Array var_around(const Arg& x, const VarOptions& options);
Array std_around(const Arg& x, const VarOptions& options);
Array nan_cumulative(const Arg& x, const CumulativeOptions& options, bool product);
Array cumulative(const Arg& x, const CumulativeSumOptions& options, bool product);
/// q counts in shares of `whole`.
Array nan_quantile(const Arg& x, const Arg& q, const QuantileOptions& options, double whole);
std::vector<Array> grid(const Args& xs, const GridOptions& options);
std::vector<Array> converted(const Args& xs, const DTypeOptions& options);
Array search(const Arg& sorted, const Arg& v, const SorterOptions& options);
}  // namespace detail

/// Options of angle.
struct AngleOptions {
  detail::NamedFields named = detail::NamedFields();
  bool deg = false;  ///< in degrees
};
/// The angle in degrees: `angle(z, {.deg = true})`.
Array angle(Arg z, AngleOptions options);
/// Options of trace.
struct TraceOptions {
  detail::NamedFields named = detail::NamedFields();
  Int offset = 0;                   ///< which diagonal: 0 the main one, positive ones above it
  AxisNumber axis1 = 0, axis2 = 1;  ///< the matrices' axes
  std::optional<DType> dtype = {};  ///< of the sum and the result
};
/// The sum of a diagonal: `trace(x, {.axis1 = 1, .axis2 = 2})`.
Array trace(Arg x, TraceOptions options);
/// The axes of cross.
struct CrossAxes {
  detail::NamedFields named = detail::NamedFields();
  AxisNumber axisa = -1, axisb = -1, axisc = -1;  ///< the vectors' axis of a, of b and of the result
  std::optional<AxisNumber> axis = {};            ///< in place of all three
};
/// The cross product of vectors along axes of their own: `cross(a, b, {.axisa = 0})`.
Array cross(Arg a, Arg b, CrossAxes axes);

/// Options of var, std and std_ that are rarer than those of ReduceOptions.
struct VarOptions {
  detail::NamedFields named = detail::NamedFields();
  Axis axis = none;                       ///< as of ReduceOptions
  std::optional<DType> dtype = {};        ///< as of ReduceOptions
  Int ddof = 0;                           ///< as of ReduceOptions
  bool keepdims = false;                  ///< as of ReduceOptions
  std::optional<Array> where = {};        ///< as of ReduceOptions
  std::optional<Array> mean = {};         ///< of the elements, as mean gives it with keepdims; absent: it is computed
  std::optional<double> correction = {};  ///< in place of ddof, not a whole number perhaps
};
/// The variance around a mean that is known, or with another correction of the divisor: `var(x, {.axis = 0, .correction = 1})`. Throws
/// Error for ddof beside a correction.
Array var(Arg x, VarOptions options, detail::Nothing auto...) { return detail::var_around(x, options); }
/// Its square root.
Array std_(Arg x, VarOptions options, detail::Nothing auto...) { return detail::std_around(x, options); }
Array std(Arg x, VarOptions options, detail::Nothing auto...) { return detail::std_around(x, options); }
/// The sum of the elements up to each that are not NaN: `nancumsum(x, {.axis = 1})`.
Array nancumsum(Arg x, CumulativeOptions options, detail::Nothing auto...) { return detail::nan_cumulative(x, options, false); }
/// Their product.
Array nancumprod(Arg x, CumulativeOptions options, detail::Nothing auto...) { return detail::nan_cumulative(x, options, true); }
/// Options of cumulative_sum and cumulative_prod.
struct CumulativeSumOptions {
  detail::NamedFields named = detail::NamedFields();
  std::optional<AxisNumber> axis = {};  ///< along which; a vector needs none
  std::optional<DType> dtype = {};      ///< of the computation and the result
  bool include_initial = false;         ///< the result begins with 0, of cumulative_prod with 1, and is longer by one
};
/// The sum of the elements up to each: `cumulative_sum(x, {.include_initial = true})`. Throws AxisError for a matrix without an axis.
Array cumulative_sum(Arg x, CumulativeSumOptions options, detail::Nothing auto...) { return detail::cumulative(x, options, false); }
/// Their product.
Array cumulative_prod(Arg x, CumulativeSumOptions options, detail::Nothing auto...) { return detail::cumulative(x, options, true); }
/// Options of ediff1d.
struct Ediff1dOptions {
  detail::NamedFields named = detail::NamedFields();
  std::optional<Array> to_end = {}, to_begin = {};  ///< behind and in front of the differences, in x's dtype
};
/// The differences of neighbours with values at the ends: `ediff1d(x, {.to_begin = 0})`.
Array ediff1d(Arg x, Ediff1dOptions options);

/// Options of meshgrid, with those of MeshgridOptions.
struct GridOptions {
  std::string indexing = "xy";  ///< as of MeshgridOptions
  bool sparse = false;          ///< each coordinate has size 1 along the axes of the others
};
/// Coordinates that broadcast to a grid: `meshgrid({x, y}, {.sparse = true})`.
std::vector<Array> meshgrid(Args xs, GridOptions options, detail::Nothing auto...) { return detail::grid(xs, options); }
std::pair<Array, Array> meshgrid(Arg x, Arg y, GridOptions options, detail::Nothing auto...) {
  std::vector<Array> both = detail::grid({std::move(x), std::move(y)}, options);
  return {std::move(both[0]), std::move(both[1])};
}
// Joined in a dtype, to which each array is converted.
/// concatenate: `concatenate({a, b}, 0, {.dtype = float32})`.
Array concatenate(Args xs, AxisNumber axis, DTypeOptions options);
/// stack, likewise.
Array stack(Args xs, AxisNumber axis, DTypeOptions options);
/// vstack, hstack and dstack: `vstack({a, b}, {.dtype = float32})`.
Array vstack(Args xs, DTypeOptions options, detail::Nothing auto...) { return vstack(detail::converted(xs, options)); }
Array hstack(Args xs, DTypeOptions options, detail::Nothing auto...) { return hstack(detail::converted(xs, options)); }
Array dstack(Args xs, DTypeOptions options, detail::Nothing auto...) { return dstack(detail::converted(xs, options)); }

/// Options of compress.
struct CompressOptions {
  detail::NamedFields named = detail::NamedFields();
  std::optional<AxisNumber> axis = {};  ///< along which; absent: of the flattened array
  std::optional<Int> size = {};         ///< of the result along the axis, at which it is cut off; the condition may then be traced
  Arg fill_value = 0;                   ///< behind the slices that were chosen if there are fewer
};
/// The slices for which the condition holds, as many as are asked for: `compress(c, x, {.axis = 0, .size = 3})`.
Array compress(Arg condition, Arg x, CompressOptions options);
/// Options of extract.
struct ExtractOptions {
  detail::NamedFields named = detail::NamedFields();
  std::optional<Int> size = {};  ///< as of CompressOptions
  Arg fill_value = 0;            ///< as of CompressOptions
};
/// The elements for which the condition holds, as many as are asked for: `extract(c, x, {.size = 3})`.
Array extract(Arg condition, Arg x, ExtractOptions options);
/// Options of choose.
struct ChooseOptions {
  std::string mode =
      "raise";  ///< of numbers out of range: "raise" throws, which needs their values, "clip" takes the nearest, "wrap" counts on
};
/// The choice with the number that `which` gives: `choose(which, {a, b}, {.mode = "wrap"})`. Throws Error for another mode.
Array choose(Arg which, Args choices, ChooseOptions options);
/// Options of ravel_multi_index.
struct RavelOptions {
  std::string mode = "raise";       ///< as of ChooseOptions
  std::string order = "C";          ///< "C": the last position runs fastest; "F": the first one
  std::optional<DType> dtype = {};  ///< of the result
};
/// Positions in the flattened array: `ravel_multi_index({i, j}, shape, {.mode = "wrap"})`.
Array ravel_multi_index(Args positions, Shape shape, RavelOptions options);
/// put_along_axis with a mode of IndexOptions for positions out of bounds; without an axis, of the flattened array.
Array put_along_axis(Arg x, Arg indices, Arg values, std::optional<AxisNumber> axis, IndexOptions options);
/// Options of searchsorted.
struct SorterOptions {
  std::string side = "left";         ///< as of SearchOptions
  std::optional<Array> sorter = {};  ///< the positions that sort the vector, where it isn't sorted
  std::string method = "scan";       ///< as in JAX, "scan", "scan_unrolled", "sort" or "compare_all"; the result is the same
};
/// Where to insert values into a vector that `sorter` sorts: `searchsorted(x, v, {.sorter = argsort(x)})`.
Array searchsorted(Arg sorted, Arg v, SorterOptions options, detail::Nothing auto...) { return detail::search(sorted, v, options); }
/// x without the zeros at its ends along some axes: `trim_zeros(x, "fb", 0)`.
Array trim_zeros(Arg x, TextArg trim, Axis axis);
/// Options of polyint.
struct PolyintOptions {
  detail::NamedFields named = detail::NamedFields();
  Int m = 1;                    ///< how many times
  std::optional<Array> k = {};  ///< the constants, the first integration's first: one for each, or one for all; absent: 0
};
/// The integral of a polynomial with constants: `polyint(p, {.k = 3})`.
Array polyint(Arg p, PolyintOptions options);

/// inner, vdot and vecdot with sums of another dtype: `inner(a, b, {.preferred_element_type = float32})`.
Array inner(Arg a, Arg b, DotOptions options);
Array vdot(Arg a, Arg b, DotOptions options);
Array vecdot(Arg a, Arg b, DotOptions options);
/// convolve and correlate with sums of another dtype: `convolve(a, v, "same", {.preferred_element_type = float32})`.
Array convolve(Arg a, Arg v, TextArg mode, DotOptions options);
Array correlate(Arg a, Arg v, TextArg mode, DotOptions options);

/// Options of reshape (jax.lax.reshape).
struct ReshapeOptions {
  Axis dimensions = none;  ///< the order in which x's elements are read: the axes, the slowest first
};
/// x's elements, read in another order of its axes, in a shape: `lax::reshape(x, {6}, {.dimensions = {1, 0}})`.
Array reshape(Arg x, Shape shape, ReshapeOptions options, detail::Nothing auto...) {
  return reshape(options.dimensions.is_none() ? x.array() : transpose(x, options.dimensions), std::move(shape));
}
/// Options of sort_key_val.
struct SortPairsOptions {
  detail::NamedFields named = detail::NamedFields();
  AxisNumber dimension = -1;  ///< along which
  bool is_stable = true;      ///< the sort is stable in any case
};
/// `sort_key_val(keys, values, {.dimension = 0})`.
SortedPairs sort_key_val(Arg keys, Arg values, SortPairsOptions options);
/// Options of approx_max_k and approx_min_k.
struct ApproxOptions {
  detail::NamedFields named = detail::NamedFields();
  AxisNumber reduction_dimension = -1;     ///< along which
  double recall_target = 0.95;             ///< all elements are found in any case
  Int reduction_input_size_override = -1;  ///< without meaning here
  bool aggregate_to_topk = true;           ///< without meaning here
};
/// The k largest elements along an axis: `approx_max_k(x, 3, {.reduction_dimension = 0})`.
TopK approx_max_k(Arg x, Int k, ApproxOptions options);
/// The k smallest.
TopK approx_min_k(Arg x, Int k, ApproxOptions options);

/// Whether a dtype is of a kind (jnp.isdtype): "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex
/// floating" or "numeric". Throws Error for other words.
bool isdtype(DType dtype, const std::string& kind, SourceLoc loc = SourceLoc::here());
/// Whether an array's dtype is not complex (jnp.isrealobj).
inline bool isrealobj(Arg x) { return !x.array().dtype().is_complex(); }

}  // namespace weft
