#include "weft/library/jnp/editing.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/movement/sort.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/further_arguments.h"
#include "weft/library/jnp/positions.h"
#include "weft/library/numpy/argument_axis.h"
#include "weft/library/numpy/host_numbers.h"

namespace weft {

using detail::axis_of;
using detail::LocScope;
using detail::to_string;

namespace {

/// The array and the axis, or the flattened array and 0.
struct Along {
  Array x;
  int axis;
};
Along along(const Arg& x, std::optional<AxisNumber> axis, const char* operation) {
  if (axis) return {x.array(), axis_of(x, *axis, operation)};
  return {ravel(x), 0};
}
/// With the axis in front, for one function of the first axis, and back.
Array with_axis_in_front(const Array& x, int axis, const auto& f) { return moveaxis(f(moveaxis(x, axis, 0)), 0, axis); }

/// n of the elements of a vector, in turn.
Array in_turn(const char* operation, const Arg& values, std::int64_t n, DType dtype, SourceLoc loc) {
  const Array v = convert(ravel(values), dtype);
  if (v.size() == 0)
    throw ShapeError(fmt::format("{}: there are no values to put in; give at least one", operation), detail::effective_loc(loc));
  return tile(v, {(n + v.size() - 1) / v.size()})(slice(0, n));
}
void check_integers(const char* operation, const Arg& x) {
  if (!x.array().dtype().is_integer())
    throw DTypeError(fmt::format("{}: the positions {} must be integers", operation, to_string(x.aval())),
                     detail::effective_loc(x.where()));
}
/// Whether bits come with the lowest first.
bool lowest_first(const BitOptions& options, const char* operation, SourceLoc loc) {
  if (options.bitorder != "big" && options.bitorder != "little")
    throw Error(fmt::format("{}: unknown bitorder `{}`; available: big, little", operation, options.bitorder), detail::effective_loc(loc));
  return options.bitorder == "little";
}
/// What moves each bit to its place, along the last axis.
Array bit_places(bool lowest) { return lowest ? arange(0, 8, 1, uint8) : arange(7, -1, -1, uint8); }

std::int64_t position_of(const Arg& x, std::int64_t kth, int axis, const char* operation) {
  const std::int64_t n = x.array().shape()[axis], k = kth < 0 ? kth + n : kth;
  if (k < 0 || k >= n)
    throw AxisError(fmt::format("{}: kth is {}, but axis {} of {} has {} elements", operation, kth, axis, to_string(x.aval()), n),
                    detail::effective_loc(x.where()));
  if (x.array().dtype().is_complex())
    throw DTypeError(fmt::format("{}: complex numbers have no order: {}", operation, to_string(x.aval())),
                     detail::effective_loc(x.where()));
  return k;
}

}  // namespace

Array insert(Arg x, Arg positions, Arg values, std::optional<AxisNumber> axis) {
  LocScope scope(x.where());
  const auto [a, dim] = along(x, axis, "insert");
  check_integers("insert", positions);
  const Array given = positions.array();
  if (given.ndim() > 1)
    throw ShapeError(fmt::format("insert: the positions {} must be a scalar or a vector", to_string(given.aval())),
                     detail::effective_loc(x.where()));
  Array v = convert(values, a.dtype());
  while (v.ndim() < a.ndim()) v = expand_dims(v, 0);
  if (v.ndim() > a.ndim())
    throw ShapeError(fmt::format("insert: the values {} have more dimensions than {}", to_string(values.aval()), to_string(a.aval())),
                     detail::effective_loc(x.where()));
  // As in NumPy: for a single position the values' first axis runs along the axis.
  if (given.ndim() == 0) v = moveaxis(v, 0, dim);
  Array at = given.size() == 1 ? broadcast_to(reshape(given, {1}), {v.shape()[dim]}) : given;
  const std::int64_t n = a.shape()[dim], more = std::max(at.size(), v.shape()[dim]);
  const DType position = detail::position_dtype(n + more);
  at = detail::saturated(broadcast_to(at, {more}), position, x.where());
  at = clip(where(at < 0, at + n, at), 0, n);
  const Array place = at.at(argsort(at)).add(arange(more, position));
  const Array old = nonzero(ones({n + more}, bool_).at(place).set(false), {.size = n})[0];
  Shape shape = a.shape();
  shape[dim] = more;
  const Array put_in = moveaxis(broadcast_to(v, shape), dim, 0), kept = moveaxis(a, dim, 0);
  shape = kept.shape();
  shape[0] = n + more;
  return moveaxis(zeros(shape, a.dtype()).at(place).set(put_in).at(old).set(kept), 0, dim);
}
Array delete_(Arg x, Arg positions, std::optional<AxisNumber> axis) {
  LocScope scope(x.where());
  const auto [a, dim] = along(x, axis, "delete_");
  const std::int64_t n = a.shape()[dim];
  const Array known = detail::concrete_or_empty(positions.array());
  if (known.is_empty_handle())
    throw ConcretizationError(fmt::format("delete_: the result's size depends on the positions {}, which are traced; leave elements out by "
                                          "where, or take those that stay by x(positions)",
                                          to_string(positions.aval())),
                              detail::effective_loc(x.where()));
  std::vector<bool> stays(static_cast<std::size_t>(n), true);
  if (known.dtype().is_bool()) {
    if (known.ndim() != 1 || known.size() != n)
      throw ShapeError(fmt::format("delete_: the mask {} must be a vector of {} bools, one for each slice of {} along axis {}",
                                   to_string(known.aval()), n, to_string(a.aval()), dim),
                       detail::effective_loc(x.where()));
    const std::vector<bool> mask = known.to_vector<bool>();
    for (std::size_t i = 0; i < mask.size(); ++i) stays[i] = !mask[i];
  } else {
    check_integers("delete_", positions);
    for (std::int64_t i : known.to_vector<std::int64_t>()) {
      const std::int64_t at = i < 0 ? i + n : i;
      if (at < 0 || at >= n)
        throw AxisError(fmt::format("delete_: position {} is out of bounds along axis {} of {}", i, dim, to_string(a.aval())),
                        detail::effective_loc(x.where()));
      stays[static_cast<std::size_t>(at)] = false;
    }
  }
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < n; ++i)
    if (stays[static_cast<std::size_t>(i)]) kept.push_back(i);
  return take(a, array(kept, Shape(kept.size()), detail::position_dtype(n)), dim, {.mode = "promise_in_bounds"});
}
Array put(Arg x, Arg positions, Arg values, PutOptions options) {
  LocScope scope(x.where());
  check_integers("put", positions);
  const Array flat = ravel(x);
  const std::int64_t n = flat.size();
  Array at = detail::index_type(ravel(positions), x.where());
  if (n == 0 || at.size() == 0) return x.array();
  if (options.mode == "clip")
    at = clip(at, 0, n - 1);
  else if (options.mode == "wrap")
    at = remainder(at, n);
  else if (options.mode != "drop")
    throw Error(fmt::format("put: unknown mode `{}`; available: drop, clip, wrap", options.mode), detail::effective_loc(x.where()));
  return reshape(flat.at(at).set(in_turn("put", values, at.size(), flat.dtype(), x.where()), {.mode = "drop"}), x.array().shape());
}
Array place(Arg x, Arg mask, Arg values) {
  LocScope scope(x.where());
  const std::int64_t n = x.array().size();
  if (mask.array().size() != n)
    throw ShapeError(fmt::format("place: the mask {} must have as many elements as {}", to_string(mask.aval()), to_string(x.aval())),
                     detail::effective_loc(x.where()));
  if (n == 0) return x.array();
  const Array there = ravel(mask) != 0, v = in_turn("place", values, n, x.array().dtype(), x.where());
  return reshape(where(there, v(maximum(cumsum(convert(there, int32)) - 1, 0)), ravel(x)), x.array().shape());
}
Array resize(Arg x, Shape shape) {
  LocScope scope(x.where());
  for (std::int64_t d : shape)
    if (d < 0) throw ShapeError(fmt::format("resize: shape {} has a negative size", to_string(shape)), detail::effective_loc(x.where()));
  const std::int64_t n = shape.num_elements();
  if (x.array().size() == 0 || n == 0) return zeros(shape, x.array().dtype());
  return reshape(in_turn("resize", x, n, x.array().dtype(), x.where()), shape);
}
Array trim_zeros(Arg x, TextArg trim) { return trim_zeros(std::move(x), trim, none); }
Array trim_zeros(Arg x, TextArg ends, Axis axis) {
  const std::string& trim = ends.str();
  LocScope scope(x.where());
  const bool front = trim.find_first_of("fF") != std::string::npos, back = trim.find_first_of("bB") != std::string::npos;
  const Array known = detail::concrete_or_empty(x.array());
  if (known.is_empty_handle())
    throw ConcretizationError(fmt::format("trim_zeros: the result's size depends on the value of {}, which is traced", to_string(x.aval())),
                              detail::effective_loc(x.where()));
  Array out = x.array();
  for (int dim : detail::resolve_axes(axis, x, "trim_zeros")) {
    std::vector<int> others;
    for (int d = 0; d < known.ndim(); ++d)
      if (d != dim) others.push_back(d);
    const std::vector<bool> used = (others.empty() ? known != 0 : any(known != 0, others)).to_vector<bool>();
    const auto first = std::find(used.begin(), used.end(), true);
    const auto last = std::find(used.rbegin(), used.rend(), true);
    std::int64_t start = 0, stop = static_cast<std::int64_t>(used.size());
    if (first == used.end()) {
      if (front || back) stop = 0;
    } else {
      if (front) start = first - used.begin();
      if (back) stop = used.rend() - last;
    }
    out = with_axis_in_front(out, dim, [&](const Array& v) { return v(slice(start, stop)); });
  }
  return out;
}
std::vector<Array> dsplit(Arg x, Int sections) {
  LocScope scope(x.where());
  if (x.array().ndim() < 3)
    throw ShapeError(fmt::format("dsplit: {} must have three dimensions", to_string(x.aval())), detail::effective_loc(x.where()));
  return split(x, static_cast<int>(std::int64_t{sections}), 2);
}

Array partition(Arg x, Int kth, AxisNumber axis) {
  LocScope scope(x.where());
  const int dim = axis_of(x, axis, "partition");
  const std::int64_t k = position_of(x, kth, dim, "partition");
  // What is behind comes as JAX has it: the largest first.
  return with_axis_in_front(sort(x, dim), dim,
                            [&](const Array& v) { return concatenate({v(slice(0, k + 1)), flip(v(slice(k + 1, none)), 0)}); });
}
Array argpartition(Arg x, Int kth, AxisNumber axis) {
  LocScope scope(x.where());
  const int dim = axis_of(x, axis, "argpartition");
  const std::int64_t k = position_of(x, kth, dim, "argpartition");
  // What is behind comes as JAX has it: in x's order.
  return with_axis_in_front(argsort(x, dim), dim,
                            [&](const Array& v) { return concatenate({v(slice(0, k + 1)), sort(v(slice(k + 1, none)), 0)}); });
}
Array sort_complex(Arg x) {
  LocScope scope(x.where());
  const DType d = x.array().dtype();
  return convert(sort(x), d.is_complex() ? d : d == float64 || d == int64 || d == uint64 ? complex128 : complex64);
}
std::vector<Array> sort_operands(Args operands, SortOperandsOptions options) {
  const std::vector<Arg>& all = operands.args();
  if (all.empty()) throw ShapeError("sort_operands: there are no operands; give at least one");
  LocScope scope(all[0].where());
  const std::int64_t keys = options.num_keys;
  if (keys < 1 || keys > static_cast<std::int64_t>(all.size()))
    throw Error(fmt::format("sort_operands: num_keys is {}; it must be from 1 to {}, the number of operands", keys, all.size()),
                detail::effective_loc(all[0].where()));
  std::vector<Array> xs;
  for (const Arg& x : all) {
    if (x.array().shape() != all[0].array().shape())
      throw ShapeError(fmt::format("sort_operands: {} and {} must have the same shape", to_string(all[0].aval()), to_string(x.aval())),
                       detail::effective_loc(x.where()));
    xs.push_back(x.array());
  }
  const int dim = axis_of(all[0], options.dimension, "sort_operands");
  return detail::bind_all<detail::Sort>({dim, true, static_cast<int>(keys)}, xs, all[0].where());
}
SortedPairs sort_key_val(Arg keys, Arg values, AxisNumber axis) {
  const std::vector<Array> r = sort_operands({keys, values}, {.dimension = axis});
  return {r[0], r[1]};
}

Array packbits(Arg x, BitOptions options) {
  LocScope scope(x.where());
  const bool lowest = lowest_first(options, "packbits", x.where());
  if (!x.array().dtype().is_integer() && !x.array().dtype().is_bool())
    throw DTypeError(fmt::format("packbits: {} must be integers or bools", to_string(x.aval())), detail::effective_loc(x.where()));
  const auto [a, dim] = along(x, options.axis, "packbits");
  Array bits = convert(moveaxis(a, dim, -1) != 0, uint8);
  Shape shape = bits.shape();
  const std::int64_t n = shape[-1], bytes = (n + 7) / 8;
  if (n % 8) {
    shape[-1] = 8 * bytes - n;
    bits = concatenate({bits, zeros(shape, uint8)}, -1);
  }
  shape[-1] = bytes;
  shape.push_back(8);
  return moveaxis(convert(sum(reshape(bits, shape) << bit_places(lowest), -1), uint8), -1, dim);
}
Array unpackbits(Arg x, BitOptions options) {
  LocScope scope(x.where());
  const bool lowest = lowest_first(options, "unpackbits", x.where());
  if (x.array().dtype() != uint8)
    throw DTypeError(fmt::format("unpackbits: {} must be uint8", to_string(x.aval())), detail::effective_loc(x.where()));
  const auto [a, dim] = along(x, options.axis, "unpackbits");
  const Array bytes = moveaxis(a, dim, -1);
  Array bits = shift_right_logical(expand_dims(bytes, -1), bit_places(lowest)) & convert(Array(1), uint8);
  Shape shape = bytes.shape();
  shape[-1] *= 8;
  bits = reshape(bits, shape);
  if (options.count) {
    const std::int64_t n = shape[-1],
                       count = *options.count < 0 ? std::max<std::int64_t>(0, n + *options.count) : std::int64_t{*options.count};
    if (count > n) {
      shape[-1] = count - n;
      bits = concatenate({bits, zeros(shape, uint8)}, -1);
    } else {
      bits = bits(ellipsis, slice(0, count));
    }
  }
  return moveaxis(bits, -1, dim);
}

Array empty_like(Arg x, std::optional<DType> dtype) { return zeros_like(std::move(x), dtype); }
Array spacing(Arg x) {
  LocScope scope(x.where());
  const Array v = detail::to_inexact(x);
  if (v.dtype().is_complex())
    throw DTypeError(fmt::format("spacing: {} is complex", to_string(x.aval())), detail::effective_loc(x.where()));
  const Array infinity = detail::scalar_like(v, std::numeric_limits<double>::infinity());
  // As NumPy has it: upwards for float16, away from 0 for the others.
  if (v.dtype() == float16) return nextafter(v, infinity) - v;
  return nextafter(v, copysign(infinity, v)) - v;
}

}  // namespace weft
