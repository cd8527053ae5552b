#include "weft/core/functions/shaping.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "weft/core/base/counted.h"
#include "weft/core/functions/promote.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"

namespace weft {
using namespace detail;
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }
bool contains(const std::vector<int>& v, int x) { return std::find(v.begin(), v.end(), x) != v.end(); }
std::vector<int> all_axes(int ndim) {
  std::vector<int> axes(at(ndim));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

/// The axes in [0, ndim), each at most once; `none` is all.
std::vector<int> normalize_axes(const Axis& axis, int ndim, const char* operation, const Arg& x) {
  if (axis.is_none()) return all_axes(ndim);
  std::vector<int> axes;
  for (int a : axis.axes()) {
    const int n = normalize_axis(a, ndim, operation, x.aval(), x.where());
    if (contains(axes, n))
      throw AxisError(fmt::format("{}: axis {} of {} is named twice", operation, a, to_string(x.aval())), effective_loc(x.where()));
    axes.push_back(n);
  }
  return axes;
}

/// The operands of one dtype, with axis made non-negative. `ndim` counts the axes that it may name beyond the operands'.
std::vector<Array> join_operands(const Args& xs, int& axis, int more_axes, const char* operation, SourceLoc loc) {
  if (xs.args().empty()) throw ShapeError(fmt::format("{}: there is nothing to join; give at least one array", operation), loc);
  const Aval& first = xs.args()[0].aval();
  std::vector<Array> out;
  for (const Arg& x : xs.args()) out.push_back(x.array());
  axis = normalize_axis(axis, first.ndim() + more_axes, operation, first, loc);
  return promoted(out, loc);
}

}  // namespace

Array reshape(Arg x, Shape shape) {
  const LocScope scope(x.where());
  const Aval& aval = x.aval();
  int open = -1;
  Shape others;
  for (int d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1 && open < 0)
      open = d;
    else if (shape[d] < 0)
      throw ShapeError(fmt::format("reshape: {} to shape {}: sizes must not be negative, except for one -1, which is inferred",
                                   to_string(aval), to_string(shape)),
                       effective_loc(x.where()));
    else
      others.push_back(shape[d]);
  }
  const std::int64_t known = others.num_elements();
  if (open >= 0) {
    if (known == 0 || aval.size() % known != 0)
      throw ShapeError(fmt::format("reshape: {} has {} elements, which can't fill shape {}: {} is not a multiple of {}", to_string(aval),
                                   aval.size(), to_string(shape), aval.size(), known),
                       effective_loc(x.where()));
    shape[open] = aval.size() / known;
  } else if (known != aval.size()) {
    throw ShapeError(fmt::format("reshape: {} has {} elements, but shape {} has {}; the numbers must be equal (a size of -1 is inferred)",
                                 to_string(aval), aval.size(), to_string(shape), known),
                     effective_loc(x.where()));
  }
  return reshape_to(x.array(), shape, x.where());
}

Array transpose(Arg x, Axis permutation) {
  std::vector<int> axes = all_axes(x.aval().ndim());
  if (permutation.is_none()) {
    std::reverse(axes.begin(), axes.end());
  } else {
    axes = normalize_axes(permutation, x.aval().ndim(), "transpose", x);
    if (static_cast<int>(axes.size()) != x.aval().ndim())
      throw AxisError(fmt::format("transpose: ({}) names {} of the {} of {}; name each once", fmt::join(permutation.axes(), ", "),
                                  axes.size(), counted(x.aval().ndim(), "axis", "axes"), to_string(x.aval())),
                      effective_loc(x.where()));
  }
  return permute(x.array(), axes, x.where());
}

Array swapaxes(Arg x, AxisNumber a, AxisNumber b) {
  std::vector<int> axes = all_axes(x.aval().ndim());
  std::swap(axes[at(normalize_axis(a, x.aval().ndim(), "swapaxes", x.aval(), x.where()))],
            axes[at(normalize_axis(b, x.aval().ndim(), "swapaxes", x.aval(), x.where()))]);
  return permute(x.array(), axes, x.where());
}

Array moveaxis(Arg x, Axis source, Axis destination) {
  const int ndim = x.aval().ndim();
  const std::vector<int> from = normalize_axes(source, ndim, "moveaxis", x), to = normalize_axes(destination, ndim, "moveaxis", x);
  if (from.size() != to.size())
    throw AxisError(fmt::format("moveaxis: {} source axes of {}, but {} destinations", from.size(), to_string(x.aval()), to.size()),
                    effective_loc(x.where()));
  std::vector<int> axes;
  for (int d = 0; d < ndim; ++d)
    if (!contains(from, d)) axes.push_back(d);
  std::vector<std::pair<int, int>> moves;
  for (std::size_t i = 0; i < from.size(); ++i) moves.emplace_back(to[i], from[i]);
  std::sort(moves.begin(), moves.end());
  for (const auto& [place, axis] : moves) axes.insert(axes.begin() + place, axis);
  return permute(x.array(), axes, x.where());
}

Array squeeze(Arg x, Axis axis) {
  const Shape& shape = x.aval().shape;
  std::vector<int> axes;
  if (axis.is_none()) {
    for (int d = 0; d < shape.size(); ++d)
      if (shape[d] == 1) axes.push_back(d);
  } else {
    axes = normalize_axes(axis, shape.size(), "squeeze", x);
    std::sort(axes.begin(), axes.end());
  }
  return squeeze_axes(x.array(), axes, x.where());
}

Array expand_dims(Arg x, Axis axis) {
  if (axis.is_none()) throw AxisError("expand_dims: name the axes to insert", effective_loc(x.where()));
  std::vector<int> axes = normalize_axes(axis, x.aval().ndim() + static_cast<int>(axis.axes().size()), "expand_dims", x);
  std::sort(axes.begin(), axes.end());
  return insert_axes(x.array(), axes, x.where());
}

Array ravel(Arg x) { return reshape_to(x.array(), Shape(x.aval().size()), x.where()); }

Array broadcast_to(Arg x, Shape shape) {
  const Shape& from = x.aval().shape;
  const int lead = shape.size() - from.size();
  bool fits = lead >= 0;
  for (int d = 0; fits && d < from.size(); ++d) fits = from[d] == 1 || from[d] == shape[lead + d];
  if (!fits)
    throw ShapeError(fmt::format("broadcast_to: {} does not broadcast to shape {}; from the last dimension on, sizes must be equal or 1",
                                 to_string(x.aval()), to_string(shape)),
                     effective_loc(x.where()));
  return broadcast_trailing(x.array(), shape, x.where());
}

Array concatenate(Args xs, AxisNumber number, SourceLoc loc) {
  const LocScope scope(loc);
  int axis = number;
  const std::vector<Array> operands = join_operands(xs, axis, 0, "concatenate", effective_loc(loc));
  return concatenate_along(operands, axis, loc);
}

Array stack(Args xs, AxisNumber number, SourceLoc loc) {
  const LocScope scope(loc);
  int axis = number;
  const std::vector<Array> operands = join_operands(xs, axis, 1, "stack", effective_loc(loc));
  return stack_along(operands, axis, loc);
}

std::vector<Array> split(Arg x, Sections sections, AxisNumber number) {
  const LocScope scope(x.where());
  const int axis = normalize_axis(number, x.aval().ndim(), "split", x.aval(), x.where());
  const std::int64_t size = x.aval().shape[axis];
  if (sections.count()) {
    const std::int64_t n = *sections.count();
    if (n <= 0 || size % n != 0)
      throw ShapeError(fmt::format("split: axis {} of {} can't be cut into {} equal sections; give the indices at which to cut", axis,
                                   to_string(x.aval()), n),
                       effective_loc(x.where()));
    return split_along(x.array(), std::vector<std::int64_t>(static_cast<std::size_t>(n), size / n), axis, x.where());
  }
  std::vector<std::int64_t> cuts{0};
  for (std::int64_t cut : sections.cuts()) cuts.push_back(std::clamp<std::int64_t>(cut < 0 ? cut + size : cut, 0, size));
  cuts.push_back(size);
  std::vector<std::int64_t> sizes;
  for (std::size_t i = 1; i < cuts.size(); ++i) sizes.push_back(cuts[i] - cuts[i - 1]);
  if (std::is_sorted(cuts.begin(), cuts.end())) return split_along(x.array(), sizes, axis, x.where());
  std::vector<Array> pieces;  // pieces that overlap, as NumPy slices them
  for (std::size_t i = 1; i < cuts.size(); ++i)
    pieces.push_back(slice_axis(x.array(), axis, cuts[i - 1], std::max(cuts[i - 1], cuts[i]), x.where()));
  return pieces;
}

Array pad(Arg x, PadWidth width, Arg value) {
  const LocScope scope(x.where());
  const auto& widths = width.widths();
  const int ndim = x.aval().ndim();
  if (widths.size() != 1 && widths.size() != at(ndim))
    throw ShapeError(fmt::format("pad: {} for the {} of {}; give one pair for each axis, or one for all", counted(widths.size(), "width"),
                                 counted(ndim, "axis", "axes"), to_string(x.aval())),
                     effective_loc(x.where()));
  if (value.aval().ndim() != 0)
    throw ShapeError(fmt::format("pad: the value {} is not a scalar", to_string(value.aval())), effective_loc(x.where()));
  PaddingConfig config;
  for (int d = 0; d < ndim; ++d) {
    const auto [before, after] = widths[widths.size() == 1 ? 0 : at(d)];
    if (before < 0 || after < 0)
      throw ShapeError(fmt::format("pad: width ({}, {}) of {} is negative; slice it instead", before, after, to_string(x.aval())),
                       effective_loc(x.where()));
    config.push_back({before, after, 0});
  }
  return pad_with(x.array(), convert_element_type(value.array(), x.aval().dtype, x.aval().weak, x.where()), config, x.where());
}

Array flip(Arg x, Axis axis) { return reverse(x.array(), normalize_axes(axis, x.aval().ndim(), "flip", x), x.where()); }

Array roll(Arg x, Shape shift, Axis axis) {
  const LocScope scope(x.where());
  if (shift.empty()) throw ShapeError("roll: give the number of positions to move by", effective_loc(x.where()));
  if (axis.is_none()) {
    const std::int64_t n = x.aval().size();
    std::int64_t total = 0;
    for (std::int64_t s : shift) total = n == 0 ? 0 : (total + s % n) % n;
    return reshape_to(roll(ravel(x), total, 0), x.aval().shape, x.where());
  }
  const std::size_t shifts = at(shift.size()), n = std::max(shifts, axis.axes().size());
  if ((shifts != n && shifts != 1) || (axis.axes().size() != n && axis.axes().size() != 1))
    throw ShapeError(fmt::format("roll: {} for {}; give one for each, or one for all", counted(shifts, "shift"),
                                 counted(axis.axes().size(), "axis", "axes")),
                     effective_loc(x.where()));
  Array out = x.array();
  for (std::size_t i = 0; i < n; ++i) {
    const int a = normalize_axis(axis.axes()[axis.axes().size() == 1 ? 0 : i], x.aval().ndim(), "roll", x.aval(), x.where());
    const std::int64_t size = x.aval().shape[a];
    if (size == 0) continue;
    const std::int64_t by = ((shift[shifts == 1 ? 0 : i] % size) + size) % size;
    if (by == 0) continue;
    const Array parts[] = {slice_axis(out, a, size - by, size, x.where()), slice_axis(out, a, 0, size - by, x.where())};
    out = concatenate_along(parts, a, x.where());
  }
  return out;
}

Array repeat(Arg x, Int times, std::optional<AxisNumber> axis) {
  const LocScope scope(x.where());
  const std::int64_t n = times;
  if (n < 0) throw ShapeError(fmt::format("repeat: {} can't be repeated {} times", to_string(x.aval()), n), effective_loc(x.where()));
  if (!axis) return repeat(ravel(x), n, 0);
  const int a = normalize_axis(axis_number(*axis, x.where()), x.aval().ndim(), "repeat", x.aval(), x.where());
  const Shape& shape = x.aval().shape;
  std::vector<int> dims = all_axes(shape.size());
  for (int& d : dims) d += d > a;
  return reshape_to(broadcast_in_dim(x.array(), shape.inserted(a + 1, n), dims, x.where()), shape.with(a, shape[a] * n), x.where());
}

Array tile(Arg x, Shape reps) {
  const LocScope scope(x.where());
  Shape shape = x.aval().shape;
  while (shape.size() < reps.size()) shape = shape.inserted(0, 1);
  while (reps.size() < shape.size()) reps = reps.inserted(0, 1);
  for (std::int64_t r : reps)
    if (r < 0)
      throw ShapeError(fmt::format("tile: {} can't be repeated {} times", to_string(x.aval()), to_string(reps)), effective_loc(x.where()));
  const Array aligned = reshape_to(x.array(), shape, x.where());
  if (std::all_of(reps.begin(), reps.end(), [](std::int64_t r) { return r == 1; })) return aligned;
  return tile_by(aligned, std::vector<std::int64_t>(reps.begin(), reps.end()), x.where());
}

}  // namespace weft
