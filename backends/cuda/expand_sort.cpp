#include <algorithm>
#include <bit>

#include "backends/cuda/expand.h"
#include "core/constructors.h"
#include "core/elementwise.h"
#include "core/ops/common.h"
#include "core/ops/control.h"
#include "core/ops/gather.h"
#include "core/ops/index_rules.h"
#include "core/ops/movement.h"
#include "core/trace.h"

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
  std::vector<Aval> inputs;
  for (const Array& x : state) inputs.push_back(x.aval());
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

}  // namespace

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
