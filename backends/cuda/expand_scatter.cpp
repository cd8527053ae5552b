// Scatters in which the last of several updates to a position counts: all others are left out, as a GPU's threads keep no order among them.
#include <algorithm>

#include "weft/backends/cuda/expand.h"
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/permutation.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/index_rules.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/reduce/reduce.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kFewInOrder = 16;  // up to this many updates, one thread is faster than several kernels
constexpr std::int64_t kFewPairs = 1024;  // up to this many updates, each is compared with all others

/// Which dimensions of the indices belong to a batch of the operand: updates that differ there never meet.
std::vector<bool> apart(const IndexedGeometry& g) {
  std::vector<bool> out(g.batch_dims.size());
  for (const IndexedDim& d : g.dims)
    if (d.batch_dim >= 0) out[static_cast<std::size_t>(d.batch_dim)] = true;
  return out;
}

Array scalar_of(DType t, std::int64_t value) { return make_literal(Number(value), t, false); }

/// A one-dimensional array, scattered into or gathered from by positions of any shape. Those outside are left out, and give the fill value.
ScatterDimensionNumbers scatter_dims() {
  ScatterDimensionNumbers n;
  n.inserted_window_dims = n.scatter_dims_to_operand_dims = {0};
  return n;
}
Array elements_at(const Array& x, const Array& at, std::int64_t fill) {
  Gather::Params p;
  p.dimension_numbers.collapsed_slice_dims = p.dimension_numbers.start_index_map = {0};
  p.slice_sizes = {1};
  p.fill_value = FillValue::of(fill);
  return bind_one<Gather>(p, {x, reshape_to(at, at.shape().inserted(at.ndim(), 1), {})}, {});
}

}  // namespace

bool has_scatter_of_last_updates(const Scatter::Params& p, std::span<const Aval> in) {
  if (p.update_jaxpr.jaxpr || p.unique_indices || in[1].dtype == uint64) return false;
  const IndexedGeometry g = scatter_geometry(p.dimension_numbers, in[0].ndim(), in[2].shape);
  const std::vector<bool> batch = apart(g);
  std::int64_t many = 1;
  for (std::size_t k = 0; k < batch.size(); ++k)
    if (!batch[k]) many *= in[1].shape[static_cast<int>(k)];
  if (many <= kFewInOrder) return false;
  // Windows that begin at different positions may still overlap, unless they are single elements or whole dimensions.
  bool indexed = false;
  for (std::size_t d = 0; d < g.dims.size(); ++d) {
    if (g.dims[d].component < 0) continue;
    indexed = true;
    if (g.dims[d].window > 1 && g.dims[d].window < in[0].shape[static_cast<int>(d)]) return false;
  }
  return indexed;
}

Array scatter_of_last_updates(const Scatter::Params& p, const Array& operand, const Array& indices, const Array& updates) {
  const IndexedGeometry g = scatter_geometry(p.dimension_numbers, operand.ndim(), updates.shape());
  const std::vector<bool> batch = apart(g);
  const int vector = indices.ndim() - 1;
  const Shape all = indices.shape().erased(vector);

  // One number for each place, -1: outside.
  const bool narrow = indices.dtype() != uint32 && indices.dtype().itemsize() <= 4 && operand.aval().size() < (std::int64_t{1} << 31);
  const DType type = narrow ? int32 : int64;
  std::vector<Array> starts(static_cast<std::size_t>(indices.shape()[vector]));
  Array key = full(all, 0, type), inside = full(all, true);
  std::int64_t places = 1;
  for (std::size_t d = 0; d < g.dims.size(); ++d) {
    const int component = g.dims[d].component;
    if (component < 0) continue;
    const std::int64_t limit = operand.shape()[static_cast<int>(d)] - g.dims[d].window;
    const Array low = scalar_of(type, 0), high = scalar_of(type, limit);
    Array start = reshape_to(convert(slice_axis(indices, vector, component, component + 1, {}), type), all, {});
    if (p.mode == GatherScatterMode::clip)
      start = clamp(low, start, high);
    else
      inside = inside & (start >= low) & (start <= high);
    key = key * scalar_of(type, limit + 1) + start;
    places *= limit + 1;
    starts[static_cast<std::size_t>(component)] = start;
  }

  // (batches, updates), in the order of the updates.
  std::vector<int> order;
  std::int64_t batches = 1, many = 1;
  for (const bool first : {true, false})
    for (std::size_t k = 0; k < batch.size(); ++k)
      if (batch[k] == first) order.push_back(static_cast<int>(k)), (first ? batches : many) *= all[static_cast<int>(k)];
  const auto flat = [&](const Array& x) { return reshape_to(permute(x, order, {}), {batches, many}, {}); };
  const Array keys = flat(where(inside, key, scalar_of(type, -1)));
  Array last;
  if (many <= kFewPairs) {
    const Shape pairs{batches, many, many};
    const Array mine = broadcast_in_dim(keys, pairs, {0, 1}, {}), other = broadcast_in_dim(keys, pairs, {0, 2}, {});
    last = ~reduce_or((mine == other) & (iota_array(int32, pairs, 1, {}) < iota_array(int32, pairs, 2, {})), {2});
  } else {
    const std::int64_t size = batches * places;
    const DType wide = size < (std::int64_t{1} << 31) ? int32 : int64, number_type = many < (std::int64_t{1} << 31) ? int32 : int64;
    const Array at = where(keys < scalar_of(type, 0), scalar_of(wide, -1),
                           convert(keys, wide) + iota_array(wide, keys.shape(), 0, {}) * scalar_of(wide, places));
    const Array number = iota_array(number_type, keys.shape(), 1, {});
    const Array latest = bind_one<ScatterMax>(ScatterParams{.dimension_numbers = scatter_dims()},
                                              {full({size}, -1, number_type), reshape_to(at, {batches, many, 1}, {}), number}, {});
    last = elements_at(latest, at, -1) == number;
  }

  // Scattered back to the updates; updates with a later one for the same position are dropped.
  Shape sizes(std::vector<std::int64_t>(order.size()));
  for (std::size_t k = 0; k < order.size(); ++k) sizes[static_cast<int>(k)] = all[order[k]];
  const Array stays = permute(reshape_to(last, sizes, {}), inverse_permutation(order), {}) & inside;
  std::vector<Array> columns;
  for (const Array& start : starts)
    columns.push_back(reshape_to(where(stays, start, scalar_of(type, -1)), all.inserted(all.size(), 1), {}));
  Scatter::Params once = p;
  once.mode = GatherScatterMode::fill_or_drop;
  once.unique_indices = true;
  once.indices_are_sorted = false;
  return bind_one<Scatter>(once, {operand, concatenate_along(columns, vector, {}), updates}, {});
}

}  // namespace weft::detail
