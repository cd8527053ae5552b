#include "weft/core/functions/reductions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/counted.h"
#include "weft/core/base/sizes.h"
#include "weft/core/functions/chosen_axis.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/composite.h"
#include "weft/core/ops/elementwise/stop_gradient.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/trace/trace.h"

namespace weft {
namespace detail {

std::vector<int> resolve_axes(const Axis& axis, const Arg& x, const char* operation) {
  const int ndim = x.array().ndim();
  std::vector<int> axes(static_cast<std::size_t>(axis.is_none() ? ndim : 0));
  std::iota(axes.begin(), axes.end(), 0);
  for (int a : axis.axes()) axes.push_back(normalize_axis(a, ndim, operation, x.aval(), x.where()));
  std::sort(axes.begin(), axes.end());
  if (const auto twice = std::adjacent_find(axes.begin(), axes.end()); twice != axes.end())
    throw AxisError(fmt::format("{}: axis {} of {} is given twice; name each axis once", operation, *twice, to_string(x.aval())),
                    effective_loc(x.where()));
  return axes;
}

const Axis& axis_of(const Axis& axis, const Axis& of_options, const char* operation, SourceLoc loc) {
  if (!axis.is_none() && !of_options.is_none())
    throw AxisError(fmt::format("{}: an axis is an argument and among the options; give it once", operation), effective_loc(loc));
  return axis.is_none() ? of_options : axis;
}

int one_axis(const char* operation, const Arg& x, int axis, const std::optional<AxisNumber>& of_options) {
  const auto position = [&](int a) { return normalize_axis(a, x.array().ndim(), operation, x.aval(), x.where()); };
  if (of_options && position(axis) != position(*of_options))
    throw AxisError(fmt::format("{}: an axis is an argument and another one among the options; give it once", operation),
                    effective_loc(x.where()));
  return position(axis);
}

Array as_dtype(const Array& x, DType dtype) { return x.dtype() == dtype ? x : convert(x, dtype); }

namespace {

/// What a call of a reduction asks for.
struct Request {
  const char* name;
  const Arg& x;
  std::vector<int> axes;
  const ReduceOptions& options;

  Request(const char* n, const Arg& a, const Axis& axis, const ReduceOptions& o)
      : name(n), x(a), axes(resolve_axes(axis_of(axis, o, n, a.where()), a, n)), options(o) {}

  [[noreturn]] void refuse(const std::string& what) const { throw Error(fmt::format("{}: {}", name, what), effective_loc(x.where())); }
  void no_dtype() const {
    if (options.dtype) refuse("takes no dtype: convert the argument or the result");
  }
  void no_ddof() const {
    if (options.ddof != 0) refuse("takes no ddof, which is for var and std_");
  }
  void no_initial() const {
    if (options.initial) refuse("takes no initial value, which is for sum, prod, max and min");
  }
  /// The initial value in the dtype of what is combined with it; a scalar.
  Array initial(DType dtype) const {
    const Array& value = *options.initial;
    if (value.ndim() != 0)
      throw ShapeError(fmt::format("{}: the initial value is {}; it must be a scalar", name, to_string(value.aval())),
                       effective_loc(x.where()));
    return as_dtype(value, dtype);
  }
  void no_complex() const {
    if (x.array().dtype().is_complex())
      throw DTypeError(fmt::format("{}: {} has complex elements, which have no order; reduce abs(x) or real(x)", name, to_string(x.aval())),
                       effective_loc(x.where()));
  }

  /// The elements that take no part replaced by `fill`.
  Array masked(const Array& values, const Array& fill) const {
    if (!options.where) return values;
    const Array& mask = *options.where;
    if (!mask.dtype().is_bool())
      throw DTypeError(fmt::format("{}: the mask `where` is {}; it must be bool", name, to_string(mask.aval())), effective_loc(x.where()));
    return where(checked_mask(), values, fill);
  }
  /// The number of elements that take part, as a scalar or with the axes kept.
  Array count(DType dtype) const {
    if (options.where) {
      const Array full = weft::detail::broadcast_trailing(checked_mask(), x.array().shape(), x.where());
      return keep(reduce_sum(convert(full, dtype), axes, x.where()), true);
    }
    std::int64_t n = 1;
    for (int a : axes) n *= x.array().shape()[a];
    return make_literal(Number(static_cast<double>(n)), dtype);
  }
  Array finish(const Array& reduced) const { return keep(reduced, options.keepdims); }
  Array keep(const Array& reduced, bool kept) const { return kept ? insert_axes(reduced, axes, x.where()) : reduced; }
  /// Gives up the size-1 axes where they aren't asked for.
  Array drop(const Array& kept) const { return options.keepdims ? kept : squeeze_axes(kept, axes, x.where()); }

 private:
  Array checked_mask() const {
    const Array& mask = *options.where;
    const Shape &m = mask.shape(), &s = x.array().shape();
    bool fits = m.size() <= s.size();
    for (int i = 1; fits && i <= m.size(); ++i) fits = m[m.size() - i] == 1 || m[m.size() - i] == s[s.size() - i];
    if (!fits)
      throw ShapeError(
          fmt::format("{}: the mask `where` is {}, which doesn't broadcast to {}", name, to_string(mask.aval()), to_string(x.aval())),
          effective_loc(x.where()));
    return mask;
  }
};

/// The dtype in which sum and prod give their results.
DType sum_dtype(DType d) {
  if (d.is_bool() || (d.is_signed() && d.itemsize() < 4)) return int32;
  if (d.is_unsigned() && d.itemsize() < 4) return uint32;
  return d;
}

Array lowest(const Array& like) {
  const DType d = like.dtype();
  if (d.is_bool()) return make_literal(Number(false), bool_);
  if (d.is_floating()) return scalar_like(like, -std::numeric_limits<double>::infinity());
  if (d.is_unsigned()) return make_literal(Number(0), d);
  return make_literal(Number(std::numeric_limits<long long>::min() >> (64 - 8 * d.itemsize())), d);
}
Array highest(const Array& like) {
  const DType d = like.dtype();
  if (d.is_bool()) return make_literal(Number(true), bool_);
  if (d.is_floating()) return scalar_like(like, std::numeric_limits<double>::infinity());
  if (d.is_unsigned()) return make_literal(Number(std::numeric_limits<unsigned long long>::max() >> (64 - 8 * d.itemsize())), d);
  return make_literal(Number(std::numeric_limits<long long>::max() >> (64 - 8 * d.itemsize())), d);
}

using Reduce = Array (*)(const Array&, const std::vector<int>&, SourceLoc);

Array sum_or_prod(const Request& r, Reduce reduce, double identity) {
  r.no_ddof();
  const DType result = r.options.dtype.value_or(sum_dtype(r.x.array().dtype()));
  const Array wide = as_dtype(r.x.array(), wide_dtype(result));
  Array reduced = reduce(r.masked(wide, scalar_like(wide, identity)), r.axes, r.x.where());
  if (r.options.initial) {
    const Array initial = r.initial(wide.dtype());
    reduced = identity == 0 ? Array(reduced + initial) : Array(reduced * initial);
  }
  return r.finish(as_dtype(reduced, result));
}

Array extremum(const Request& r, Reduce reduce, Array (*identity)(const Array&), Array (*combine)(Arg, Arg)) {
  r.no_ddof(), r.no_dtype(), r.no_complex();
  const Array& x = r.x.array();
  if (r.options.initial) {
    const Array initial = r.initial(x.dtype());
    Shape left;
    for (int d = 0; d < x.ndim(); ++d)
      if (std::find(r.axes.begin(), r.axes.end(), d) == r.axes.end()) left.push_back(x.shape()[d]);
    const bool none = std::any_of(r.axes.begin(), r.axes.end(), [&](int a) { return x.shape()[a] == 0; });
    const Array reduced =
        none ? fill_shape(initial, left, r.x.where()) : reduce(r.options.where ? r.masked(x, identity(x)) : x, r.axes, r.x.where());
    return r.finish(combine(Arg(reduced, r.x.where()), Arg(initial, r.x.where())));
  }
  for (int a : r.axes)
    if (x.shape()[a] == 0)
      throw ShapeError(fmt::format("{}: axis {} of {} is empty; an extremum needs at least one element, or {{.initial = value}}", r.name, a,
                                   to_string(x.aval())),
                       effective_loc(r.x.where()));
  return r.finish(reduce(r.options.where ? r.masked(x, identity(x)) : x, r.axes, r.x.where()));
}

Array position(const char* name, const Arg& x, const Axis& argument, const ReduceOptions& options,
               Array (*find)(const Array&, int, DType, SourceLoc)) {
  const Request r(name, x, argument, options);
  const Axis& axis = axis_of(argument, options, name, x.where());
  r.no_ddof(), r.no_complex(), r.no_initial();
  if (options.where) r.refuse("takes no mask; put where(mask, x, fill) in its argument");
  if (!axis.is_none() && r.axes.size() != 1)
    throw AxisError(fmt::format("{}: takes one axis or none (the position in the flattened array), got {} of {}", name,
                                counted(r.axes.size(), "axis", "axes"), to_string(x.aval())),
                    effective_loc(x.where()));
  std::int64_t places = 1;
  for (int a : r.axes) places *= x.array().shape()[a];
  const DType index = options.dtype.value_or(fits_int(places) ? int32 : int64);
  if (x.array().size() == 0 && (axis.is_none() || x.array().shape()[r.axes[0]] == 0))
    throw ShapeError(fmt::format("{}: {} has no elements to search", name, to_string(x.aval())), effective_loc(x.where()));
  if (axis.is_none()) return r.finish(find(reshape_to(x.array(), Shape{x.array().size()}, x.where()), 0, index, x.where()));
  return r.finish(find(x.array(), r.axes[0], index, x.where()));
}

Array truth(const Request& r, Reduce reduce, bool identity) {
  r.no_ddof(), r.no_dtype(), r.no_initial();
  const Array& x = r.x.array();
  const Array held = x.dtype().is_bool() ? x : Array(x != scalar_like(x, 0));
  return r.finish(reduce(r.masked(held, make_literal(Number(identity), bool_)), r.axes, r.x.where()));
}

Array mean_of(const Request& r, DType compute, bool kept) {
  const Array x = as_dtype(r.x.array(), compute);
  const Array total = reduce_sum(r.masked(x, scalar_like(x, 0)), r.axes, r.x.where());
  const Array n = r.count(compute);
  return r.options.where && !kept ? squeeze_axes(r.keep(total, true) / n, r.axes, r.x.where()) : r.keep(total, kept) / n;
}

Array variance(const Request& r) {
  r.no_initial();
  const DType given = r.options.dtype.value_or(inexact_dtype(r.x.array().dtype()));
  if (!given.is_inexact() || (r.x.array().dtype().is_complex() && !given.is_complex()))
    throw DTypeError(
        fmt::format("{}: dtype {} can't hold the variance of {}; choose a floating type", r.name, given.name(), to_string(r.x.aval())),
        effective_loc(r.x.where()));
  const DType compute = wide_dtype(given);
  const Array x = as_dtype(r.x.array(), compute);
  const Array centred = x - mean_of(r, compute, true);
  const Array squared = compute.is_complex() ? real(centred * conj(centred)) : square(centred);
  const Array total = r.keep(reduce_sum(r.masked(squared, scalar_like(squared, 0)), r.axes, r.x.where()), true);
  const Array divisor = r.options.where ? Array(r.count(squared.dtype()) - std::int64_t{r.options.ddof}) : Array();
  Array result;
  if (r.options.where) {
    result = where(divisor > 0, total / divisor, std::numeric_limits<float>::quiet_NaN());
  } else {
    std::int64_t n = -r.options.ddof, size = 1;
    for (int a : r.axes) size *= r.x.array().shape()[a];
    n += size;
    result = total / scalar_like(total, static_cast<double>(n));
    // The tangent is zero then, as nothing is selected; the gradient is 0 / n, as jax.numpy's.
    if (n <= 0) result = where(false, result, std::numeric_limits<float>::quiet_NaN());
  }
  return as_dtype(r.drop(result), given.real_part());
}

Array cumulative(const char* name, const Arg& x, int axis, const CumulativeOptions& options, bool is_sum,
                 Array (*reduce)(const Array&, int, bool, SourceLoc)) {
  LocScope scope(x.where());
  const int a = one_axis(name, x, axis, options.axis);
  if (options.dtype && !is_sum)
    throw Error(fmt::format("{}: takes no dtype: convert the argument or the result", name), effective_loc(x.where()));
  const DType given = x.array().dtype();
  return reduce(as_dtype(x.array(), options.dtype.value_or(is_sum && given.is_bool() ? int32 : given)), a, options.reverse, x.where());
}

}  // namespace
}  // namespace detail

using detail::LocScope;
using detail::Request;

Array sum(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return detail::sum_or_prod({"sum", x, axis, options}, detail::reduce_sum, 0);
}
Array prod(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return detail::sum_or_prod({"prod", x, axis, options}, detail::reduce_prod, 1);
}
Array mean(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  const Request r("mean", x, axis, options);
  r.no_ddof(), r.no_initial();
  const DType result = options.dtype.value_or(detail::inexact_dtype(x.array().dtype()));
  return detail::as_dtype(detail::mean_of(r, detail::wide_dtype(result), options.keepdims), result);
}
Array var(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return detail::variance({"var", x, axis, options});
}
Array std_(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return sqrt(detail::variance({"std_", x, axis, options}));
}
Array max(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return detail::extremum({"max", x, axis, options}, detail::reduce_max, detail::lowest, maximum);
}
Array min(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return detail::extremum({"min", x, axis, options}, detail::reduce_min, detail::highest, minimum);
}
Array argmax(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return detail::position("argmax", x, axis, options, detail::arg_max);
}
Array argmin(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return detail::position("argmin", x, axis, options, detail::arg_min);
}
Array any(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return detail::truth({"any", x, axis, options}, detail::reduce_or, false);
}
Array all(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  return detail::truth({"all", x, axis, options}, detail::reduce_and, true);
}

Array logsumexp(Arg x, Axis axis, ReduceOptions options) {
  LocScope scope(x.where());
  const Request r("logsumexp", x, axis, options);
  r.no_ddof(), r.no_dtype(), r.no_initial();
  const DType dtype = detail::inexact_dtype(x.array().dtype());
  const Array given = detail::as_dtype(x.array(), dtype);
  const auto of = [&](std::span<const Array> in) {
    const Array values = detail::as_wide(in[0]), zero = detail::scalar_like(values, 0);
    const Array magnitude = dtype.is_complex() ? real(values) : values;
    const Array top = r.keep(detail::reduce_max(r.masked(magnitude, detail::lowest(magnitude)), r.axes, x.where()), true);
    const Array shift = detail::stop_gradient_of(where(isfinite(top), top, detail::scalar_like(top, 0)), x.where());
    const Array scaled = exp(values - shift);
    const Array total = r.keep(detail::reduce_sum(r.masked(scaled, zero), r.axes, x.where()), true);
    return detail::as_dtype(r.drop(log(total) + shift), dtype);
  };
  // The name is that of all elements: with a mask there would be another operand.
  if (options.where) return of(std::span(&given, 1));
  return detail::named("weft.logsumexp", {{"axes", detail::axes_attribute(r.axes)}, {"keepdims", options.keepdims}}, std::span(&given, 1),
                       x.where(), of);
}

Array cumsum(Arg x, CumulativeOptions options) {
  return options.axis ? cumsum(x, *options.axis, options) : cumsum(Arg(ravel(x), x.where()), 0, options);
}
Array cumprod(Arg x, CumulativeOptions options) {
  return options.axis ? cumprod(x, *options.axis, options) : cumprod(Arg(ravel(x), x.where()), 0, options);
}
Array cumsum(Arg x, AxisNumber axis, CumulativeOptions options) {
  return detail::cumulative("cumsum", x, axis, options, true, detail::cumulative_sum);
}
Array cumprod(Arg x, AxisNumber axis, CumulativeOptions options) {
  return detail::cumulative("cumprod", x, axis, options, true, detail::cumulative_prod);
}
Array cummax(Arg x, AxisNumber axis, CumulativeOptions options) {
  return detail::cumulative("cummax", x, axis, options, false, detail::cumulative_max);
}
Array cummin(Arg x, AxisNumber axis, CumulativeOptions options) {
  return detail::cumulative("cummin", x, axis, options, false, detail::cumulative_min);
}
Array cumlogsumexp(Arg x, AxisNumber axis, CumulativeOptions options) {
  return detail::cumulative("cumlogsumexp", Arg(detail::to_inexact(x), x.where()), axis, options, false, detail::cumulative_logsumexp);
}

}  // namespace weft
