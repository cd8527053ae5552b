// Scattered products (scatter-mul): the product of all other updates of an element, for the derivative by one of them.
#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/permutation.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/ops/movement/sort.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

// Rows moved by d towards higher positions (or lower ones, d < 0), `fill` moving in.
Array shift_rows(const Array& x, std::int64_t d, const Array& fill, SourceLoc loc) {
  const std::int64_t n = x.shape()[0];
  const Array blank = fill_shape(fill, x.shape().with(0, std::abs(d)), loc);
  const Array parts[] = {d > 0 ? blank : slice_axis(x, 0, -d, n, loc), d > 0 ? slice_axis(x, 0, 0, n - d, loc) : blank};
  return concatenate_along(parts, 0, loc);
}

Array take_rows(const Array& x, const Array& rows, SourceLoc loc) {
  const GatherDimensionNumbers n{.offset_dims = {1}, .collapsed_slice_dims = {0}, .start_index_map = {0}};
  return bind_one<Gather>({n, {}, false, GatherScatterMode::promise_in_bounds, x.shape().with(0, 1), true},
                          {x, insert_axes(rows, {1}, loc)}, loc);
}

// For each row the product of the rows before it (direction 1) or after it (-1) in its run; `first` marks where runs begin in that
// direction. A segmented scan by doubling (Hillis and Steele, 1986).
Array running_product(const Array& x, const Array& first, int direction, SourceLoc loc) {
  const Array one = make_literal(Number(1), x.dtype()), yes = make_literal(Number(true), bool_);
  Array value = x, done = first;
  for (std::int64_t d = 1; d < x.shape()[0]; d *= 2) {
    value = where(done, value, value * shift_rows(value, direction * d, one, loc));
    done = done | shift_rows(done, direction * d, yes, loc);
  }
  return where(first, one, shift_rows(value, direction, one, loc));
}

// The coordinates that identify the position of each of n updates, as columns: the index vectors' entries, and the positions along batching
// dimensions.
std::vector<Array> place_columns(const ScatterParams& p, const IndexedGeometry& g, const Shape& x, const Array& indices, SourceLoc loc) {
  const int last = indices.ndim() - 1;
  const Shape batch = indices.shape().erased(last);
  std::vector<Array> columns;
  for (std::size_t d = 0; d < g.dims.size(); ++d) {
    const IndexedDim& dim = g.dims[d];
    if (dim.component >= 0) {
      const std::int64_t limit = x[static_cast<int>(d)] - dim.window;
      if (dim.window != 1 && limit != 0)
        throw TracerError(
            "scatter-mul: the derivative by the updates is not known where windows may overlap in part; index each position instead",
            effective_loc(loc));
      Array c = reshape_to(slice_axis(indices, last, dim.component, dim.component + 1, loc), batch.num_elements(), loc);
      if (p.mode == GatherScatterMode::clip)
        c = minimum(maximum(c, make_literal(Number(0), c.dtype())), make_literal(Number(limit), c.dtype()));
      columns.push_back(c);
    } else if (dim.batch_dim >= 0) {
      columns.push_back(reshape_to(iota_array(int32, batch, dim.batch_dim, loc), batch.num_elements(), loc));
    }
  }
  return columns;
}

}  // namespace

Array products_of_others(const ScatterParams& p, const Shape& x, const Array& indices, const Array& updates, SourceLoc loc) {
  const IndexedGeometry g = scatter_geometry(p.dimension_numbers, x.size(), updates.shape());
  const std::int64_t n = indices.shape().erased(indices.ndim() - 1).num_elements();
  const Array one = make_literal(Number(1), updates.dtype()), yes = make_literal(Number(true), bool_);
  if (n <= 1) return fill_shape(one, updates.shape(), loc);
  // A stable sort groups the updates of each position.
  std::vector<Array> operands = place_columns(p, g, x, indices, loc);
  const int num_keys = static_cast<int>(operands.size());
  const Array count = iota_array(n > 0x7fffffff ? int64 : int32, n, 0, loc);
  operands.push_back(count);
  if (num_keys > 0) operands = bind_all<Sort>({0, true, num_keys}, operands, loc);
  const Array order = operands.back(), back_operands[] = {order, count};
  const Array back = bind_all<Sort>({0, true, 1}, back_operands, loc)[1];
  Array boundary = fill_shape(make_literal(Number(false), bool_), n - 1, loc);
  for (int k = 0; k < num_keys; ++k) {
    const Array& column = operands[static_cast<std::size_t>(k)];
    boundary = boundary | (slice_axis(column, 0, 0, n - 1, loc) != slice_axis(column, 0, 1, n, loc));
  }
  const Array end = fill_shape(yes, 1, loc), first_parts[] = {end, boundary}, last_parts[] = {boundary, end};
  const Array first = insert_axes(concatenate_along(first_parts, 0, loc), {1}, loc),
              last = insert_axes(concatenate_along(last_parts, 0, loc), {1}, loc);

  std::vector<int> permutation = g.batch_dims;
  for (const IndexedDim& d : g.dims)
    if (d.window_dim >= 0) permutation.push_back(d.window_dim);
  const Array moved = permute(updates, permutation, loc);
  const Array rows = take_rows(reshape_to(moved, {n, updates.size() / n}, loc), order, loc);
  const Array others = running_product(rows, first, 1, loc) * running_product(rows, last, -1, loc);
  return permute(reshape_to(take_rows(others, back, loc), moved.shape(), loc), inverse_permutation(permutation), loc);
}

}  // namespace weft::detail
