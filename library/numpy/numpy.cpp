#include "weft/library/numpy/numpy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/chosen_axis.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/promote.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"
#include "weft/library/numpy/argument_axis.h"
#include "weft/library/numpy/host_numbers.h"

namespace weft {

using detail::axis_of;
using detail::LocScope;
using detail::to_string;

namespace {

[[noreturn]] void refuse(const Arg& x, const char* operation, const std::string& what) {
  throw ShapeError(fmt::format("{}: {} {}", operation, to_string(x.aval()), what), detail::effective_loc(x.where()));
}
/// x[..., low:high, ...] along an axis.
Array part(const Array& x, int axis, std::int64_t low, std::int64_t high) { return detail::slice_axis(x, axis, low, high, {}); }
std::int64_t size_of(const Array& x, int axis) { return x.shape()[axis]; }
/// The dtype of positions among n.

/// In a floating dtype: integers as division makes them.
Array floating(const Array& x) { return x.dtype().is_inexact() ? x : x / 1; }

/// The order of a quantile of numbers of this dtype. A C++ number is not rounded to float32 beside float64.
Array part_of(const Arg& q, DType dtype) { return dtype == float64 ? convert(q, float64) : floating(q.array()); }

Array trapezoids(const Array& y, const Array& widths, int axis) {
  const std::int64_t n = size_of(y, axis), one = 1;
  return sum(widths * (part(y, axis, std::min(one, n), n) + part(y, axis, 0, std::max(n, one) - 1)), axis) * 0.5;
}

/// The order among the options, which is taken out of them.
Array named_order(const Arg& x, const char* operation, QuantileOptions& options) {
  if (!options.q)
    throw Error(fmt::format("{0}: the order q is missing: {0}(x, q) or {0}(x, {{.q = q}})", operation), detail::effective_loc(x.where()));
  return *std::exchange(options.q, std::nullopt);
}
void no_second_order(const Arg& x, const char* operation, const QuantileOptions& options) {
  if (options.q)
    throw Error(fmt::format("{}: q is an argument and among the options; give it once", operation), detail::effective_loc(x.where()));
}

/// The axes in front, joined to one: what quantile sorts along.
Array joined_in_front(const Array& x, const std::vector<int>& axes) {
  const Array moved = moveaxis(x, axes, [&] {
    std::vector<int> to(axes.size());
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<int>(i);
    return to;
  }());
  std::int64_t n = 1;
  std::vector<std::int64_t> shape;
  for (int i = 0; i < moved.ndim(); ++i) {
    if (i < static_cast<int>(axes.size()))
      n *= moved.shape()[i];
    else
      shape.push_back(moved.shape()[i]);
  }
  shape.insert(shape.begin(), n);
  return reshape(moved, Shape(shape));
}

Array between(const Array& sorted, const Array& q, const std::string& method, const Arg& x) {
  const std::int64_t n = size_of(sorted, 0);
  // Positions need more digits than 16-bit floats have, and more than float32 has from 2^24 on.
  const Array at = convert(q, n <= (std::int64_t{1} << 24) ? detail::wide_dtype(q.dtype()) : float64) * (n - 1);
  const auto element = [&](const Array& position) { return take(sorted, clip(convert(position, detail::position_dtype(n)), 0, n - 1), 0); };
  if (method == "lower") return element(floor(at));
  if (method == "higher") return element(ceil(at));
  const Array low = element(floor(at)), high = element(ceil(at));
  if (method == "midpoint") return (low + high) * 0.5;
  if (method != "linear" && method != "nearest")
    throw Error(fmt::format("quantile: unknown method `{}`; available: linear, lower, higher, midpoint, nearest", method),
                detail::effective_loc(x.where()));
  std::vector<std::int64_t> shape(q.shape().begin(), q.shape().end());
  shape.resize(static_cast<std::size_t>(low.ndim()), 1);
  const Array weight = convert(reshape(at - floor(at), Shape(shape)), sorted.dtype());
  if (method == "nearest") return where(weight <= 0.5, low, high);
  return low * (1 - weight) + high * weight;
}

Array with_nan_left_out(const Arg& x, ReduceOptions& options) {
  const Array there = logical_not(isnan(x.array()));
  options.where = options.where ? logical_and(there, *options.where) : there;
  return x.array();
}

}  // namespace

Array identity(Int n, DType dtype, SourceLoc loc) { return eye(n, dtype, loc); }

Array diag(Arg x, Int offset) {
  const std::int64_t k = offset;
  LocScope scope(x.where());
  const Array& a = x.array();
  if (a.ndim() == 2) return diagonal(x, k);
  if (a.ndim() != 1) refuse(x, "diag", "is neither a vector nor a matrix; diagonal takes arrays of more axes");
  const std::int64_t zero = 0;
  const auto n = k == std::numeric_limits<std::int64_t>::min() ? std::nullopt : detail::checked_sum(size_of(a, 0), std::abs(k));
  if (!n) refuse(x, "diag", fmt::format("can't be diagonal {}: the matrix would be too large", k));
  const Array padded = pad(a, PadWidth(std::max(k, zero), std::max(-k, zero)), convert(0, a.dtype()));
  return where(eye(*n, *n, k, bool_), broadcast_to(padded, {*n, *n}), zeros({}, a.dtype()));
}

Array diagonal(Arg x, Int offset, AxisNumber axis1, AxisNumber axis2) {
  LocScope scope(x.where());
  if (x.array().ndim() < 2) refuse(x, "diagonal", "has no two axes");
  const int a = axis_of(x, axis1, "diagonal"), b = axis_of(x, axis2, "diagonal");
  if (a == b) refuse(x, "diagonal", fmt::format("has a diagonal between two axes; axis {} is given twice", a));
  const std::int64_t rows = size_of(x.array(), a), columns = size_of(x.array(), b), zero = 0;
  const std::int64_t shift = std::clamp<std::int64_t>(offset, -rows, columns);  // diagonals beyond are all empty
  const std::int64_t first_row = std::max(-shift, zero), first_column = std::max(shift, zero);
  const std::int64_t n = std::max(zero, std::min(rows - first_row, columns - first_column));
  const Array at = arange(n);
  return moveaxis(x.array(), {a, b}, {-2, -1})(ellipsis, at + first_row, at + first_column);
}
Array trace(Arg x, Int offset, AxisNumber axis1, AxisNumber axis2) {
  LocScope scope(x.where());
  if (x.array().ndim() < 2) refuse(x, "trace", "has no two axes");
  return sum(diagonal(x, offset, axis1, axis2), -1);
}

Array cross(Arg a, Arg b, AxisNumber axis) {
  LocScope scope(a.where());
  Array parts[2][3];
  int side = 0;
  bool plane = true;
  for (const Arg* v : {&a, &b}) {
    const int dim = axis_of(*v, axis, "cross");
    const std::int64_t n = v->array().shape()[dim];
    if (n != 2 && n != 3) refuse(*v, "cross", fmt::format("has size {} along axis {}; vectors have 2 or 3 components", n, dim));
    const Array last = moveaxis(v->array(), dim, -1);
    for (int i = 0; i < n; ++i) parts[side][i] = last(ellipsis, i);
    if (n == 2) parts[side][2] = zeros_like(parts[side][0]);
    plane = plane && n == 2;
    ++side;
  }
  const auto& [x, y] = parts;
  if (plane) return x[0] * y[1] - x[1] * y[0];
  return stack({x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]}, axis);
}

Array kron(Arg a, Arg b) {
  LocScope scope(a.where());
  const int n = std::max(a.array().ndim(), b.array().ndim());
  std::vector<std::int64_t> left, right, both;
  for (int i = 0; i < n; ++i) {
    const auto size = [&](const Array& x) { return i < n - x.ndim() ? std::int64_t{1} : x.shape()[i - (n - x.ndim())]; };
    const std::int64_t p = size(a.array()), q = size(b.array());
    left.insert(left.end(), {p, 1}), right.insert(right.end(), {1, q}), both.push_back(p * q);
  }
  return reshape(reshape(a.array(), Shape(left)) * reshape(b.array(), Shape(right)), Shape(both));
}

Array inner(Arg a, Arg b) {
  LocScope scope(a.where());
  if (a.array().ndim() == 0 || b.array().ndim() == 0) return a.array() * b.array();
  return tensordot(a, b, {{-1}, {-1}});
}

std::vector<Array> meshgrid(Args xs, MeshgridOptions options) {
  const std::vector<Arg>& args = xs.args();
  if (args.empty()) return {};
  LocScope scope(args[0].where());
  if (options.indexing != "xy" && options.indexing != "ij")
    throw Error(fmt::format("meshgrid: unknown indexing `{}`; available: xy, ij", options.indexing),
                detail::effective_loc(args[0].where()));
  const std::size_t n = args.size();
  std::vector<std::size_t> axis(n);
  for (std::size_t i = 0; i < n; ++i) axis[i] = i;
  if (options.indexing == "xy" && n > 1) std::swap(axis[0], axis[1]);
  std::vector<std::int64_t> whole(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (args[i].array().ndim() > 1) refuse(args[i], "meshgrid", "is not a vector");
    whole[axis[i]] = args[i].array().size();
  }
  std::vector<Array> out;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<std::int64_t> own(n, 1);
    own[axis[i]] = args[i].array().size();
    out.push_back(broadcast_to(reshape(args[i].array(), Shape(own)), Shape(whole)));
  }
  return out;
}

std::pair<Array, Array> meshgrid(Arg x, Arg y, MeshgridOptions options) {
  const std::vector<Array> grids = meshgrid({std::move(x), std::move(y)}, std::move(options));
  return {grids[0], grids[1]};
}
std::pair<Array, Array> meshgrid(Arg x, Arg y, const char* indexing) {
  return meshgrid(std::move(x), std::move(y), {.indexing = indexing});
}
std::tuple<Array, Array, Array> meshgrid(Arg x, Arg y, Arg z, const char* indexing) {
  return meshgrid(std::move(x), std::move(y), std::move(z), {.indexing = indexing});
}
std::tuple<Array, Array, Array> meshgrid(Arg x, Arg y, Arg z, MeshgridOptions options) {
  const std::vector<Array> grids = meshgrid({std::move(x), std::move(y), std::move(z)}, std::move(options));
  return {grids[0], grids[1], grids[2]};
}

Array vstack(Args xs, SourceLoc loc) {
  LocScope scope(loc);
  std::vector<Array> rows;
  for (const Arg& x : xs.args()) rows.push_back(x.array().ndim() < 2 ? reshape(x.array(), {1, x.array().size()}) : x.array());
  return concatenate(rows, 0, loc);
}
Array hstack(Args xs, SourceLoc loc) {
  LocScope scope(loc);
  std::vector<Array> parts;
  for (const Arg& x : xs.args()) parts.push_back(x.array().ndim() == 0 ? reshape(x.array(), {1}) : x.array());
  return concatenate(parts, parts.empty() || parts[0].ndim() == 1 ? 0 : 1, loc);
}

Array diff(Arg x, Int times, AxisNumber axis) {
  LocScope scope(x.where());
  const std::int64_t n = times;
  if (n < 0) refuse(x, "diff", fmt::format("can't be differenced {} times; n must be at least 0", n));
  const int dim = axis_of(x, axis, "diff");
  Array y = x.array();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t size = size_of(y, dim), one = 1;
    if (size == 0) break;  // there is no less
    const Array later = part(y, dim, std::min(one, size), size), earlier = part(y, dim, 0, std::max(size, one) - 1);
    y = y.dtype().is_bool() ? later != earlier : later - earlier;
  }
  return y;
}

Array diff(Arg x, DiffOptions options) {
  LocScope scope(x.where());
  const int dim = axis_of(x, options.axis, "diff");
  Shape slice = x.array().shape();
  slice[dim] = 1;
  std::vector<Array> parts;
  const auto add = [&](const std::optional<Array>& given) {
    if (given) parts.push_back(given->ndim() == 0 ? broadcast_to(*given, slice) : *given);
  };
  add(options.prepend), parts.push_back(x.array()), add(options.append);
  return diff(Arg(parts.size() == 1 ? parts[0] : concatenate(parts, dim, x.where()), x.where()), options.n, dim);
}

Array trapezoid(Arg y, double dx, AxisNumber axis) {
  LocScope scope(y.where());
  const int dim = axis_of(y, axis, "trapezoid");
  return trapezoids(floating(y.array()), dx, dim);
}
Array trapezoid(Arg y, Arg x, AxisNumber axis) {
  LocScope scope(y.where());
  const int dim = axis_of(y, axis, "trapezoid");
  const std::vector<Array> both = detail::promoted({y.array(), x.array()}, y.where());
  const Array samples = floating(both[0]), places = floating(both[1]);
  if (x.array().ndim() == 0) return trapezoids(samples, places, dim);
  if (x.array().ndim() > 1) return trapezoids(samples, diff(places, 1, axis), dim);
  if (x.array().size() != y.array().shape()[dim])
    refuse(x, "trapezoid", fmt::format("must have one place for each of the {} samples", y.array().shape()[dim]));
  std::vector<std::int64_t> along(static_cast<std::size_t>(y.array().ndim()), 1);
  const Array steps = diff(places);
  along[static_cast<std::size_t>(dim)] = steps.size();
  return trapezoids(samples, reshape(steps, Shape(along)), dim);
}

Array interp(Arg x, Arg xp, Arg fp, InterpOptions options) {
  LocScope scope(x.where());
  const Array& places = xp.array();
  if (places.ndim() != 1 || places.shape() != fp.array().shape() || places.size() == 0)
    refuse(xp, "interp", fmt::format("and {} are not points; both are vectors, of one size, not empty", to_string(fp.aval())));
  const std::int64_t n = size_of(places, 0);
  const Array at = floating(x.array());
  // Whole numbers become floats before they meet x, whose 16 bits might not hold them.
  const DType type = fp.array().dtype();
  const Array values = type.is_inexact() ? fp.array() : convert(fp, promote_types(detail::inexact_dtype(type), at.dtype()));
  if (options.period) {
    // One more point at each end: what comes before the first point is the last one of the period before.
    const Array period = abs(*options.period), inside = floating(places) % period, order = argsort(inside);
    const Array p = inside[order], v = values[order];
    return interp(at % period, concatenate({p(slice(-1, none)) - period, p, p(slice(1)) + period}),
                  concatenate({v(slice(-1, none)), v, v(slice(1))}));
  }
  const Array left = options.left.value_or(values(0)), right = options.right.value_or(values(n - 1));
  if (n == 1) return where(at < places(0), left, where(at > places(0), right, values(0) + zeros_like(at)));
  const Array i = clip(searchsorted(places, at, {.side = "right"}), 1, n - 1);
  const Array x0 = take(places, i - 1, 0), x1 = take(places, i, 0), f0 = take(values, i - 1, 0), f1 = take(values, i, 0);
  const Array same = x1 == x0;
  const Array line = f0 + where(same, 0, (at - x0) / where(same, 1, x1 - x0)) * (f1 - f0);
  return where(at < places(0), left, where(at > places(n - 1), right, line));
}

Array polyval(Arg p, Arg x) {
  LocScope scope(p.where());
  if (p.array().ndim() != 1) refuse(p, "polyval", "is not a vector of coefficients");
  Array y = zeros_like(p.array().size() == 0 ? x.array() : x.array() * p.array()(0));
  for (std::int64_t i = 0; i < size_of(p.array(), 0); ++i) y = y * x.array() + p.array()(i);
  return y;
}

Array quantile(Arg x, Arg q, Axis axis, QuantileOptions options) {
  LocScope scope(x.where());
  no_second_order(x, "quantile", options);
  const Array a = floating(x.array()), parts = part_of(q, a.dtype());
  if (a.dtype().is_complex())
    throw DTypeError(fmt::format("quantile: {} has complex elements, which have no order", to_string(x.aval())),
                     detail::effective_loc(x.where()));
  if (parts.ndim() > 1) refuse(q, "quantile", "must be a scalar or a vector of parts");
  const std::vector<int> axes = detail::resolve_axes(axis_of(axis, options.axis, "quantile", x.where()), x, "quantile");
  const Array flat = joined_in_front(a, axes);
  if (flat.shape()[0] == 0) refuse(x, "quantile", "has no elements along the axes");
  const Array bad = any(isnan(flat), 0);
  Array y = where(bad, std::numeric_limits<double>::quiet_NaN(), between(sort(flat, 0), parts, options.method, x));
  if (!options.keepdims) return y;
  std::vector<int> kept;
  for (int dim : axes) kept.push_back(dim + parts.ndim());
  return expand_dims(y, kept);
}
Array quantile(Arg x, QuantileOptions options) {
  const Array q = named_order(x, "quantile", options);
  return quantile(std::move(x), q, none, std::move(options));
}
Array percentile(Arg x, QuantileOptions options) {
  const Array q = named_order(x, "percentile", options);
  return percentile(std::move(x), q, none, std::move(options));
}
Array percentile(Arg x, Arg q, Axis axis, QuantileOptions options) {
  LocScope scope(x.where());
  no_second_order(x, "percentile", options);
  return quantile(x, Arg(part_of(q, x.array().dtype()) / 100, q.where()), axis, options);
}
Array median(Arg x, Axis axis, QuantileOptions options) {
  LocScope scope(x.where());
  if (options.q) throw Error("median: takes no order q; quantile(x, q) does", detail::effective_loc(x.where()));
  if (options.method != "linear")
    throw Error("median: takes no method; quantile(x, 0.5, {.method = ...}) does", detail::effective_loc(x.where()));
  options.method = "midpoint";
  return quantile(x, 0.5, axis, options);
}
Array nansum(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  const Array y = with_nan_left_out(x, options);
  return sum(y, axis, options);
}
Array nanmean(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  const Array y = with_nan_left_out(x, options);
  return mean(y, axis, options);
}

namespace {

/// A covariance in the dtype of sums, and the dtype of the result.
struct WideCovariance {
  Array matrix;
  DType dtype;
};
WideCovariance covariance(const Arg& x, const CovOptions& options) {
  const Array given_samples = floating(x.array());
  DType dtype = given_samples.dtype();
  Array samples = detail::as_wide(given_samples);
  if (samples.ndim() > 2) refuse(x, "cov", "is neither a vector nor a matrix of samples");
  if (samples.ndim() < 2)
    samples = reshape(samples, {1, samples.size()});
  else if (!options.rowvar)
    samples = transpose(samples);
  const double ddof = static_cast<double>(std::int64_t{options.ddof.value_or(options.bias ? 0 : 1)});
  std::optional<Array> w;
  for (const std::optional<Array>* given : {&options.fweights, &options.aweights}) {
    if (!*given) continue;
    if ((*given)->ndim() != 1 || (*given)->size() != samples.shape()[1])
      refuse(x, "cov",
             fmt::format("has {} samples, and weights {}; they must be a vector, one for each sample", samples.shape()[1],
                         detail::to_string((*given)->aval())));
    const Array factors = floating(**given);
    dtype = promote_types(dtype, factors.dtype());
    w = w ? Array(*w * **given) : detail::as_wide(factors);
  }
  if (!w) {
    const Array apart = samples - mean(samples, 1, keepdims);
    // As in NumPy, too few samples have no covariance: 0/0.
    return {matmul(apart, conj(transpose(apart))) / std::max(static_cast<double>(samples.shape()[1]) - ddof, 0.), dtype};
  }
  const Array total = sum(*w), apart = samples - expand_dims(matmul(samples, *w) / total, 1);
  const Array lost = options.aweights ? ddof * sum(*w * *options.aweights) / total : Array(ddof);
  return {matmul(apart, conj(transpose(apart * *w))) / (ddof == 0 ? total : total - lost), dtype};
}
Array scalar_of_single(const Array& c) { return c.shape()[0] == 1 ? reshape(c, {}) : c; }

}  // namespace

Array cov(Arg x, CovOptions options) {
  LocScope scope(x.where());
  const WideCovariance c = covariance(x, options);
  return scalar_of_single(detail::as_dtype(c.matrix, c.dtype));
}
Array corrcoef(Arg x, CovOptions options) {
  LocScope scope(x.where());
  const auto [given, dtype] = covariance(x, options);
  const Array c = scalar_of_single(given);
  if (c.ndim() == 0) return detail::as_dtype(c / c, dtype);
  const Array deviation = sqrt(real(diagonal(c)));
  // Rounding must not leave the range of correlations: acos would be NaN.
  const Array r = c / expand_dims(deviation, 1) / expand_dims(deviation, 0);
  return detail::as_dtype(r.dtype().is_complex() ? complex(clip(real(r), -1, 1), clip(imag(r), -1, 1)) : clip(r, -1, 1), dtype);
}

Array isclose(Arg a, Arg b, IscloseOptions options) {
  LocScope scope(a.where());
  const Array x = floating(a.array()), y = floating(b.array());
  const Array near = logical_and(isfinite(y), abs(x - y) <= options.atol + options.rtol * abs(y));
  const Array close = logical_or(x == y, near);
  return options.equal_nan ? logical_or(close, logical_and(isnan(x), isnan(y))) : close;
}
Array allclose(Arg a, Arg b, IscloseOptions options) {
  LocScope scope(a.where());
  return all(isclose(a, b, options));
}
Array array_equal(Arg a, Arg b, ArrayEqualOptions options) {
  LocScope scope(a.where());
  if (a.array().shape() != b.array().shape()) return array(false);
  const Array equal = a.array() == b.array();
  return all(options.equal_nan ? equal | ((a.array() != a.array()) & (b.array() != b.array())) : equal);
}

Array angle(Arg z) {
  LocScope scope(z.where());
  const Array x = floating(z.array());
  if (x.dtype().is_complex()) return atan2(imag(x), real(x));
  return where(isnan(x), x, where(signbit(x), std::numbers::pi, zeros_like(x)));
}
Array deg2rad(Arg x) {
  LocScope scope(x.where());
  return x.array() * (std::numbers::pi / 180);
}
Array rad2deg(Arg x) {
  LocScope scope(x.where());
  return x.array() * (180 / std::numbers::pi);
}

Array nan_to_num(Arg x, NanToNumOptions options) {
  LocScope scope(x.where());
  const Array& a = x.array();
  if (!a.dtype().is_inexact()) return a;
  if (a.dtype().is_complex()) return complex(nan_to_num(real(a), options), nan_to_num(imag(a), options));
  const double inf = std::numeric_limits<double>::infinity();
  const double largest = a.dtype() == float64    ? std::numeric_limits<double>::max()
                         : a.dtype() == float16  ? 65504
                         : a.dtype() == bfloat16 ? 0x1.fep127
                                                 : double{std::numeric_limits<float>::max()};
  const Array finite = where(isnan(a), options.nan, a);
  return where(finite == inf, options.posinf.value_or(largest), where(finite == -inf, options.neginf.value_or(-largest), finite));
}

}  // namespace weft
