#include "weft/library/jnp/positions.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "weft/core/array/constructors.h"
#include "weft/core/array/rank.h"
#include "weft/core/base/counted.h"
#include "weft/core/base/sizes.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/functions/sorting.h"
#include "weft/core/functions/wide.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"
#include "weft/library/numpy/argument_axis.h"
#include "weft/library/numpy/host_numbers.h"

namespace weft {

using detail::axis_of;
using detail::LocScope;
using detail::to_string;

namespace {

/// A number that a size depends on.
std::int64_t known(const Array& value, const char* operation, const Arg& x, const char* remedy) {
  const Array number = detail::concrete_or_empty(value);
  if (number.is_empty_handle())
    throw ConcretizationError(
        fmt::format("{}: the result's size depends on the value of {}, which is traced; {}", operation, to_string(x.aval()), remedy),
        detail::effective_loc(x.where()));
  return number.item<std::int64_t>();
}

/// Positions in the flattened array, with `fill` behind them.
Array flat_positions(const char* operation, const Arg& x, const NonzeroOptions& options, const Array& fill) {
  const Array there = ravel(x.array()) != 0;
  const std::int64_t n = there.size();
  const DType dtype = detail::position_dtype(n);
  const Array rank = cumsum(convert(there, dtype), 0);
  const std::int64_t size = options.size ? std::int64_t{*options.size}
                            : n == 0     ? 0
                                         : known(rank(-1), operation, x, "give the size: {.size = n}, or use where(condition, x, other)");
  if (size < 0) throw ShapeError(fmt::format("{}: size is {}; it must not be negative", operation, size), detail::effective_loc(x.where()));
  // Each goes to the place of its rank; the others out of bounds, where they are dropped.
  const Array place = where(there, rank - 1, size);
  return broadcast_to(fill, {size}).at(place).set(arange(n, dtype), {.mode = "drop"});
}

__extension__ typedef __int128 Wide;  // holds sums and products of sizes and diagonals

/// The positions in which the columns of row i are those from `first` + i, in a triangle up to `last` + i, of an n x m matrix.
std::array<Array, 2> band(const char* operation, std::int64_t n, std::int64_t m, Wide first, Wide last, SourceLoc loc) {
  const auto column = [m](Wide j) { return static_cast<std::int64_t>(std::clamp<Wide>(j, 0, std::max<std::int64_t>(m, 0))); };
  // The columns before `end` + i, summed over the rows before i.
  const auto columns_before = [&](Wide end) {
    const auto up_to = [&](Wide j) -> Wide { return j <= 0 ? 0 : j <= m ? j * (j + 1) / 2 : Wide{m} * (m + 1) / 2 + (j - m) * m; };
    return n <= 0 || m <= 0 ? 0 : up_to(end + n - 1) - up_to(end - 1);
  };
  const Wide count = columns_before(last + 1) - columns_before(first);
  const Wide most = std::numeric_limits<std::int64_t>::max();
  const auto numbers = static_cast<std::int64_t>(std::min(count, most));
  std::vector<std::int64_t> rows = detail::host_numbers<std::int64_t>(operation, numbers, 1, loc),
                            columns = detail::host_numbers<std::int64_t>(operation, numbers, 1, loc);
  for (std::int64_t i = static_cast<std::int64_t>(std::clamp<Wide>(-last, 0, std::max<std::int64_t>(n, 0))); i < n; ++i) {
    if (first + i >= m) break;
    for (std::int64_t j = column(first + i); j < column(last + 1 + i); ++j) rows.push_back(i), columns.push_back(j);
  }
  const Shape shape(rows.size());
  return {array(rows, shape, detail::position_dtype(n), loc), array(columns, shape, detail::position_dtype(m), loc)};
}

Array lowest_of(DType d) {
  if (d.is_floating()) return convert(Array(-std::numeric_limits<double>::infinity()), d);
  if (d.is_bool() || d.is_unsigned()) return zeros({}, d);
  return convert(Array(std::numeric_limits<std::int64_t>::min() >> (64 - 8 * d.itemsize())), d);
}
Array highest_of(DType d) {
  if (d.is_floating()) return convert(Array(std::numeric_limits<double>::infinity()), d);
  return d.is_bool() ? ones({}, d) : ~lowest_of(d);
}

/// Slices by their segments; `update` puts them into an array of neutral elements.
Array segments(const char* operation, const Arg& x, const Arg& ids, const SegmentOptions& options, const Array& neutral,
               const auto& update) {
  LocScope scope(x.where());
  const Array &values = x.array(), &of = ids.array();
  if (!of.dtype().is_integer())
    throw DTypeError(fmt::format("{}: the segment ids {} must be integers", operation, to_string(of.aval())),
                     detail::effective_loc(x.where()));
  if (of.ndim() != 1 || values.ndim() == 0 || values.shape()[0] != of.shape()[0])
    throw ShapeError(fmt::format("{}: the segment ids {} must be a vector, with one for each slice of {} along axis 0", operation,
                                 to_string(of.aval()), to_string(values.aval())),
                     detail::effective_loc(x.where()));
  const std::int64_t n = options.num_segments ? std::int64_t{*options.num_segments}
                         : of.size() == 0     ? 0
                                              : known(max(of), operation, ids, "give {.num_segments = n}") + 1;
  if (n < 0)
    throw ShapeError(fmt::format("{}: num_segments is {}; it must not be negative", operation, n), detail::effective_loc(x.where()));
  Shape shape = values.shape();
  shape[0] = n;
  // No id is a position from the end.
  const Array id = detail::positions_among(of, n, x.where()), at = where(id < 0, n, id);
  return update(broadcast_to(neutral, shape).at(at), values);
}

}  // namespace

std::vector<Array> nonzero(Arg x, NonzeroOptions options) {
  LocScope scope(x.where());
  const Shape& shape = x.array().shape();
  if (shape.empty()) throw ShapeError("nonzero: a scalar has no positions; use x != 0", detail::effective_loc(x.where()));
  const std::int64_t n = x.array().size();
  const Array flat = flat_positions("nonzero", x, options, convert(Array(n), detail::position_dtype(n)));
  const Array there = flat < n;
  std::vector<Array> out;
  std::int64_t stride = n;
  for (std::int64_t size : shape) {
    stride = size == 0 ? 1 : stride / size;
    out.push_back(
        where(there, div(flat, std::max<std::int64_t>(stride, 1)) % std::max<std::int64_t>(size, 1), std::int64_t{options.fill_value}));
  }
  return out;
}
std::vector<Array> where(Arg condition, NonzeroOptions options) { return nonzero(condition, options); }
Array argwhere(Arg x, NonzeroOptions options) { return stack(nonzero(x, options), 1); }
Array flatnonzero(Arg x, NonzeroOptions options) {
  LocScope scope(x.where());
  return flat_positions("flatnonzero", x, options,
                        convert(Array(std::int64_t{options.fill_value}), detail::position_dtype(x.array().size())));
}
Array extract(Arg condition, Arg x) { return compress(ravel(condition), ravel(x), 0); }
Array compress(Arg condition, Arg x, std::optional<AxisNumber> axis) {
  LocScope scope(x.where());
  if (!axis) return compress(condition, ravel(x), 0);
  const int a = axis_of(x, *axis, "compress");
  if (condition.array().ndim() != 1 || condition.array().shape()[0] > x.array().shape()[a])
    throw ShapeError(fmt::format("compress: the condition {} must have one dimension, no longer than axis {} of {}",
                                 to_string(condition.aval()), a, to_string(x.aval())),
                     detail::effective_loc(x.where()));
  return take(x, flat_positions("compress", condition, {}, Array(0)), a, {.mode = "promise_in_bounds"});
}

std::array<Array, 2> tril_indices(Int n, Int k, std::optional<Int> m, SourceLoc loc) {
  return band("tril_indices", n, m.value_or(n), -Wide{n}, Wide{k}, loc);
}
std::array<Array, 2> triu_indices(Int n, Int k, std::optional<Int> m, SourceLoc loc) {
  return band("triu_indices", n, m.value_or(n), Wide{k}, Wide{m.value_or(n)}, loc);
}
std::vector<Array> diag_indices(Int n, Int ndim, SourceLoc loc) {
  if (ndim < 1 || ndim > detail::kMaxRank)
    throw ShapeError(fmt::format("diag_indices: an array has 1 to {} dimensions, not {}", detail::kMaxRank, std::int64_t{ndim}),
                     detail::effective_loc(loc));
  return std::vector<Array>(static_cast<std::size_t>(std::int64_t{ndim}), arange(std::int64_t{n}, detail::position_dtype(n), loc));
}
Array indices(Shape shape, DType dtype, SourceLoc loc) {
  std::vector<Array> all;
  for (int d = 0; d < shape.size(); ++d) all.push_back(iota(dtype, shape, d, loc));
  return all.empty() ? zeros({0}, dtype, loc) : stack(all, 0, loc);
}
std::pair<Array, Array> ix_(Arg rows, Arg columns) {
  const std::vector<Array> both = ix_({std::move(rows), std::move(columns)});
  return {both[0], both[1]};
}
std::vector<Array> ix_(Args positions) {
  const std::vector<Arg>& all = positions.args();
  std::vector<Array> out;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (all[k].array().ndim() != 1)
      throw ShapeError(fmt::format("ix_: {} is not a vector", to_string(all[k].aval())), detail::effective_loc(all[k].where()));
    Shape shape;
    for (std::size_t d = 0; d < all.size(); ++d) shape.push_back(d == k ? all[k].array().size() : 1);
    out.push_back(reshape(all[k], shape));
  }
  return out;
}
std::vector<Array> unravel_index(Arg positions, Shape shape) {
  LocScope scope(positions.where());
  const std::int64_t n = shape.num_elements();
  const Array given = positions.array();
  if (!given.dtype().is_integer() || n == 0)
    throw ShapeError(fmt::format("unravel_index: {} are not positions in an array of shape {}", to_string(given.aval()), to_string(shape)),
                     detail::effective_loc(positions.where()));
  const Array at = detail::positions_among(given, n, positions.where()), flat = clip(where(at < 0, at + n, at), 0, n - 1);
  std::vector<Array> out;
  std::int64_t stride = n;
  for (std::int64_t size : shape) {
    stride /= size;
    out.push_back(div(flat, stride) % size);
  }
  return out;
}
Array ravel_multi_index(Args positions, Shape shape) {
  const std::vector<Arg>& all = positions.args();
  if (all.size() != static_cast<std::size_t>(shape.size()) || all.empty())
    throw ShapeError(fmt::format("ravel_multi_index: {} of positions for the {} of {}", detail::counted(all.size(), "array"),
                                 detail::counted(shape.size(), "dimension"), to_string(shape)));
  LocScope scope(all[0].where());
  const std::int64_t n = shape.num_elements();
  Array flat = 0;
  for (int d = 0; d < shape.size(); ++d) {
    const Arg& along = all[static_cast<std::size_t>(d)];
    flat = flat * shape[d] + clip(detail::positions_among(along.array(), n, along.where()), 0, std::max<std::int64_t>(shape[d], 1) - 1);
  }
  return flat;
}

Array put_along_axis(Arg x, Arg given, Arg values, AxisNumber axis) {
  LocScope scope(x.where());
  const Array& a = x.array();
  const int dim = axis_of(x, axis, "put_along_axis");
  if (given.array().ndim() != a.ndim())
    throw ShapeError(
        fmt::format("put_along_axis: the indices {} must have as many dimensions as {}", to_string(given.aval()), to_string(x.aval())),
        detail::effective_loc(x.where()));
  Shape shape = a.shape();
  shape[dim] = given.array().shape()[dim];
  // Along the axis it stands in front, the others run along.
  const Array index = moveaxis(broadcast_to(given, shape), dim, -1), value = moveaxis(broadcast_to(values, shape), dim, -1);
  const Array operand = moveaxis(a, dim, -1);
  const std::int64_t rows = operand.size() / std::max<std::int64_t>(a.shape()[dim], 1);
  const std::int64_t each = shape[dim];
  if (each == 0 || operand.size() == 0) return a;
  const Array row = broadcast_to(expand_dims(arange(rows), 1), {rows, each});
  const Array out = reshape(operand, {rows, a.shape()[dim]})
                        .at(row, reshape(index, {rows, each}))
                        .set(convert(reshape(value, {rows, each}), a.dtype()), {.mode = "drop"});
  return moveaxis(reshape(out, operand.shape()), -1, dim);
}
Array fill_diagonal(Arg x, Arg value) {
  LocScope scope(x.where());
  const Array& a = x.array();
  if (a.ndim() < 2)
    throw ShapeError(fmt::format("fill_diagonal: {} has no diagonal", to_string(x.aval())), detail::effective_loc(x.where()));
  std::int64_t n = a.shape()[0];
  for (std::int64_t size : a.shape()) n = std::min(n, size);
  if (n == 0) return a;
  std::int64_t step = 0;
  for (std::int64_t size : a.shape()) step = step * size + 1;
  Array v = ravel(value);
  if (v.size() != 1 && v.size() != n) v = take(v, arange(n) % v.size());
  return reshape(ravel(a).at(arange(n) * step).set(convert(v, a.dtype()), {.mode = "drop"}), a.shape());
}
Array choose(Arg which, Args choices) {
  LocScope scope(which.where());
  const std::vector<Arg>& all = choices.args();
  if (all.empty()) throw ShapeError("choose: there are no choices; give at least one", detail::effective_loc(which.where()));
  Array result = all[0].array();
  for (std::size_t k = 1; k < all.size(); ++k) result = where(which.array() >= static_cast<int>(k), all[k], result);
  return result;
}

Array dynamic_slice_in_dim(Arg x, Arg start, Int size, AxisNumber axis) {
  LocScope scope(x.where());
  const int a = axis_of(x, axis, "dynamic_slice_in_dim");
  std::vector<Array> starts(static_cast<std::size_t>(x.array().ndim()), Array(0));
  starts[static_cast<std::size_t>(a)] = start.array();
  Shape sizes = x.array().shape();
  sizes[a] = size;
  return dynamic_slice(x, starts, sizes);
}
Array dynamic_index_in_dim(Arg x, Arg index, AxisNumber axis, bool kept) {
  LocScope scope(x.where());
  const int a = axis_of(x, axis, "dynamic_index_in_dim");
  const Array one = dynamic_slice_in_dim(x, index, 1, a);
  return kept ? one : squeeze(one, a);
}
Array dynamic_update_slice_in_dim(Arg x, Arg update, Arg start, AxisNumber axis) {
  LocScope scope(x.where());
  const int a = axis_of(x, axis, "dynamic_update_slice_in_dim");
  std::vector<Array> starts(static_cast<std::size_t>(x.array().ndim()), Array(0));
  starts[static_cast<std::size_t>(a)] = start.array();
  return dynamic_update_slice(x, update, starts);
}
Array dynamic_update_index_in_dim(Arg x, Arg update, Arg index, AxisNumber axis) {
  LocScope scope(x.where());
  const int a = axis_of(x, axis, "dynamic_update_index_in_dim");
  const Array v = update.array().ndim() == x.array().ndim() ? update.array() : Array(expand_dims(update, a));
  return dynamic_update_slice_in_dim(x, v, index, a);
}
Array slice_in_dim(Arg x, std::optional<Int> start, std::optional<Int> limit, Int stride, AxisNumber axis) {
  LocScope scope(x.where());
  const int a = axis_of(x, axis, "slice_in_dim");
  if (stride < 1)
    throw ShapeError(fmt::format("slice_in_dim: the stride is {}; it must be at least 1", std::int64_t{stride}),
                     detail::effective_loc(x.where()));
  const auto bound = [](const std::optional<Int>& b) { return b ? Slice::Bound(std::int64_t{*b}) : Slice::Bound(none); };
  return moveaxis(moveaxis(x, a, 0)[Slice(bound(start), bound(limit), std::int64_t{stride})], 0, a);
}
Array index_in_dim(Arg x, Int index, AxisNumber axis, bool kept) {
  LocScope scope(x.where());
  const int a = axis_of(x, axis, "index_in_dim");
  const Array slice_there = moveaxis(x, a, 0)[std::int64_t{index}];
  return kept ? Array(expand_dims(slice_there, a)) : slice_there;
}

Array segment_sum(Arg x, Arg ids, SegmentOptions options) {
  const DType dtype = x.array().dtype();
  return segments("segment_sum", x, ids, options, zeros({}, detail::wide_dtype(dtype)),
                  [&](const AtIndex& at, const Array& v) { return detail::as_dtype(at.add(detail::as_wide(v)), dtype); });
}
Array segment_prod(Arg x, Arg ids, SegmentOptions options) {
  return segments("segment_prod", x, ids, options, ones({}, x.array().dtype()),
                  [](const AtIndex& at, const Array& v) { return at.multiply(v); });
}
Array segment_max(Arg x, Arg ids, SegmentOptions options) {
  return segments("segment_max", x, ids, options, lowest_of(x.array().dtype()),
                  [](const AtIndex& at, const Array& v) { return at.max(v); });
}
Array segment_min(Arg x, Arg ids, SegmentOptions options) {
  return segments("segment_min", x, ids, options, highest_of(x.array().dtype()),
                  [](const AtIndex& at, const Array& v) { return at.min(v); });
}

}  // namespace weft
