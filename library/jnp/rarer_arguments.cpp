// Rarer arguments and functions of jax.numpy and jax.lax: most are another function, called with what these ask for.
#include "weft/library/jnp/rarer_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "weft/core/array/constructors.h"
#include "weft/core/base/files.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/promote.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/io/foreign_memory.h"

namespace weft {

using detail::effective_loc;
using detail::LocScope;
using detail::to_string;

namespace {

/// x with these axes in front, joined to one.
Array joined_in_front(const Array& x, const std::vector<int>& axes) {
  std::vector<int> front(axes.size());
  std::int64_t count = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) front[i] = static_cast<int>(i), count *= x.shape()[axes[i]];
  const Array moved = moveaxis(x, axes, front);
  Shape shape{count};
  for (int i = static_cast<int>(axes.size()); i < moved.ndim(); ++i) shape.push_back(moved.shape()[i]);
  return reshape(moved, shape);
}

/// Weights of each element of x, given for each, or for each position along the axes.
Array weights_of(const Array& x, const Array& given, std::vector<int> axes, const char* name, SourceLoc loc) {
  if (given.shape() == x.shape()) return given;
  Shape along;
  for (int axis : axes) along.push_back(x.shape()[axis]);
  if (given.shape() != along)
    throw ShapeError(fmt::format("{}: the weights are {}; wanted is the shape of {}, or {}, its sizes along the axes", name,
                                 to_string(given.aval()), to_string(x.aval()), to_string(along)),
                     loc);
  Shape shape;
  for (int i = 0; i < x.ndim(); ++i) shape.push_back(std::find(axes.begin(), axes.end(), i) == axes.end() ? 1 : x.shape()[i]);
  return broadcast_to(reshape(given, shape), x.shape());
}

}  // namespace

Array isin(Arg x, Arg values, IsinOptions options) { return isin(std::move(x), std::move(values), options.invert); }
Intersection intersect1d_indices(Arg x, Arg y) {
  const LocScope scope(x.where());
  const Array both = intersect1d(x, y), flat_x = ravel(x), flat_y = ravel(y);
  const auto first_in = [&](const Array& flat) { return argmax(expand_dims(both, 1) == expand_dims(flat, 0), 1); };
  if (both.size() == 0) return {both, zeros(0, int32), zeros(0, int32)};
  return {both, first_in(flat_x), first_in(flat_y)};
}

Array detail::weighted_quantile(const Arg& x, const Arg& q, const WeightedQuantileOptions& o, bool skip_nan, double whole) {
  const LocScope scope(x.where());
  const char* name = skip_nan ? "nanquantile" : "quantile";
  const SourceLoc loc = effective_loc(x.where());
  if (o.method != "inverted_cdf") throw Error(fmt::format("{}: the method is `{}`; weights need inverted_cdf", name, o.method), loc);
  if (x.array().dtype().is_complex() || (o.weights && o.weights->dtype().is_complex()))
    throw DTypeError(fmt::format("{}: {} or its weights are complex, which have no order", name, to_string(x.aval())), loc);
  std::vector<Array> both = promoted_inexact({x.array(), o.weights ? *o.weights : ones({}, x.array().dtype())}, x.where());
  const DType dtype = both[0].dtype();
  for (Array& each : both) each = as_wide(each);
  const std::vector<int> axes = resolve_axes(o.axis, x, name);
  const Array a = joined_in_front(both[0], axes);
  const Array w = o.weights ? joined_in_front(weights_of(both[0], both[1], axes, name, loc), axes) : ones(a.shape(), a.dtype());
  const std::int64_t n = a.shape()[0];
  if (n == 0) throw ShapeError(fmt::format("{}: {} has no elements along the axes", name, to_string(x.aval())), loc);
  const Array share = as_dtype(q.array(), a.dtype()), parts = whole == 1 ? share : share / whole;
  if (parts.ndim() > 1)
    throw ShapeError(fmt::format("{}: {} must be a scalar or a vector of parts", name, to_string(q.aval())), effective_loc(q.where()));
  const SortedPairs sorted = sort_key_val(a, w, 0);
  const Array missing = isnan(sorted.keys), bad = (w < 0) | isnan(w);
  const Array counted = where((sorted.values < 0) | isnan(sorted.values) | missing, 0, sorted.values);
  const Array up_to = cumsum(counted, 0), total = up_to[n - 1];
  // One row for each part: how many elements come before the share is reached.
  Shape column{parts.size()};
  for (int i = 0; i < total.ndim(); ++i) column.push_back(1);
  const Array wanted = reshape(parts, column) * total;
  const Array before = sum(convert(expand_dims(up_to, 0) < expand_dims(wanted, 1), int32), 1);
  const Array there = skip_nan ? sum(convert(~missing, int32), 0) : full(total.shape(), n, int32);
  const Array found = take_along_axis(sorted.keys, clip(before, 0, maximum(there - 1, 0)), 0);
  const Array useless = any(bad, 0) | (skip_nan ? there == 0 : any(missing, 0));
  Array out = where(useless, std::numeric_limits<double>::quiet_NaN(), as_dtype(found, dtype));
  if (parts.ndim() == 0) out = squeeze(out, 0);
  if (!o.keepdims) return out;
  std::vector<int> kept;
  for (int dim : axes) kept.push_back(dim + parts.ndim());
  return expand_dims(out, kept);
}

Array detail::nan_quantile_by(const Arg& x, const Arg& q, const NanQuantileOptions& o, double whole) {
  const auto method = [&](const char* usual) { return o.method.empty() ? usual : o.method; };
  if (o.weights)
    return weighted_quantile(x, q, {.axis = o.axis, .method = method("inverted_cdf"), .keepdims = o.keepdims, .weights = o.weights}, true,
                             whole);
  return nan_quantile(x, q, {.axis = o.axis, .method = method("linear"), .keepdims = o.keepdims}, whole);
}

Array detail::covariance(const Arg& x, const CovArguments& o, bool scaled) {
  const LocScope scope(x.where());
  if (o.dtype && !o.dtype->is_inexact())
    throw DTypeError(fmt::format("{}: the dtype is {}; it must be floating or complex", scaled ? "corrcoef" : "cov", o.dtype->name()),
                     effective_loc(x.where()));
  const Arg given(o.dtype ? convert(x, *o.dtype) : x.array(), x.where());
  const CovOptions options{o.rowvar, o.bias, o.ddof, o.fweights, o.aweights};
  const Array out = scaled ? corrcoef(given, options) : cov(given, options);
  return o.dtype ? convert(out, *o.dtype) : out;
}

Array fill_diagonal(Arg x, Arg value, FillDiagonalOptions options) {
  const LocScope scope(x.where());
  const Array& a = x.array();
  if (!options.wrap || a.ndim() != 2 || a.shape()[0] <= a.shape()[1] + 1) return fill_diagonal(x, value);
  const std::int64_t step = a.shape()[1] + 1, n = (a.size() + step - 1) / step;
  const Array v = ravel(value);
  const Array values = v.size() == 1 ? v : take(v, arange(n) % v.size(), 0);
  return reshape(ravel(a).at(arange(n) * step).set(convert(values, a.dtype())), a.shape());
}

Array frombuffer(std::string_view bytes, DType dtype, RawOptions options, SourceLoc loc) {
  const auto size = static_cast<std::int64_t>(dtype.itemsize()), offset = std::int64_t{options.offset};
  const std::int64_t rest = static_cast<std::int64_t>(bytes.size()) - offset;
  if (offset < 0 || rest < 0) throw Error(fmt::format("frombuffer: the offset is {}, and there are {} bytes", offset, bytes.size()), loc);
  const std::int64_t count = options.count < 0 ? rest / size : std::int64_t{options.count};
  if (options.count < 0 && rest % size != 0)
    throw Error(fmt::format("frombuffer: {} bytes are no whole number of {} of {} each", rest, dtype.name(), size), loc);
  if (count > rest / size) throw Error(fmt::format("frombuffer: {} bytes hold {} {}, not {}", rest, rest / size, dtype.name(), count), loc);
  // Copied, as the bytes may be unaligned, and the caller's.
  auto owned = std::make_shared<std::string>(bytes.substr(static_cast<std::size_t>(offset), static_cast<std::size_t>(count * size)));
  return from_memory(owned->data(), Shape{count}, dtype, [owned] {}, {}, loc);
}
Array fromfile(const std::string& path, DType dtype, RawOptions options, SourceLoc loc) try {
  return frombuffer(detail::read_file(path, loc, "fromfile"), dtype, options, loc);
} catch (...) {
  detail::rethrow_as_error("fromfile", loc);
}

Array lax::round(Arg x, RoundingMethod method) { return method == RoundingMethod::AWAY_FROM_ZERO ? lax::round(x) : weft::round(x); }

Array reduce_xor(Arg x, Axis axes) {
  const LocScope scope(x.where());
  const DType dtype = x.array().dtype();
  if (!dtype.is_integer() && !dtype.is_bool())
    throw DTypeError(fmt::format("reduce_xor: {} has no bits; its elements must be integers or bools", to_string(x.aval())),
                     effective_loc(x.where()));
  return reduce(x, convert(0, dtype), [](const Array& a, const Array& b) { return a ^ b; }, std::move(axes));
}
Array mulhi(Arg x, Arg y) {
  const LocScope scope(x.where());
  const std::vector<Array> v = detail::promoted({x.array(), y.array()}, x.where());
  const DType dtype = v[0].dtype();
  if (!dtype.is_integer() || dtype.itemsize() > 4)
    throw DTypeError(fmt::format("mulhi: {} and {}; wanted are integers of up to 32 bits", to_string(x.aval()), to_string(y.aval())),
                     effective_loc(x.where()));
  const DType wide = dtype.is_unsigned() ? uint64 : int64;
  return convert((convert(v[0], wide) * convert(v[1], wide)) >> convert(8 * dtype.itemsize(), wide), dtype);
}
Array broadcast_to_rank(Arg x, Int rank) {
  const LocScope scope(x.where());
  const std::int64_t more = std::int64_t{rank} - x.array().ndim();
  if (more < 0)
    throw ShapeError(fmt::format("broadcast_to_rank: {} has more than {} dimensions", to_string(x.aval()), std::int64_t{rank}),
                     effective_loc(x.where()));
  Shape shape;
  for (std::int64_t i = 0; i < more; ++i) shape.push_back(1);
  for (std::int64_t d : x.array().shape()) shape.push_back(d);
  return reshape(x, shape);
}
Array conv_general_dilated_local(Arg x, Arg kernel, Shape window_strides, Padding padding, Shape filter_shape, ConvOptions options) {
  const LocScope scope(x.where());
  if (options.dimension_numbers != ConvDimensionNumbers{})
    throw Error("conv_general_dilated_local: only the usual order of the dimensions is available: batch, features, space",
                effective_loc(x.where()));
  // (batch, features * window, spatial ...) and (outputs, features * window, spatial ...).
  const Array patches = conv_general_dilated_patches(x, filter_shape, window_strides, padding, options), &k = kernel.array();
  bool fits = k.ndim() == patches.ndim();
  for (int i = 1; fits && i < k.ndim(); ++i) fits = k.shape()[i] == patches.shape()[i];
  if (!fits)
    throw ShapeError(fmt::format("conv_general_dilated_local: the kernel is {}; for {} its dimensions but the first must be those of {}",
                                 to_string(k.aval()), to_string(x.aval()), to_string(patches.aval())),
                     effective_loc(x.where()));
  return sum(expand_dims(patches, 1) * expand_dims(k, 0), 2);
}

}  // namespace weft
