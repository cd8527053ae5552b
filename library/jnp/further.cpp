// Further functions of jax.numpy that are made of others: statistics without NaN, polynomials, second names.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/chosen_axis.h"
#include "weft/core/functions/convolution.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/promote.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/elementwise/stop_gradient.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/constructor_options.h"
#include "weft/library/jnp/further_arguments.h"
#include "weft/library/jnp/joining.h"
#include "weft/library/jnp/names.h"
#include "weft/library/jnp/positions.h"
#include "weft/library/jnp/special.h"
#include "weft/library/jnp/statistics.h"
#include "weft/library/numpy/host_numbers.h"

namespace weft {

using detail::LocScope;
using detail::to_string;

namespace detail {

Array variables_together(const Arg& x, const Array& y, const CovOptions& options) {
  LocScope scope(x.where());
  const auto rows = [&](const Array& a) {
    if (a.ndim() < 2) return reshape(a, {1, -1});
    return options.rowvar ? a : transpose(a);
  };
  if (x.array().ndim() > 2 || y.ndim() > 2)
    throw ShapeError(fmt::format("cov: {} and {} must be vectors or matrices of samples", to_string(x.aval()), to_string(y.aval())),
                     effective_loc(x.where()));
  const Array a = rows(x.array()), b = rows(y);
  if (a.shape()[1] != b.shape()[1])
    throw ShapeError(fmt::format("cov: {} has {} samples and {} has {}; they must be as many", to_string(x.aval()), a.shape()[1],
                                 to_string(y.aval()), b.shape()[1]),
                     effective_loc(x.where()));
  const Array both = concatenate({a, b}, 0);
  return options.rowvar ? both : transpose(both);
}

void check_count(std::size_t given, std::size_t wanted, SourceLoc loc) {
  if (given != wanted)
    throw ShapeError(fmt::format("elements: there are {} arrays, one for each dimension or piece, not {}", given, wanted),
                     effective_loc(loc));
}

}  // namespace detail

namespace {

/// x without the NaNs, for running sums and products.
Array without_nan(const Array& x, double neutral) {
  return x.dtype().is_inexact() ? where(isnan(x), detail::scalar_like(x, neutral), x) : x;
}
Array vector_of(const char* operation, const Arg& p) {
  if (p.array().ndim() > 1)
    throw ShapeError(fmt::format("{}: {} is not a vector of coefficients", operation, to_string(p.aval())),
                     detail::effective_loc(p.where()));
  return ravel(p);
}
Array floating(const Array& x) { return detail::as_dtype(x, detail::inexact_dtype(x.dtype())); }
/// Zeros in front of the shorter one.
std::pair<Array, Array> of_one_degree(const char* operation, const Arg& a, const Arg& b) {
  const Array p = vector_of(operation, a), q = vector_of(operation, b);
  const std::int64_t n = std::max(p.size(), q.size());
  return {pad(p, PadWidth(n - p.size(), 0)), pad(q, PadWidth(n - q.size(), 0))};
}
std::int64_t times(const char* operation, const Arg& p, Int m) {
  const std::int64_t count = m;
  if (count < 0) throw Error(fmt::format("{}: m is {}; it must not be negative", operation, count), detail::effective_loc(p.where()));
  return count;
}
Array square_matrix(const char* operation, const Arg& x) {
  const Shape& s = x.array().shape();
  if (s.size() < 2 || std::any_of(s.begin(), s.end(), [&](std::int64_t d) { return d != s[0]; }))
    throw ShapeError(fmt::format("{}: {} must have two or more dimensions of one size", operation, to_string(x.aval())),
                     detail::effective_loc(x.where()));
  return x.array();
}
Array matrix(const char* operation, const Arg& x) {
  if (x.array().ndim() != 2)
    throw ShapeError(fmt::format("{}: {} is not a matrix; it must have two dimensions", operation, to_string(x.aval())),
                     detail::effective_loc(x.where()));
  return x.array();
}
Array along(const Arg& x, std::optional<AxisNumber> axis, const char* operation, Array (*flat)(Arg, CumulativeOptions),
            Array (*of_axis)(Arg, AxisNumber, CumulativeOptions), bool flattens) {
  if (axis) return of_axis(x, *axis, {});
  if (!flattens && x.array().ndim() != 1)
    throw AxisError(fmt::format("{}: {} has several axes; name the one to follow", operation, to_string(x.aval())),
                    detail::effective_loc(x.where()));
  return flat(x, {});
}

}  // namespace

Array nancumsum(Arg x, std::optional<AxisNumber> axis) {
  LocScope scope(x.where());
  return along(Arg(without_nan(x.array(), 0), x.where()), axis, "nancumsum", cumsum, cumsum, true);
}
Array nancumprod(Arg x, std::optional<AxisNumber> axis) {
  LocScope scope(x.where());
  return along(Arg(without_nan(x.array(), 1), x.where()), axis, "nancumprod", cumprod, cumprod, true);
}
namespace {

void only_keepdims(const Arg& x, const char* operation, const ReduceOptions& options) {
  if (options.where || options.initial || options.dtype)
    throw Error(fmt::format("{}: takes keepdims only; put where(mask, x, nan) in its argument", operation),
                detail::effective_loc(x.where()));
}

/// The elements at, or between, places among the sorted ones. An infinite neighbour does no harm where its share is 0.
template <class At>
Array between(const Array& place, const At& at, const std::string& method, SourceLoc loc) {
  const Array low = floor(place), high = ceil(place), share = place - low;
  if (method == "lower") return at(low);
  if (method == "higher") return at(high);
  if (method == "midpoint") return (at(low) + at(high)) * 0.5;
  if (method == "nearest") return where(share <= 0.5, at(low), at(high));
  if (method != "linear")
    throw Error(fmt::format("nanquantile: unknown method `{}`; available: linear, lower, higher, midpoint, nearest", method),
                detail::effective_loc(loc));
  return at(low) * (1 - share) + at(high) * share;
}

}  // namespace

Array detail::nan_quantile(const Arg& x, const Arg& q, const QuantileOptions& options, double whole) {
  LocScope scope(x.where());
  if (options.q) throw Error("nanquantile: the order q is an argument and among the options", effective_loc(x.where()));
  const Array a = as_dtype(x.array(), inexact_dtype(x.array().dtype()));
  // Positions need more digits than 16-bit floats have, and more than float32 has from 2^24 on.
  const DType positions = a.size() <= (std::int64_t{1} << 24) ? wide_dtype(a.dtype()) : float64;
  const Array given = as_dtype(q.array(), positions), parts = whole == 1 ? given : given / whole;
  if (parts.ndim() > 1)
    throw ShapeError(fmt::format("nanquantile: {} must be a scalar or a vector of parts", to_string(q.aval())), effective_loc(q.where()));
  // The reduced axes go to the front, as one; NaNs are sorted behind all others.
  const std::vector<int> axes = resolve_axes(options.axis, x, "nanquantile");
  std::vector<int> front(axes.size());
  std::int64_t count = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) front[i] = static_cast<int>(i), count *= a.shape()[axes[i]];
  if (count == 0)
    throw ShapeError(fmt::format("nanquantile: {} has no elements along the axes", to_string(x.aval())), effective_loc(x.where()));
  const Array moved = moveaxis(a, axes, front);
  Shape rest(static_cast<std::int64_t>(count));
  for (int i = static_cast<int>(axes.size()); i < moved.ndim(); ++i) rest.push_back(moved.shape()[i]);
  const Array sorted = sort(reshape(moved, rest), 0), there = sum(~isnan(sorted), 0, {.dtype = position_dtype(count)});
  // One position for each part and column.
  Shape column(static_cast<std::int64_t>(parts.size()));
  for (int i = 0; i < there.ndim(); ++i) column.push_back(1);
  const Array place = reshape(parts, column) * convert(maximum(there - 1, 0), positions);
  const auto at = [&](const Array& p) { return take_along_axis(sorted, convert(p, there.dtype()), 0); };
  const Array found = as_dtype(between(place, at, options.method, x.where()), a.dtype());
  Array out = where(there > 0, found, std::numeric_limits<double>::quiet_NaN());
  if (parts.ndim() == 0) out = squeeze(out, 0);
  if (!options.keepdims) return out;
  std::vector<int> kept;
  for (int dim : axes) kept.push_back(dim + parts.ndim());
  return expand_dims(out, kept);
}
Array nanquantile(Arg x, Arg q, Axis axis, ReduceOptions options) {
  only_keepdims(x, "nanquantile", options);
  return detail::nan_quantile(x, q, {.axis = detail::axis_of(axis, options, "nanquantile", x.where()), .keepdims = options.keepdims}, 1);
}
Array nanpercentile(Arg x, Arg q, Axis axis, ReduceOptions options) {
  only_keepdims(x, "nanpercentile", options);
  return detail::nan_quantile(x, q, {.axis = detail::axis_of(axis, options, "nanpercentile", x.where()), .keepdims = options.keepdims},
                              100);
}
Array nanmedian(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return nanquantile(x, .5, std::move(axis), std::move(options));
}
Array kaiser(Int n, double beta, DType dtype, SourceLoc loc) {
  LocScope scope(loc);
  if (n == 1) return ones({1}, dtype);
  const Array t = linspace(-1, 1, n, dtype);
  return i0(beta * sqrt(maximum(1 - t * t, 0))) / i0(full({}, beta, dtype));
}

Array detail::logsumexp_of(const Arg& x, const Axis& axis, const LogsumexpOptions& options) {
  LocScope scope(x.where());
  const Axis over = axis_of(axis, {.axis = options.axis}, "logsumexp", x.where());
  if (!options.b) return logsumexp(x, over, {.keepdims = options.keepdims, .where = options.where});
  const DType dtype = inexact_dtype(promote_types(x.array().dtype(), options.b->dtype()));
  const Array factors = broadcast_to(as_wide(as_dtype(*options.b, dtype)), x.array().shape());
  // An element whose factor is 0 counts as exp(-infinity), so that an infinite one does no harm.
  Array used = factors != 0;
  if (options.where) used = used & *options.where;
  const Array values = as_wide(as_dtype(x.array(), dtype));
  if (dtype.is_complex())
    throw DTypeError(fmt::format("logsumexp: {} with factors: complex elements have none", to_string(x.aval())), effective_loc(x.where()));
  const double lowest = -std::numeric_limits<double>::infinity();
  const Array top = max(where(used, values, lowest), over, {.keepdims = true, .initial = lowest});
  const Array shift = stop_gradient_of(where(isfinite(top), top, 0), x.where());
  const Array total = sum(where(used, factors * exp(where(used, values, shift) - shift), 0), over, keepdims);
  const Array out = as_dtype(log(total) + shift, dtype);
  return options.keepdims ? out : squeeze(out, resolve_axes(over, x, "logsumexp"));
}

Array clip(Arg x, ClipOptions bounds) {
  const auto bound = [](const std::optional<Array>& b) { return b ? OptionalArg(*b) : OptionalArg(none); };
  return clip(std::move(x), bound(bounds.min), bound(bounds.max));
}

bool issubdtype(DType dtype, DTypeGroup group) {
  const bool integer = dtype.is_integer(), is_unsigned = integer && dtype.is_unsigned();
  switch (group) {
    case DTypeGroup::number: return integer || dtype.is_inexact();
    case DTypeGroup::integer: return integer;
    case DTypeGroup::signedinteger: return integer && !is_unsigned;
    case DTypeGroup::unsignedinteger: return is_unsigned;
    case DTypeGroup::inexact: return dtype.is_inexact();
    case DTypeGroup::floating: return dtype.is_floating();
    case DTypeGroup::complexfloating: return dtype.is_complex();
  }
  return false;
}

Array convolve2d(Arg a, Arg kernel, ModeOption options) {
  return convolve2d(std::move(a), std::move(kernel), options.mode.value_or("full"));
}
Array convolve2d(Arg a, Arg kernel, TextArg how) {
  LocScope scope(a.where());
  const std::string& mode = how.str();
  if (mode != "full" && mode != "same" && mode != "valid")
    throw Error(fmt::format("convolve2d: unknown mode `{}`; available: full, same, valid", mode), detail::effective_loc(a.where()));
  std::vector<Array> v = detail::promoted_inexact({matrix("convolve2d", a), matrix("convolve2d", kernel)}, a.where());
  Array x = std::move(v[0]), k = std::move(v[1]);
  for (const Arg& operand : {a, kernel})
    if (operand.array().size() == 0)
      throw ShapeError(fmt::format("convolve2d: {} has no elements", to_string(operand.aval())), detail::effective_loc(a.where()));
  const auto inside = [](const Array& small, const Array& large) {
    return small.shape()[0] <= large.shape()[0] && small.shape()[1] <= large.shape()[1];
  };
  if (mode == "valid" && !inside(k, x)) {
    if (!inside(x, k))
      throw ShapeError(fmt::format("convolve2d: neither of {} and {} lies inside of the other, as mode valid needs", to_string(a.aval()),
                                   to_string(kernel.aval())),
                       detail::effective_loc(a.where()));
    std::swap(x, k);
  }
  const std::int64_t h = k.shape()[0] - 1, w = k.shape()[1] - 1;
  // "same" keeps the middle of the full result.
  const std::pair<Int, Int> rows = mode == "valid"  ? std::pair<Int, Int>{0, 0}
                                   : mode == "full" ? std::pair<Int, Int>{h, h}
                                                    : std::pair<Int, Int>{h - h / 2, h / 2};
  const std::pair<Int, Int> columns = mode == "valid"  ? std::pair<Int, Int>{0, 0}
                                      : mode == "full" ? std::pair<Int, Int>{w, w}
                                                       : std::pair<Int, Int>{w - w / 2, w / 2};
  const Array y = conv_general_dilated(x(newaxis, newaxis), flip(k)(newaxis, newaxis), {1, 1}, {rows, columns});
  return y(0, 0);
}

Array polyadd(Arg a, Arg b) {
  LocScope scope(a.where());
  const auto [p, q] = of_one_degree("polyadd", a, b);
  return p + q;
}
Array polysub(Arg a, Arg b) {
  LocScope scope(a.where());
  const auto [p, q] = of_one_degree("polysub", a, b);
  return p - q;
}
Array polymul(Arg a, Arg b) {
  LocScope scope(a.where());
  const std::vector<Array> factors = detail::promoted({vector_of("polymul", a), vector_of("polymul", b)}, a.where());
  return convolve(floating(factors[0]), floating(factors[1]));
}
Array polyder(Arg p, Int m) {
  LocScope scope(p.where());
  Array c = floating(vector_of("polyder", p));
  for (std::int64_t k = times("polyder", p, m); k > 0; --k)
    c = c.size() < 2 ? zeros({0}, c.dtype()) : c(slice(none, -1)) * convert(arange(c.size() - 1, 0, -1), c.dtype());
  return c;
}
Array polyint(Arg p, Int m) {
  LocScope scope(p.where());
  Array c = floating(vector_of("polyint", p));
  for (std::int64_t k = times("polyint", p, m); k > 0; --k) c = pad(c / convert(arange(c.size(), 0, -1), c.dtype()), PadWidth(0, 1));
  return c;
}

Array amax(Arg x, Axis axis, ReduceOptions options) { return max(std::move(x), std::move(axis), std::move(options)); }
Array amin(Arg x, Axis axis, ReduceOptions options) { return min(std::move(x), std::move(axis), std::move(options)); }
Array concat(Args xs, AxisNumber axis, SourceLoc loc) { return concatenate(std::move(xs), axis, loc); }
Array cumulative_sum(Arg x, std::optional<AxisNumber> axis) {
  LocScope scope(x.where());
  const DType d = x.array().dtype();
  // Small integers are added as sum adds them.
  const DType as = d.is_integer() && d.itemsize() < 4 ? (d == int8 || d == int16 ? int32 : uint32) : d;
  return along(Arg(detail::as_dtype(x.array(), as), x.where()), axis, "cumulative_sum", cumsum, cumsum, false);
}
Array cumulative_prod(Arg x, std::optional<AxisNumber> axis) { return along(x, axis, "cumulative_prod", cumprod, cumprod, false); }
Array around(Arg x, Int decimals) { return round(std::move(x), decimals); }
Array array_equiv(Arg x, Arg y) {
  LocScope scope(x.where());
  const auto fits = [](const Shape& from, const Shape& to) {
    if (from.size() > to.size()) return false;
    for (int i = 1; i <= from.size(); ++i)
      if (from[-i] != 1 && from[-i] != to[-i]) return false;
    return true;
  };
  const Shape &a = x.array().shape(), &b = y.array().shape();
  return fits(a, b) || fits(b, a) ? all(x.array() == y.array()) : Array(false);
}
Array bitwise_invert(Arg x) { return invert(std::move(x)); }
Array bitwise_left_shift(Arg x, Arg amount) { return left_shift(std::move(x), std::move(amount)); }
Array bitwise_right_shift(Arg x, Arg amount) { return right_shift(std::move(x), std::move(amount)); }

Array diagflat(Arg x, Int k) {
  LocScope scope(x.where());
  return diag(ravel(x), k);
}
std::array<Array, 2> tril_indices_from(Arg x, Int k) {
  const Shape s = matrix("tril_indices_from", x).shape();
  return tril_indices(s[0], k, s[1], x.where());
}
std::array<Array, 2> triu_indices_from(Arg x, Int k) {
  const Shape s = matrix("triu_indices_from", x).shape();
  return triu_indices(s[0], k, s[1], x.where());
}
std::vector<Array> diag_indices_from(Arg x) {
  const Array a = square_matrix("diag_indices_from", x);
  return diag_indices(a.shape()[0], a.ndim(), x.where());
}

}  // namespace weft
