#include "weft/library/jnp/joining.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/base/counted.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/positions.h"
#include "weft/library/numpy/argument_axis.h"

namespace weft {

using detail::axis_of;
using detail::LocScope;
using detail::to_string;

namespace {

Array with_axes(const Arg& x, int ndim) {
  LocScope scope(x.where());
  Array y = x.array();
  while (y.ndim() < std::min(ndim, 2)) y = expand_dims(y, 0);
  return y.ndim() < ndim ? expand_dims(y, -1) : y;
}

/// The position in [0, n) that a mode of padding repeats at a position outside.
std::int64_t repeated_position(const std::string& mode, std::int64_t i, std::int64_t n) {
  const auto modulo = [](std::int64_t a, std::int64_t b) { return ((a % b) + b) % b; };
  if (mode == "edge" || n == 1) return std::clamp<std::int64_t>(i, 0, n - 1);
  if (mode == "wrap") return modulo(i, n);
  const bool twice = mode == "symmetric";  // whether the border element is repeated
  const std::int64_t period = twice ? 2 * n : 2 * n - 2, at = modulo(i, period);
  return at < n ? at : period - at - (twice ? 1 : 0);
}

/// What a mode of padding puts at positions [begin, end) of an axis: a few parts of x, forwards or backwards,
/// or one element many times; else the elements at these places.
std::vector<Array> padding_of(const Array& x, const std::string& mode, int axis, std::int64_t begin, std::int64_t end) {
  constexpr std::size_t kMostParts = 8;
  const std::int64_t n = x.shape()[axis];
  if (begin == end) return {};
  if (mode == "maximum" || mode == "minimum" || mode == "mean") {
    Array one = mode == "maximum" ? max(x, axis, keepdims) : mode == "minimum" ? min(x, axis, keepdims) : mean(x, axis, keepdims);
    if (one.dtype() != x.dtype()) one = convert(round(one), x.dtype());
    Shape shape = x.shape();
    shape[axis] = end - begin;
    return {broadcast_to(one, shape)};
  }
  std::vector<Array> parts;
  for (std::int64_t i = begin; i < end;) {
    if (parts.size() == kMostParts) {
      std::vector<std::int64_t> positions;
      for (i = begin; i < end; ++i) positions.push_back(repeated_position(mode, i, n));
      return {take(x, array(positions, Shape(positions.size()), detail::fits_int(n) ? int32 : int64), axis, {.mode = "promise_in_bounds"})};
    }
    const std::int64_t first = repeated_position(mode, i, n);
    std::int64_t size = 1, step = 0;
    for (; i + size < end; ++size) {
      const std::int64_t next = repeated_position(mode, i + size, n);
      if (size == 1) step = next - first;
      if (std::abs(step) > 1 || next != first + size * step) break;
    }
    const std::int64_t last = size == 1 ? first : first + (size - 1) * step;
    Array part = slice_in_dim(x, std::min(first, last), std::max(first, last) + 1, 1, axis);
    Shape shape = x.shape();
    shape[axis] = size;
    parts.push_back(part.shape()[axis] < size ? broadcast_to(part, shape) : first > last ? flip(part, axis) : part);
    i += size;
  }
  return parts;
}

}  // namespace

Array atleast_1d(Arg x) { return x.array().ndim() == 0 ? Array(expand_dims(x, 0)) : x.array(); }
Array atleast_2d(Arg x) { return with_axes(x, 2); }
Array atleast_3d(Arg x) { return with_axes(x, 3); }
Array permute_dims(Arg x, Axis axes) { return transpose(x, axes); }
Array matrix_transpose(Arg x) { return swapaxes(x, -1, -2); }
Array rollaxis(Arg x, AxisNumber axis, AxisNumber start) {
  const int ndim = x.array().ndim(), from = axis_of(x, axis, "rollaxis");
  const int before = start == ndim ? ndim : axis_of(x, start, "rollaxis");
  return moveaxis(x, from, from < before ? before - 1 : before);
}
std::vector<Array> broadcast_arrays(Args xs) {
  const std::vector<Arg>& all = xs.args();
  std::vector<Shape> shapes;
  for (const Arg& x : all) shapes.push_back(x.array().shape());
  std::vector<Array> out;
  if (all.empty()) return out;
  const Shape shape = broadcast_shapes(shapes, all[0].where());
  for (const Arg& x : all) out.push_back(broadcast_to(x, shape));
  return out;
}
Shape broadcast_shapes(const std::vector<Shape>& shapes, SourceLoc loc) {
  Shape out;
  for (const Shape& s : shapes) {
    while (out.size() < s.size()) out = out.inserted(0, 1);
    for (int d = 1; d <= s.size(); ++d) {
      std::int64_t& to = out[out.size() - d];
      const std::int64_t size = s[s.size() - d];
      if (size == 1 || size == to) continue;
      if (to != 1)
        throw ShapeError(fmt::format("broadcast_shapes: sizes {} and {} along axis {} are neither equal nor 1", to, size, -d),
                         detail::effective_loc(loc));
      to = size;
    }
  }
  return out;
}
Array broadcast_in_dim(Arg x, Shape shape, Axis broadcast_dimensions) {
  LocScope scope(x.where());
  return detail::broadcast_in_dim(x.array(), shape, broadcast_dimensions.axes(), x.where());
}

Array append(Arg a, Arg b, std::optional<AxisNumber> axis) {
  LocScope scope(a.where());
  if (axis) return concatenate({a, b}, *axis);
  return concatenate({ravel(a), ravel(b)}, 0);
}
Array dstack(Args xs, SourceLoc loc) {
  std::vector<Array> all;
  for (const Arg& x : xs.args()) all.push_back(atleast_3d(x));
  return concatenate(all, 2, loc);
}
Array column_stack(Args xs, SourceLoc loc) {
  std::vector<Array> all;
  for (const Arg& x : xs.args()) all.push_back(x.array().ndim() < 2 ? Array(expand_dims(atleast_1d(x), 1)) : x.array());
  return concatenate(all, 1, loc);
}
Array block(const std::vector<std::vector<Array>>& rows, SourceLoc loc) {
  std::vector<Array> joined;
  int ndim = 2;
  for (const auto& row : rows)
    for (const Array& x : row) ndim = std::max(ndim, x.ndim());
  const auto widened = [&](Array x) {
    while (x.ndim() < ndim) x = expand_dims(x, 0);
    return x;
  };
  for (const auto& row : rows) {
    std::vector<Array> parts;
    for (const Array& x : row) parts.push_back(widened(x));
    joined.push_back(concatenate(parts, -1, loc));
  }
  return concatenate(joined, -2, loc);
}
std::vector<Array> unstack(Arg x, AxisNumber axis) {
  LocScope scope(x.where());
  return detail::unstack_along(x.array(), axis_of(x, axis, "unstack"), x.where());
}
std::vector<Array> array_split(Arg x, Sections sections, AxisNumber axis) {
  const int a = axis_of(x, axis, "array_split");
  if (!sections.count()) return split(x, sections, a);
  const std::int64_t n = x.array().shape()[a], pieces = *sections.count();
  if (pieces <= 0)
    throw ShapeError(fmt::format("array_split: {} can't be cut into {} pieces", to_string(x.aval()), pieces),
                     detail::effective_loc(x.where()));
  std::vector<std::int64_t> cuts;
  for (std::int64_t k = 1; k < pieces; ++k) cuts.push_back(k * (n / pieces) + std::min(k, n % pieces));
  return split(x, Sections(cuts), a);
}
std::vector<Array> hsplit(Arg x, Sections sections) { return split(x, sections, x.array().ndim() == 1 ? 0 : 1); }
std::vector<Array> vsplit(Arg x, Sections sections) { return split(x, sections, 0); }

Array fliplr(Arg x) { return flip(x, 1); }
Array flipud(Arg x) { return flip(x, 0); }
Array rot90(Arg x, Int turns, std::pair<AxisNumber, AxisNumber> axes) {
  LocScope scope(x.where());
  const int a = axis_of(x, axes.first, "rot90"), b = axis_of(x, axes.second, "rot90");
  if (a == b) throw AxisError(fmt::format("rot90: axis {} of {} is given twice", a, to_string(x.aval())), detail::effective_loc(x.where()));
  const std::int64_t k = ((turns % 4) + 4) % 4;
  if (k == 0) return x.array();
  if (k == 2) return flip(x, {a, b});
  return k == 1 ? swapaxes(flip(x, b), a, b) : flip(swapaxes(x, a, b), b);
}
Array roll_by(Arg x, const Array& shift, std::optional<AxisNumber> axis) {
  LocScope scope(x.where());
  if (shift.ndim() != 0 || !shift.dtype().is_integer())
    throw ShapeError(fmt::format("roll: the shift is {}; it must be an integer scalar", to_string(shift.aval())),
                     detail::effective_loc(x.where()));
  if (!axis) return reshape(roll_by(ravel(x), shift, 0), x.array().shape());
  const int a = axis_of(x, *axis, "roll");
  const std::int64_t n = x.array().shape()[a];
  if (n == 0) return x.array();
  const Array at = arange(n) - detail::positions_around(shift, n, x.where());
  return take(x, where(at < 0, at + n, at), a, {.mode = "promise_in_bounds"});
}
Array repeat_by(Arg x, const Array& counts, std::optional<AxisNumber> axis, RepeatOptions options) {
  LocScope scope(x.where());
  if (!axis) return repeat_by(ravel(x), counts, 0, options);
  const int a = axis_of(x, *axis, "repeat");
  const std::int64_t n = x.array().shape()[a];
  if (!counts.dtype().is_integer() || counts.ndim() > 1 || (counts.ndim() == 1 && counts.shape()[0] != n && counts.shape()[0] != 1))
    throw ShapeError(fmt::format("repeat: the counts {} must be integers, one for each of the {} elements along axis {} of {}",
                                 to_string(counts.aval()), n, a, to_string(x.aval())),
                     detail::effective_loc(x.where()));
  const Array ends = cumsum(broadcast_to(detail::index_type(counts, x.where()), {n}), 0);
  if (!options.total_repeat_length) {
    const Array total = n == 0 ? Array(0) : detail::concrete_or_empty(ends(-1));
    if (total.is_empty_handle())
      throw ConcretizationError(
          fmt::format("repeat: the result's size depends on the counts {}, which are traced; give it: repeat(x, counts, axis, "
                      "{{.total_repeat_length = n}})",
                      to_string(counts.aval())),
          detail::effective_loc(x.where()));
    options.total_repeat_length = total.item<std::int64_t>();
  }
  const std::int64_t total = *options.total_repeat_length;
  if (total < 0 || (n == 0 && total > 0))
    throw ShapeError(fmt::format("repeat: the counts do not make {} elements of {} along axis {}", total, to_string(x.aval()), a),
                     detail::effective_loc(x.where()));
  if (n == 0) return x.array();
  return take(x, minimum(searchsorted(ends, arange(total), {.side = "right"}), n - 1), a, {.mode = "promise_in_bounds"});
}

Array pad(Arg x, PadWidth width, PadOptions options) {
  LocScope scope(x.where());
  if (options.mode == "constant") return pad(x, width, Arg(options.constant_values));
  if (options.constant_values != 0)
    throw Error(fmt::format("pad: constant_values are of the mode `constant`, and the mode is `{}`", options.mode),
                detail::effective_loc(x.where()));
  const char* const modes[] = {"edge", "reflect", "symmetric", "wrap", "maximum", "minimum", "mean"};
  if (std::find(std::begin(modes), std::end(modes), options.mode) == std::end(modes))
    throw Error(fmt::format("pad: unknown mode `{}`; available: constant, {}", options.mode, fmt::join(modes, ", ")),
                detail::effective_loc(x.where()));
  const auto& widths = width.widths();
  const int ndim = x.array().ndim();
  if (widths.size() != 1 && widths.size() != static_cast<std::size_t>(ndim))
    throw ShapeError(fmt::format("pad: {} for the {} of {}; give one pair for each axis, or one for all",
                                 detail::counted(widths.size(), "width"), detail::counted(ndim, "axis", "axes"), to_string(x.aval())),
                     detail::effective_loc(x.where()));
  Array out = x.array();
  for (int d = 0; d < ndim; ++d) {
    const auto [before, after] = widths[widths.size() == 1 ? 0 : static_cast<std::size_t>(d)];
    const std::int64_t n = out.shape()[d];
    if (before < 0 || after < 0)
      throw ShapeError(fmt::format("pad: width ({}, {}) of {} is negative; slice it instead", before, after, to_string(x.aval())),
                       detail::effective_loc(x.where()));
    if (before == 0 && after == 0) continue;
    if (n == 0)
      throw ShapeError(
          fmt::format("pad: axis {} of {} is empty: mode \"{}\" has no element to repeat", d, to_string(x.aval()), options.mode),
          detail::effective_loc(x.where()));
    std::vector<Array> parts = padding_of(out, options.mode, d, -before, 0);
    const std::vector<Array> behind = padding_of(out, options.mode, d, n, n + after);
    parts.push_back(out);
    parts.insert(parts.end(), behind.begin(), behind.end());
    out = concatenate(parts, d);
  }
  return out;
}
Array pad(Arg x, Arg value, const PaddingConfig& padding) {
  const std::vector<std::array<Int, 3>>& config = padding.axes();
  LocScope scope(x.where());
  if (config.size() != static_cast<std::size_t>(x.array().ndim()))
    throw ShapeError(
        fmt::format("pad: {} for the {} of {}; give three numbers for each axis", detail::counted(config.size(), "entry", "entries"),
                    detail::counted(x.array().ndim(), "axis", "axes"), to_string(x.aval())),
        detail::effective_loc(x.where()));
  detail::PaddingConfig out;
  for (const auto& [low, high, interior] : config) {
    if (interior < 0)
      throw ShapeError(fmt::format("pad: interior padding {} is negative; slice with a stride instead", std::int64_t{interior}),
                       detail::effective_loc(x.where()));
    out.push_back({low, high, interior});
  }
  const Array fill = detail::convert_element_type(value.array(), x.aval().dtype, x.aval().weak, x.where());
  return detail::pad_with(x.array(), fill, out, x.where());
}

}  // namespace weft
