#include "weft/library/jnp/statistics.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "weft/core/array/indexing.h"
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
#include "weft/library/linalg/linalg.h"
#include "weft/library/numpy/argument_axis.h"
#include "weft/library/numpy/host_numbers.h"

namespace weft {

using detail::axis_of;
using detail::LocScope;
using detail::to_string;

namespace {

[[noreturn]] void refuse(const Arg& x, const std::string& what) { throw ShapeError(what, detail::effective_loc(x.where())); }
Array floating(const Array& x) { return detail::as_dtype(x, detail::inexact_dtype(x.dtype())); }
Array part(const Array& x, int axis, std::int64_t low, std::int64_t high) { return detail::slice_axis(x, axis, low, high, {}); }

/// The mask of the elements that are not NaN.
ReduceOptions without_nan(const Arg& x, ReduceOptions options) {
  const Array there = logical_not(isnan(x.array()));
  options.where = options.where ? logical_and(there, *options.where) : there;
  return options;
}
Array nan_where_none(const Array& result, const Arg& x, const Axis& argument, const ReduceOptions& options) {
  if (!result.dtype().is_inexact()) return result;
  const Axis& axis = detail::axis_of(argument, options, "nanmax", x.where());
  ReduceOptions count{.keepdims = options.keepdims};
  const Array none_left = logical_not(any(*without_nan(x, options).where, axis, count));
  return where(none_left, std::numeric_limits<double>::quiet_NaN(), result);
}
Array nan_position(const char* operation, const Arg& x, const Axis& axis, const ReduceOptions& options, double fill,
                   Array (*find)(Arg, Axis, ReduceOptions)) {
  LocScope scope(x.where());
  if (options.where)
    throw Error(fmt::format("{}: takes no mask; put where(mask, x, nan) in its argument", operation), detail::effective_loc(x.where()));
  if (!x.array().dtype().is_inexact()) return find(x, axis, options);
  const Array nan = isnan(x.array());
  const Array at = find(where(nan, fill, x.array()), axis, options);
  return where(all(nan, detail::axis_of(axis, options, operation, x.where()), {.keepdims = options.keepdims}), -1, at);
}

/// The values of f at n points from 0 to 1; of a single one, at 1/2.
template <class F>
Array window(std::int64_t n, DType dtype, F f, SourceLoc loc) {
  auto out = detail::host_numbers<double>("window", n, 1, loc);
  for (std::int64_t k = 0; k < n; ++k) out.push_back(f(n == 1 ? .5 : static_cast<double>(k) / static_cast<double>(n - 1)));
  return array(out, Shape(n), dtype, loc);
}
Array cosine_window(std::int64_t n, DType dtype, double a, double b, double c, SourceLoc loc) {
  return window(
      n, dtype, [=](double t) { return a - b * std::cos(2 * std::numbers::pi * t) + c * std::cos(4 * std::numbers::pi * t); }, loc);
}

}  // namespace

Array average(Arg x, Axis argument, AverageOptions options) {
  LocScope scope(x.where());
  const Axis& axis = axis_of(argument, options.axis, "average", x.where());
  if (!options.weights) return mean(x, axis, {.keepdims = options.keepdims});
  const std::vector<Array> both = detail::promoted({x.array(), *options.weights}, x.where());
  const Array v = floating(both[0]);
  Array w = floating(both[1]);
  if (w.shape() != v.shape()) {
    if (axis.axes().size() != 1 || w.ndim() != 1 || w.shape()[0] != v.shape()[axis_of(x, axis.axes()[0], "average")])
      refuse(x, fmt::format("average: the weights {} must have the shape of {}, or be a vector along its one axis", to_string(w.aval()),
                            to_string(x.aval())));
    Shape along;
    for (int d = 0; d < v.ndim(); ++d) along.push_back(d == axis_of(x, axis.axes()[0], "average") ? w.shape()[0] : 1);
    w = broadcast_to(reshape(w, along), v.shape());
  }
  const ReduceOptions o{.keepdims = options.keepdims};
  const Array wide = detail::as_wide(w);
  return detail::as_dtype(sum(v * wide, axis, o) / sum(wide, axis, o), v.dtype());
}
Array ptp(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return max(x, axis, options) - min(x, axis, options);
}
Array count_nonzero(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  if (!options.dtype && !detail::fits_int(x.array().size())) options.dtype = int64;
  return sum(x.array() != 0, axis, options);
}
Array nanprod(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return prod(x, axis, without_nan(x, options));
}
Array nanmax(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  if (options.initial) return max(x, axis, without_nan(x, options));
  return nan_where_none(max(x, axis, without_nan(x, options)), x, axis, options);
}
Array nanmin(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  if (options.initial) return min(x, axis, without_nan(x, options));
  return nan_where_none(min(x, axis, without_nan(x, options)), x, axis, options);
}
Array nanvar(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return var(where(isnan(x.array()), 0, x.array()), axis, without_nan(x, options));
}
Array nanstd(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return sqrt(nanvar(x, axis, options));
}
Array nanargmax(Arg x, Axis axis, ReduceOptions options) {
  return nan_position("nanargmax", x, axis, options, -std::numeric_limits<double>::infinity(), argmax);
}
Array nanargmin(Arg x, Axis axis, ReduceOptions options) {
  return nan_position("nanargmin", x, axis, options, std::numeric_limits<double>::infinity(), argmin);
}
Array quantile(Arg x, std::initializer_list<double> q, Axis axis, QuantileOptions options) {
  return quantile(x, array(q, Shape(q.size()), floating(x.array()).dtype()), axis, options);
}
Array percentile(Arg x, std::initializer_list<double> q, QuantileOptions options) {
  return percentile(std::move(x), q, none, std::move(options));
}
Array percentile(Arg x, std::initializer_list<double> q, Axis axis, QuantileOptions options) {
  return percentile(x, array(q, Shape(q.size()), floating(x.array()).dtype()), axis, options);
}

Array digitize(Arg x, Arg bins, DigitizeOptions options) {
  LocScope scope(x.where());
  const Array edges = bins.array();
  if (edges.ndim() != 1) refuse(x, fmt::format("digitize: the bins {} must be a vector", to_string(bins.aval())));
  const SearchOptions side{.side = options.right ? "left" : "right"};
  const Array ascending = searchsorted(edges, x, side);
  if (edges.size() < 2) return ascending;
  return where(edges(-1) < edges(0), static_cast<int>(edges.size()) - searchsorted(flip(edges), x, side), ascending);
}
HistogramCounts histogram(Arg x, HistogramBins options) {
  LocScope scope(x.where());
  const std::int64_t n = options.bins;
  if (n < 1) refuse(x, fmt::format("histogram: the number of bins is {}; it must be at least 1", n));
  const Array v = floating(x.array());
  Array low, high;
  if (const auto& range = options.range.value()) {
    low = convert(Array(range->first), v.dtype()), high = convert(Array(range->second), v.dtype());
  } else if (v.size() == 0) {
    low = zeros({}, v.dtype()), high = ones({}, v.dtype());
  } else {
    low = min(v), high = max(v);
  }
  const Array same = low == high;
  return histogram_of_edges(x, linspace(where(same, low - 0.5, low), where(same, high + 0.5, high), n + 1, v.dtype()), options);
}
HistogramCounts histogram_of_edges(Arg x, Arg edges, HistogramBins options) {
  LocScope scope(x.where());
  const Array e = edges.array(), v = ravel(x);
  if (e.ndim() != 1 || e.size() < 2)
    refuse(x, fmt::format("histogram: the edges {} must be a vector of two at least", to_string(e.aval())));
  const std::int64_t n = e.size() - 1;
  const Array at = searchsorted(e, v, {.side = "right"}) - 1;
  // The last edge belongs to the last interval; what is outside goes nowhere.
  const Array bin = where(v == e(-1), n - 1, where((v < e(0)) | (v > e(-1)) | isnan(v), n, at));
  if (options.weights && options.weights->shape() != x.array().shape())
    refuse(x, fmt::format("histogram: the weights {} must have the shape of {}", to_string(options.weights->aval()), to_string(x.aval())));
  const Array amounts = options.weights ? ravel(*options.weights) : ones(v.shape(), floating(v).dtype());
  const Array wide = detail::as_wide(amounts);
  Array counts = zeros({n}, wide.dtype()).at(bin).add(wide, {.mode = "drop"});
  if (options.density) counts = counts / sum(counts) / diff(e);
  return {detail::as_dtype(counts, options.density ? promote_types(amounts.dtype(), diff(e).dtype()) : amounts.dtype()), e};
}
Array isin(Arg x, Arg values, bool invert) {
  LocScope scope(x.where());
  const Array found = any(expand_dims(x, -1) == ravel(values), -1);
  return invert ? logical_not(found) : found;
}
Array lexsort(Args keys, AxisNumber axis) {
  const std::vector<Arg>& all = keys.args();
  if (all.empty()) throw ShapeError("lexsort: there are no keys; give at least one");
  LocScope scope(all[0].where());
  Array order = argsort(all[0], axis);
  for (std::size_t k = 1; k < all.size(); ++k) order = take_along_axis(order, argsort(take_along_axis(all[k], order, axis), axis), axis);
  return order;
}

Array gradient(Arg x, Arg spacing, AxisNumber axis) {
  LocScope scope(x.where());
  const int a = axis_of(x, axis, "gradient");
  const Array v = floating(x.array());
  const std::int64_t n = v.shape()[a];
  if (n < 2) refuse(x, fmt::format("gradient: axis {} of {} has fewer than two elements", a, to_string(x.aval())));
  const Array steps = diff(v, 1, a), before = part(steps, a, 0, n - 2), after = part(steps, a, 1, n - 1);
  const Array first = part(steps, a, 0, 1), last = part(steps, a, n - 2, n - 1);
  // Of the neighbours alone: an infinite or large element between them does no harm.
  if (spacing.array().ndim() == 0) return concatenate({first, (part(v, a, 2, n) - part(v, a, 0, n - 2)) * 0.5, last}, a) / spacing;
  if (spacing.array().shape() != Shape(n))
    refuse(x, fmt::format(
                  "gradient: the coordinates {} must be a number, the distance, or a vector of {}, one for each element of axis {} of {}",
                  to_string(spacing.aval()), n, a, to_string(x.aval())));
  std::vector<std::int64_t> along(static_cast<std::size_t>(v.ndim()), 1);
  along[static_cast<std::size_t>(a)] = n - 1;
  const Array widths = reshape(diff(floating(spacing.array())), Shape(along));
  const Array h = part(widths, a, 0, n - 2), k = part(widths, a, 1, n - 1);
  // The derivative of the parabola through three neighbours, at the middle one.
  const Array inside = (before / h * k + after / k * h) / (h + k);
  return concatenate({first / part(widths, a, 0, 1), inside, last / part(widths, a, n - 2, n - 1)}, a);
}
Array ediff1d(Arg x) { return diff(ravel(x)); }
Array unwrap(Arg x, AxisNumber axis) { return unwrap(std::move(x), UnwrapOptions{.axis = axis}); }
Array unwrap(Arg x, UnwrapOptions options) {
  LocScope scope(x.where());
  const int a = axis_of(x, options.axis, "unwrap");
  const double period = options.period, half = period / 2;
  if (!(period > 0)) throw Error(fmt::format("unwrap: the period is {}; it must be positive", period), detail::effective_loc(x.where()));
  const Array v = floating(x.array());
  if (v.shape()[a] == 0) return v;
  const Array step = diff(v, 1, a);
  const Array within = remainder(step + half, period) - half;
  const Array kept = where((within == -half) & (step > 0), half, within);
  const Array correction = where(abs(step) < std::max(options.discont.value_or(half), half), 0, kept - step);
  return concatenate({part(v, a, 0, 1), part(v, a, 1, v.shape()[a]) + cumsum(correction, a)}, a);
}
Array vander(Arg x, std::optional<Int> columns, bool increasing) {
  LocScope scope(x.where());
  if (x.array().ndim() != 1) refuse(x, fmt::format("vander: {} is not a vector", to_string(x.aval())));
  const std::int64_t n = columns ? std::int64_t{*columns} : x.array().size();
  if (n < 0) refuse(x, fmt::format("vander: the number of columns is {}; it must not be negative", n));
  std::vector<Array> powers;
  for (std::int64_t k = 0; k < n; ++k) powers.push_back(integer_pow(x, increasing ? k : n - 1 - k));
  return powers.empty() ? zeros({x.array().size(), 0}, x.array().dtype()) : stack(powers, 1);
}
Array polyfit(Arg x, Arg y, Int degree, PolyfitOptions options) {
  LocScope scope(x.where());
  const Array &xs = x.array(), &ys = y.array();
  if (xs.ndim() != 1 || (ys.ndim() != 1 && ys.ndim() != 2) || ys.shape()[0] != xs.size() || xs.size() == 0)
    refuse(x, fmt::format("polyfit: {} and {} are not points: x must be a vector, and y a vector or a matrix with as many rows",
                          to_string(xs.aval()), to_string(ys.aval())));
  if (degree < 0)
    throw Error(fmt::format("polyfit: the degree is {}; it must be 0 at least", std::int64_t{degree}), detail::effective_loc(x.where()));
  const std::vector<Array> both = detail::promoted({xs, ys}, x.where());
  Array rows = vander(floating(both[0]), std::int64_t{degree} + 1), values = floating(both[1]);
  if (options.w) {
    if (options.w->shape() != xs.shape())
      refuse(x, fmt::format("polyfit: the weights are {} and the points {}; each point has one", to_string(options.w->aval()),
                            to_string(xs.aval())));
    rows = rows * expand_dims(*options.w, 1);
    values = values * (ys.ndim() == 1 ? *options.w : expand_dims(*options.w, 1));
  }
  // Columns of length one, as numpy.polyfit, so that high powers don't outweigh low ones.
  const Array length = sqrt(sum(rows * rows, 0));
  const Array scale = where(length == 0, 1, length);
  const Array c = linalg::lstsq(rows / scale, values).x;
  return c.ndim() == 1 ? c / scale : c / expand_dims(scale, 1);
}

Array vecdot(Arg a, Arg b, AxisNumber axis) {
  LocScope scope(a.where());
  if (axis != -1) return vecdot(Arg(moveaxis(a, axis, -1), a.where()), Arg(moveaxis(b, axis, -1), b.where()));
  if (a.array().ndim() == 0 || b.array().ndim() == 0 || a.array().shape()[a.array().ndim() - 1] != b.array().shape()[b.array().ndim() - 1])
    refuse(a, fmt::format("vecdot: the last axes of {} and {} must have the same size", to_string(a.aval()), to_string(b.aval())));
  return squeeze(matmul(expand_dims(conj(a), -2), expand_dims(b, -1)), {-2, -1});
}
Array matvec(Arg a, Arg b) {
  LocScope scope(a.where());
  return squeeze(matmul(a, expand_dims(b, -1)), -1);
}
Array vecmat(Arg a, Arg b) {
  LocScope scope(a.where());
  return squeeze(matmul(expand_dims(conj(a), -2), b), -2);
}

Array linspace(Arg start, Arg stop, Int num, SpaceOptions options) {
  LocScope scope(start.where());
  const std::int64_t n = num;
  const Array values = options.endpoint || n < 1 ? linspace(start, stop, num, options.dtype)
                                                 : detail::slice_axis(linspace(start, stop, n + 1, options.dtype), 0, 0, n, start.where());
  return options.axis == 0 ? values : moveaxis(Arg(values, start.where()), 0, options.axis);
}
Array logspace(double start, double stop, Int num, double base, SpaceOptions options) {
  const DType dtype = options.dtype.value_or(float32);
  return convert(pow(Array(base), linspace(start, stop, num, {.endpoint = options.endpoint, .dtype = float64})), dtype);
}
Array geomspace(double start, double stop, Int num, SpaceOptions options) {
  if (!(start * stop > 0)) throw Error(fmt::format("geomspace: {} and {} must have the same sign and not be 0", start, stop));
  const double sign = start < 0 ? -1 : 1;
  const Array powers =
      linspace(std::log10(std::abs(start)), std::log10(std::abs(stop)), num, {.endpoint = options.endpoint, .dtype = float64});
  return convert(sign * pow(Array(10.), powers), options.dtype.value_or(float32));
}
Array arange(detail::Number start, detail::Number stop, DType dtype, SourceLoc loc) { return arange(start, stop, 1, dtype, loc); }
Array hanning(Int n, DType dtype, SourceLoc loc) { return cosine_window(n, dtype, .5, .5, 0, loc); }
Array hamming(Int n, DType dtype, SourceLoc loc) { return cosine_window(n, dtype, .54, .46, 0, loc); }
Array blackman(Int n, DType dtype, SourceLoc loc) { return cosine_window(n, dtype, .42, .5, .08, loc); }
Array bartlett(Int n, DType dtype, SourceLoc loc) {
  return window(n, dtype, [](double t) { return 1 - std::abs(2 * t - 1); }, loc);
}

FloatInfo finfo(DType given, SourceLoc loc) {
  const DType d = given.real_part();
  const auto info = [](int bits, int digits, int exponents) {
    const double eps = std::ldexp(1., -digits), max = std::ldexp(2 - eps, exponents), tiny = std::ldexp(1., 1 - exponents);
    return FloatInfo{bits, eps, max, -max, tiny, tiny};
  };
  if (d == float16) return info(16, 10, 15);
  if (d == bfloat16) return info(16, 7, 127);
  if (d == float32) return info(32, 23, 127);
  if (d == float64) return info(64, 52, 1023);
  throw DTypeError(fmt::format("finfo: {} is not a floating dtype", given.name()), detail::effective_loc(loc));
}
IntegerInfo iinfo(DType d, SourceLoc loc) {
  if (!d.is_integer()) throw DTypeError(fmt::format("iinfo: {} is not an integer dtype", d.name()), detail::effective_loc(loc));
  const int bits = 8 * d.itemsize();
  if (d.is_unsigned()) return {bits, 0, ~std::uint64_t{0} >> (64 - bits)};
  return {bits, std::numeric_limits<std::int64_t>::min() >> (64 - bits), ~std::uint64_t{0} >> (65 - bits)};
}
namespace {
/// Whether each value of a dtype is one of another dtype's, as NumPy counts: 64-bit integers are float64's.
bool casts_safely(DType from, DType to) {
  if (from == to || from.is_bool()) return !to.is_key() || from == to;
  if (from.is_key() || to.is_key()) return false;
  if (to.is_complex()) return casts_safely(from.real_part(), to.real_part());
  if (to.is_floating() && from.is_floating()) return from.itemsize() < to.itemsize();
  if (to.is_floating()) return from.is_integer() && from.itemsize() <= (to == float64 ? 8 : to == float32 ? 2 : 1);
  if (!to.is_integer() || !from.is_integer() || (from.is_signed() && to.is_unsigned())) return false;
  return from.is_signed() == to.is_signed() ? from.itemsize() <= to.itemsize() : from.itemsize() < to.itemsize();
}
}  // namespace
bool can_cast(DType from, DType to, const std::string& casting) {
  if (casting == "no" || casting == "equiv") return from == to;
  if (casting == "unsafe") return from.is_key() == to.is_key();
  if (casting != "safe" && casting != "same_kind")
    throw Error(fmt::format("can_cast: casting is '{}'; available: no, equiv, safe, same_kind, unsafe", casting));
  const auto kind = [](DType t) {
    return t.is_key() ? -1 : t.is_complex() ? 4 : t.is_floating() ? 3 : t.is_signed() ? 2 : t.is_unsigned() ? 1 : 0;
  };
  if (casting == "same_kind" && kind(from) >= 0 && kind(from) <= kind(to)) return true;
  return casts_safely(from, to);
}
DType result_type(std::initializer_list<Arg> operands) {
  std::vector<detail::WeakDType> types;
  for (const Arg& x : operands) types.push_back(detail::operand_type(x));
  return detail::promoted_type(types);
}
DType detail::promoted_type(const std::vector<WeakDType>& types) {
  if (types.empty()) return float32;
  WeakDType out = *types.begin();
  for (const WeakDType& type : types) out = promote_types(out, type);
  return out.dtype;
}

}  // namespace weft
