// Functions of jax.numpy and jax.lax with the arguments that few programs give: each is another function, called with what these ask for.
#include "weft/library/jnp/further_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numbers>

#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/convolution.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/promote.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/common.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/names.h"
#include "weft/library/jnp/positions.h"

namespace weft {

using detail::LocScope;
using detail::to_string;

namespace detail {

Array var_around(const Arg& x, const VarOptions& o) {
  LocScope scope(x.where());
  if (o.correction && o.ddof != 0)
    throw Error("var: there are a correction and a ddof, which are two names of one number; give one", effective_loc(x.where()));
  const double correction = o.correction.value_or(static_cast<double>(std::int64_t{o.ddof}));
  const DType dtype = o.dtype.value_or(inexact_dtype(x.array().dtype()));
  const Array a = as_wide(as_dtype(x.array(), dtype.is_complex() || !x.array().dtype().is_complex() ? dtype : x.array().dtype()));
  const Array around = o.mean ? a - as_dtype(*o.mean, a.dtype()) : a - mean(a, o.axis, {.keepdims = true, .where = o.where});
  const Array squares = a.dtype().is_complex() ? real(around * conj(around)) : square(around);
  const Array there = o.where ? broadcast_to(*o.where, a.shape()) : ones(a.shape(), bool_);
  const ReduceOptions kept{.keepdims = o.keepdims};
  const Array n = sum(convert(there, squares.dtype()), o.axis, kept), rest = n - correction;
  const Array mean_square = sum(squares, o.axis, {.keepdims = o.keepdims, .where = o.where}) / where(rest > 0, rest, 1);
  return as_dtype(where(rest > 0, mean_square, std::numeric_limits<double>::quiet_NaN()), dtype.real_part());
}
Array std_around(const Arg& x, const VarOptions& options) {
  LocScope scope(x.where());
  return sqrt(var_around(x, options));
}
Array nan_cumulative(const Arg& x, const CumulativeOptions& options, bool product) {
  LocScope scope(x.where());
  const Array a =
      x.array().dtype().is_floating() || x.array().dtype().is_complex() ? where(isnan(x.array()), product ? 1 : 0, x.array()) : x.array();
  return product ? cumprod(a, options) : cumsum(a, options);
}
Array cumulative(const Arg& x, const CumulativeSumOptions& options, bool product) {
  LocScope scope(x.where());
  const char* name = product ? "cumulative_prod" : "cumulative_sum";
  if (!options.axis && x.array().ndim() != 1)
    throw AxisError(fmt::format("{}: {} is no vector; say which axis", name, to_string(x.aval())), effective_loc(x.where()));
  const int axis = normalize_axis(options.axis.value_or(0), x.array().ndim(), name, x.aval(), x.where());
  const CumulativeOptions o{.dtype = options.dtype};
  const Array out = product ? cumprod(x, axis, o) : cumsum(x, axis, o);
  if (!options.include_initial) return out;
  Shape first = out.shape();
  first[axis] = 1;
  return concatenate({full(first, product ? 1 : 0, out.dtype()), out}, axis);
}
std::vector<Array> grid(const Args& xs, const GridOptions& options) {
  if (!options.sparse) return meshgrid(xs, MeshgridOptions{.indexing = options.indexing});
  std::vector<Array> out = meshgrid(xs, MeshgridOptions{.indexing = options.indexing});
  const std::size_t n = out.size();
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t axis = options.indexing == "xy" && n > 1 && i < 2 ? 1 - i : i;
    Shape own;
    for (std::size_t d = 0; d < n; ++d) own.push_back(d == axis ? xs.args()[i].array().size() : 1);
    out[i] = reshape(xs.args()[i].array(), own);
  }
  return out;
}
std::vector<Array> converted(const Args& xs, const DTypeOptions& options) {
  std::vector<Array> out;
  for (const Arg& x : xs.args()) out.push_back(options.dtype ? convert(x, *options.dtype) : x.array());
  return out;
}
Array search(const Arg& sorted, const Arg& v, const SorterOptions& options) {
  LocScope scope(sorted.where());
  const std::vector<std::string> known = {"scan", "scan_unrolled", "sort", "compare_all"};
  if (std::find(known.begin(), known.end(), options.method) == known.end())
    throw Error(fmt::format("searchsorted: unknown method `{}`; available: scan, scan_unrolled, sort, compare_all", options.method),
                effective_loc(sorted.where()));
  return searchsorted(options.sorter ? Arg(take(sorted, *options.sorter, 0), sorted.where()) : sorted, v,
                      SearchOptions{.side = options.side});
}

/// Positions along an axis of a size, with those out of bounds as a mode says.
Array inside(const Array& at, std::int64_t size, const std::string& mode, const char* operation, SourceLoc loc) {
  if (mode == "clip") return clip(at, 0, size - 1);
  if (mode == "wrap") return remainder(at, size);
  if (mode != "raise") throw Error(fmt::format("{}: unknown mode `{}`; available: raise, clip, wrap", operation, mode), effective_loc(loc));
  const Array known = concrete_or_empty(at);
  if (known.is_empty_handle())
    throw ConcretizationError(fmt::format("{}: mode raise looks at the positions {}, which are traced; mode clip or wrap doesn't",
                                          operation, to_string(at.aval())),
                              effective_loc(loc));
  if (any((known < 0) | (known >= size)).item<bool>())
    throw Error(fmt::format("{}: a position of {} is not between 0 and {}; mode clip or wrap takes others", operation, to_string(at.aval()),
                            size - 1),
                effective_loc(loc));
  return at;
}

}  // namespace detail

Array angle(Arg z, AngleOptions options) {
  const Array radians = angle(z);
  return options.deg ? rad2deg(radians) : radians;
}
Array trace(Arg x, TraceOptions options) {
  LocScope scope(x.where());
  if (!options.dtype) return trace(x, options.offset, options.axis1, options.axis2);
  return sum(diagonal(x, options.offset, options.axis1, options.axis2), -1, {.dtype = options.dtype});
}
Array cross(Arg a, Arg b, CrossAxes axes) {
  LocScope scope(a.where());
  if (axes.axis) return cross(a, b, *axes.axis);
  const Array out = cross(moveaxis(a, axes.axisa, -1), moveaxis(b, axes.axisb, -1));
  const bool flat = a.array().shape()[detail::normalize_axis(axes.axisa, a.array().ndim(), "cross", a.aval(), a.where())] == 2 &&
                    b.array().shape()[detail::normalize_axis(axes.axisb, b.array().ndim(), "cross", b.aval(), b.where())] == 2;
  return flat ? out : moveaxis(out, -1, axes.axisc);
}
Array ediff1d(Arg x, Ediff1dOptions options) {
  LocScope scope(x.where());
  const auto end = [&](const std::optional<Array>& v) { return v ? convert(ravel(*v), x.array().dtype()) : zeros({0}, x.array().dtype()); };
  return concatenate({end(options.to_begin), ediff1d(x), end(options.to_end)});
}
Array concatenate(Args xs, AxisNumber axis, DTypeOptions options) { return concatenate(detail::converted(xs, options), axis); }
Array stack(Args xs, AxisNumber axis, DTypeOptions options) { return stack(detail::converted(xs, options), axis); }

Array compress(Arg condition, Arg x, CompressOptions options) {
  LocScope scope(x.where());
  if (!options.size) return compress(condition, x, options.axis);
  if (condition.array().ndim() != 1)
    throw ShapeError(fmt::format("compress: the condition {} is no vector", to_string(condition.aval())), detail::effective_loc(x.where()));
  const int axis = options.axis ? detail::normalize_axis(*options.axis, x.array().ndim(), "compress", x.aval(), x.where()) : 0;
  const Array rows = options.axis ? moveaxis(x, axis, 0) : ravel(x);
  const std::int64_t n = rows.shape()[0], used = std::min(n, condition.array().shape()[0]), size = *options.size;
  if (size < 0 || size > n)
    throw ShapeError(
        fmt::format("compress: the size is {}; it must be between 0 and {}, the size of {} along the axis", size, n, to_string(x.aval())),
        detail::effective_loc(x.where()));
  const Array holds = condition.array()[slice(0, used)] != 0;
  Shape beside(used);
  for (int d = 1; d < rows.ndim(); ++d) beside.push_back(1);
  const Array kept = where(reshape(holds, beside), rows[slice(0, used)], convert(options.fill_value, rows.dtype()));
  const Array out = take(kept, argsort(holds, -1, {.stable = true, .descending = true})[slice(0, size)], 0);
  return options.axis ? moveaxis(out, 0, axis) : out;
}
Array extract(Arg condition, Arg x, ExtractOptions options) {
  LocScope scope(x.where());
  return compress(Arg(ravel(condition), condition.where()), Arg(ravel(x), x.where()),
                  {.size = options.size, .fill_value = options.fill_value});
}
Array choose(Arg which, Args choices, ChooseOptions options) {
  LocScope scope(which.where());
  const auto n = static_cast<std::int64_t>(choices.args().size());
  return choose(Arg(detail::inside(which.array(), n, options.mode, "choose", which.where()), which.where()), std::move(choices));
}
Array ravel_multi_index(Args positions, Shape shape, RavelOptions options) {
  std::vector<Array> all = detail::converted(positions, {});
  const SourceLoc loc = all.empty() ? SourceLoc() : positions.args()[0].where();
  LocScope scope(loc);
  if (options.order != "C" && options.order != "F")
    throw Error(fmt::format("ravel_multi_index: unknown order `{}`; available: C, F", options.order), detail::effective_loc(loc));
  if (all.size() == static_cast<std::size_t>(shape.size()))
    for (std::size_t d = 0; d < all.size(); ++d)
      all[d] = detail::inside(all[d], shape[static_cast<int>(d)], options.mode, "ravel_multi_index", loc);
  if (options.order == "F") std::reverse(all.begin(), all.end()), std::reverse(shape.begin(), shape.end());
  const Array flat = ravel_multi_index(std::move(all), std::move(shape));
  return options.dtype ? convert(flat, *options.dtype) : flat;
}
Array put_along_axis(Arg x, Arg indices, Arg values, std::optional<AxisNumber> axis, IndexOptions options) {
  LocScope scope(x.where());
  if (!axis) {
    const Array flat = put_along_axis(Arg(ravel(x), x.where()), std::move(indices), std::move(values), AxisNumber(0), std::move(options));
    return reshape(flat, x.array().shape());
  }
  const int dim = detail::normalize_axis(*axis, x.array().ndim(), "put_along_axis", x.aval(), x.where());
  if (options.mode.empty() || options.mode == "drop" || options.mode == "fill") return put_along_axis(x, indices, values, dim);
  if (options.mode == "promise_in_bounds") options.mode = "clip";
  const Array negative = where(indices.array() < 0, indices.array() + x.array().shape()[dim], indices.array());
  return put_along_axis(x, Arg(detail::inside(negative, x.array().shape()[dim], options.mode, "put_along_axis", x.where()), x.where()),
                        values, dim);
}
Array polyint(Arg p, PolyintOptions options) {
  LocScope scope(p.where());
  if (options.m < 0)
    throw Error(fmt::format("polyint: m is {}; it must not be negative", std::int64_t{options.m}), detail::effective_loc(p.where()));
  const std::int64_t m = options.m;
  if (!options.k || m == 0) return polyint(p, options.m);
  const DType dtype = promote_types(detail::inexact_dtype(p.array().dtype()), detail::inexact_dtype(options.k->dtype()));
  Array k = convert(ravel(*options.k), dtype);
  if (k.size() != 1 && k.size() != m)
    throw ShapeError(fmt::format("polyint: the constants are {}; there must be one, or {}", to_string(options.k->aval()), m),
                     detail::effective_loc(p.where()));
  k = broadcast_to(k, {m});
  // Integrated together: constant i is a coefficient that is integrated by the steps behind its own.
  Array out = convert(p, dtype);
  for (std::int64_t i = 0; i < m; ++i) out = concatenate({polyint(out, 1)[slice(0, -1)], k[slice(i, i + 1)]});
  return out;
}

Array inner(Arg a, Arg b, DotOptions options) {
  LocScope scope(a.where());
  const DType dtype = options.preferred_element_type.value_or(promote_types(a.array().dtype(), b.array().dtype()));
  if (a.array().ndim() == 0 || b.array().ndim() == 0) return convert(a, dtype) * convert(b, dtype);
  return detail::contracted(a, b, {{-1}, {-1}}, options.preferred_element_type);
}
Array vdot(Arg a, Arg b, DotOptions options) {
  LocScope scope(a.where());
  return dot(conj(ravel(a)), ravel(b), std::move(options));
}
Array vecdot(Arg a, Arg b, DotOptions options) {
  LocScope scope(a.where());
  return squeeze(matmul(expand_dims(conj(a), -2), expand_dims(b, -1), std::move(options)), {-2, -1});
}
Array convolve(Arg a, Arg v, TextArg mode, DotOptions options) {
  LocScope scope(a.where());
  const std::vector<Array> xs = detail::converted({a, v}, {options.preferred_element_type});
  return convolve(xs[0], xs[1], mode);
}
Array correlate(Arg a, Arg v, TextArg mode, DotOptions options) {
  LocScope scope(a.where());
  const std::vector<Array> xs = detail::converted({a, v}, {options.preferred_element_type});
  return correlate(xs[0], xs[1], mode);
}

SortedPairs sort_key_val(Arg keys, Arg values, SortPairsOptions options) {
  return sort_key_val(std::move(keys), std::move(values), options.dimension);
}
TopK approx_max_k(Arg x, Int k, ApproxOptions options) { return top_k(std::move(x), k, {.axis = options.reduction_dimension}); }
TopK approx_min_k(Arg x, Int k, ApproxOptions options) {
  LocScope scope(x.where());
  const int axis = detail::normalize_axis(options.reduction_dimension, x.array().ndim(), "approx_min_k", x.aval(), x.where());
  const TopK last = approx_min_k(moveaxis(x, axis, -1), k);
  return {moveaxis(last.values, -1, axis), moveaxis(last.indices, -1, axis)};
}

bool isdtype(DType dtype, const std::string& kind, SourceLoc loc) {
  const bool integer = dtype.is_integer(), floating = dtype.is_floating(), complex = dtype.is_complex();
  if (kind == "bool") return dtype.is_bool();
  if (kind == "signed integer") return dtype.is_signed();
  if (kind == "unsigned integer") return integer && !dtype.is_signed();
  if (kind == "integral") return integer;
  if (kind == "real floating") return floating;
  if (kind == "complex floating") return complex;
  if (kind == "numeric") return integer || floating || complex;
  throw Error(fmt::format("isdtype: unknown kind `{}`; available: bool, signed integer, unsigned integer, integral, real floating, complex "
                          "floating, numeric",
                          kind),
              detail::effective_loc(loc));
}

}  // namespace weft
