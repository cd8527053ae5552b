// Sorts and top_k on a GPU: long lines by digits (radix.h), short ones by rounds of compare and exchange.
#include <algorithm>
#include <bit>

#include "weft/backends/cuda/expand.h"
#include "weft/backends/cuda/radix.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/control.h"
#include "weft/core/ops/movement/gather.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

/// The elements at positions along an axis, the same ones for all other coordinates.
Array picked(const Array& x, const Array& positions, int axis) {
  Gather::Params p;
  p.mode = GatherScatterMode::promise_in_bounds;
  p.slice_sizes = x.shape().with(axis, 1);
  p.dimension_numbers.collapsed_slice_dims = p.dimension_numbers.start_index_map = {axis};
  for (int d = 0; d < x.ndim(); ++d)
    if (d != axis) p.dimension_numbers.offset_dims.push_back(d);
  return bind_one<Gather>(p, {x, reshape_to(positions, {positions.shape()[0], 1}, {})}, {});
}

/// Real numbers whose order is the key's: a complex number is two of them.
std::vector<Array> parts_of(const Array& key) {
  if (key.dtype().is_complex()) return {real(key), imag(key)};
  if (key.dtype().is_bool()) return {convert(key, int32)};
  return {key};
}

/// Whether a comes before b, of two different elements: by keys, then by position (the last array). NaN comes after all numbers.
Array precedes(std::span<const Array> a, std::span<const Array> b, bool descending) {
  Array result = a.back() < b.back();
  for (std::size_t k = a.size() - 1; k-- > 0;) {
    const std::vector<Array> x = parts_of(descending ? b[k] : a[k]), y = parts_of(descending ? a[k] : b[k]);
    for (std::size_t part = x.size(); part-- > 0;) {
      Array less = x[part] < y[part], same = x[part] == y[part];
      if (x[part].dtype().is_floating()) {
        const Array nan_x = isnan(x[part]), nan_y = isnan(y[part]);
        less = less | (~nan_x & nan_y), same = same | (nan_x & nan_y);
      }
      result = less | (same & result);
    }
  }
  return result;
}

/// Sorts the keys and the positions (the last array) along an axis.
std::vector<Array> sorted(std::vector<Array> state, int axis, bool descending) {
  const std::int64_t n = state[0].shape()[axis];
  if (n < 2) return state;
  // In each round element i meets i ^ mask. The first rounds of a merge meet from its two ends, so that all rounds put the smaller element
  // in front and missing elements behind the last one need not be there.
  std::vector<std::int32_t> masks;
  for (std::int64_t run = 2; run < 2 * n; run *= 2) {
    masks.push_back(static_cast<std::int32_t>(run - 1));
    for (std::int64_t apart = run / 4; apart > 0; apart /= 2) masks.push_back(static_cast<std::int32_t>(apart));
  }
  std::vector<Aval> inputs = avals_of(state);
  inputs.push_back(Aval{{}, int32});
  const Jaxpr round = trace_jaxpr({"a round of sorting", inputs, {}}, [&](std::span<const Array> xs) {
    const std::span<const Array> own = xs.first(xs.size() - 1);
    const Array i = iota_array(int32, {n}, 0, {}), met = i ^ xs.back();
    const Array there = met < scalar_like(met, static_cast<double>(n)), partner = where(there, met, i);
    std::vector<Array> other, result;
    for (const Array& x : own) other.push_back(picked(x, partner, axis));
    const auto along = [&](const Array& v) { return broadcast_in_dim(v, own[0].shape(), {axis}, {}); };
    const Array in_front = along(i < partner), exchange = along(there) & (precedes(other, own, descending) == in_front);
    for (std::size_t k = 0; k < own.size(); ++k) result.push_back(where(exchange, other[k], own[k]));
    return result;
  });
  const auto rounds = static_cast<std::int64_t>(masks.size());
  const int carried = static_cast<int>(state.size());
  state.push_back(array_of_elements(masks.data(), int32, rounds, {rounds}, {}, {}));
  return bind_all<Scan>({.jaxpr = round, .length = rounds, .num_carry = carried, .num_consts = 0}, state, {});
}

constexpr std::int64_t kFewInRounds = 128;  // lines up to this length are sorted by rounds

Array unsigned_like(const Array& codes, std::uint64_t v) { return make_literal(Number(v), codes.dtype(), false); }

/// Unsigned numbers of 32 or 64 bits in the order of real ones, of which the low `bits` count: those of NaN are the greatest, those of -0
/// and 0 are equal. `descending`: in the opposite order.
Array codes_of(const Array& x, bool descending, int& bits) {
  const DType t = x.dtype();
  bits = 8 * t.itemsize();
  const DType narrow = bits == 8 ? uint8 : bits == 16 ? uint16 : bits == 32 ? uint32 : uint64, wide = bits == 64 ? uint64 : uint32;
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1), all = sign | (sign - 1);
  Array code = t.is_bool() ? convert(x, wide) : convert(bitcast_convert(x, narrow), wide);
  if (t.is_floating()) {
    const std::uint64_t infinity = t == float16 ? 0x7c00 : t == bfloat16 ? 0x7f80 : t == float32 ? 0x7f800000 : 0x7ff0000000000000;
    const Array magnitude = code & unsigned_like(code, all ^ sign), zero = unsigned_like(code, 0);
    const Array negative = (code & unsigned_like(code, sign)) != zero;
    code = where(negative, code ^ unsigned_like(code, all), code | unsigned_like(code, sign));
    code = where(magnitude == zero, unsigned_like(code, sign), code);
    code = where(magnitude > unsigned_like(code, infinity), unsigned_like(code, all), code);
  } else if (t.is_signed()) {
    code = code ^ unsigned_like(code, sign);
  }
  return descending ? code ^ unsigned_like(code, all) : code;
}
/// The integer or bool whose code it is.
Array number_of(const Array& code, DType t) {
  const int bits = 8 * t.itemsize();
  if (t.is_bool()) return code != unsigned_like(code, 0);
  const DType narrow = bits == 8 ? uint8 : bits == 16 ? uint16 : bits == 32 ? uint32 : uint64;
  const Array own = t.is_signed() ? code ^ unsigned_like(code, std::uint64_t{1} << (bits - 1)) : code;
  return bitcast_convert(convert(own, narrow), t);
}

/// Lines along an axis, one below the other, and back.
struct AsLines {
  AsLines(const Shape& s, int along) : shape(s.erased(along).inserted(s.size() - 1, s[along])), axis(along) {}
  Array lines(const Array& x) const {
    return reshape_to(move_axis(x, axis, x.ndim() - 1, {}), {shape.num_elements() / shape.back(), shape.back()}, {});
  }
  Array back(const Array& x) const { return move_axis(reshape_to(x, shape, {}), shape.size() - 1, axis, {}); }
  Shape shape;
  int axis;
};

/// The positions of an axis in the order of the keys, the last key first: each pass keeps the order of those behind it.
Array ordered_positions(std::span<const Array> keys, int axis, bool descending) {
  const AsLines as(keys[0].shape(), axis);
  std::optional<Array> positions;
  for (std::size_t k = keys.size(); k-- > 0;) {
    const std::vector<Array> parts = parts_of(keys[k]);
    for (std::size_t part = parts.size(); part-- > 0;) {
      RadixOrder::Params p;
      Array codes = as.lines(codes_of(parts[part], descending, p.bits));
      if (positions) codes = gather_along(codes, *positions, 1, {});
      positions = positions ? bind_one<RadixOrder>(p, {codes, *positions}, {}) : bind_one<RadixOrder>(p, {codes}, {});
    }
  }
  return as.back(*positions);
}

bool goes_by_digits(const Shape& shape, int axis) { return shape[axis] > kFewInRounds && shape[axis] < (std::int64_t{1} << 31); }

std::vector<Array> sort_by_digits(const Sort::Params& p, std::span<const Array> operands) {
  const DType t = operands[0].dtype();
  if (operands.size() == 1 && (t.is_integer() || t.is_bool())) {
    const AsLines as(operands[0].shape(), p.dimension);
    RadixOrder::Params codes_alone{.positions = false};
    const Array codes = as.lines(codes_of(operands[0], false, codes_alone.bits));
    return {as.back(number_of(bind_one<RadixOrder>(codes_alone, {codes}, {}), t))};
  }
  const Array positions = ordered_positions(operands.first(static_cast<std::size_t>(p.num_keys)), p.dimension, false);
  std::vector<Array> result;
  for (const Array& x : operands) result.push_back(gather_along(x, positions, p.dimension, {}));
  return result;
}

}  // namespace

std::vector<Array> sort_on_gpu(const Sort::Params& p, std::span<const Array> operands) {
  return goes_by_digits(operands[0].shape(), p.dimension) ? sort_by_digits(p, operands) : sort_by_rounds(p, operands);
}

std::vector<Array> top_k_on_gpu(const TopKLargest::Params& p, const Array& x) {
  if (!goes_by_digits(x.shape(), p.axis)) return top_k_by_rounds(p, x);
  const Array positions = slice_axis(ordered_positions(std::span(&x, 1), p.axis, true), p.axis, 0, p.k, {});
  return {gather_along(x, positions, p.axis, {}), positions};
}

std::vector<Array> sort_by_rounds(const Sort::Params& p, std::span<const Array> operands) {
  const auto keys = static_cast<std::size_t>(p.num_keys);
  std::vector<Array> state(operands.begin(), operands.begin() + p.num_keys);
  state.push_back(iota_array(int32, operands[0].shape(), p.dimension, {}));
  std::vector<Array> result = sorted(std::move(state), p.dimension, false);
  const Array positions = result.back();
  result.pop_back();
  for (std::size_t k = keys; k < operands.size(); ++k) result.push_back(gather_along(operands[k], positions, p.dimension, {}));
  return result;
}

std::vector<Array> top_k_by_rounds(const TopKLargest::Params& p, const Array& x) {
  const std::vector<Array> result = sorted({x, iota_array(int32, x.shape(), p.axis, {})}, p.axis, true);
  return {slice_axis(result[0], p.axis, 0, p.k, {}), slice_axis(result[1], p.axis, 0, p.k, {})};
}

}  // namespace weft::detail
