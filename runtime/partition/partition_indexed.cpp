// Partitioning of gathers and dynamic slices: along dimensions that are taken whole, and along indexed ones, where each device looks up
// positions in its own block and a sum distributes the elements.
#include <array>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/indexing.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/dynamic_slice.h"
#include "weft/core/ops/movement/gather.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/partition/partition_rules.h"

namespace weft::detail {
namespace {

std::size_t index(int d) { return static_cast<std::size_t>(d); }

/// Whether elements of the dtype can be given to all by a sum, and indices of that dtype counted with.
bool can_look_up(const Aval& operand, DType indices) {
  const DType t = operand.dtype;
  return (t.is_bool() || t.is_integer() || t.is_floating()) && indices.is_integer() && indices != uint64;
}

/// Positions in a dtype that holds them relative to any block.
Array countable(const Array& positions) {
  return positions.dtype() == int32 || positions.dtype() == int64 ? positions
         : positions.dtype() == uint32                            ? convert(positions, int64)
                                                                  : convert(positions, int32);
}

/// The numbers of a dimension that is indexed, of which the device has a block.
struct BlockRange {
  Array start;  ///< where the device's block begins
  std::int64_t block, whole;
};
BlockRange range_of(const PartitionContext& c, const ShardedValue& x, std::size_t d, DType dtype) {
  const std::int64_t block = x.whole[static_cast<int>(d)] / c.partition.parts(x.axes[d]);
  return {convert(position_along(c.partition, x.axes[d], c.eqn.loc), dtype) * make_literal(block, dtype), block,
          x.whole[static_cast<int>(d)]};
}

Array clamped(const Array& x, std::int64_t low, std::int64_t high) {
  return minimum(maximum(x, make_literal(low, x.dtype())), make_literal(high, x.dtype()));
}
Array is_in(const Array& x, std::int64_t n) { return logical_and(x >= make_literal(0, x.dtype()), x < make_literal(n, x.dtype())); }

}  // namespace

/// The result is sharded as the indices are, and along window dimensions that are as wide as the operand.
std::optional<ShardedValues> partition_gather(const PartitionContext& c) {
  const ShardedValues& in = c.in;
  Gather::Params q = c.get<Gather::Params>();
  const IndexedGeometry g = gather_geometry(q.dimension_numbers, q.slice_sizes, c.out[0].ndim());
  DimAxes operand(in[0].axes.size()), indices(in[1].axes.size()), result(index(c.out[0].ndim()));
  AxisAssignment assignment;
  for (std::size_t d = 0; d < g.dims.size(); ++d)
    if (const int b = g.dims[d].batch_dim; b >= 0)
      operand[d] = indices[index(b)] = assignment.claim_either(in[0].axes[d], in[1].axes[index(b)]);
  for (std::size_t b = 0; b < g.batch_dims.size(); ++b) {
    if (indices[b].empty()) indices[b] = assignment.claim(in[1].axes[b]);
    // A batch dimension of the operand that another one of the indices' axes came first for is whole.
    result[index(g.batch_dims[b])] = indices[b];
  }
  std::vector<std::size_t> looked_up;  // dimensions that are sharded and indexed
  std::vector<std::string> over;
  for (std::size_t d = 0; d < g.dims.size(); ++d) {
    const IndexedDim& dim = g.dims[d];
    if (dim.batch_dim >= 0) operand[d] = indices[index(dim.batch_dim)];
    if (dim.component >= 0 && dim.window == 1 && c.partition.parts(in[0].axes[d]) > 1 && can_look_up(in[0].aval(), in[1].block.dtype())) {
      operand[d] = assignment.claim(in[0].axes[d]);
      if (operand[d].empty()) continue;
      looked_up.push_back(d);
      over.insert(over.end(), operand[d].begin(), operand[d].end());
      continue;
    }
    if (dim.component >= 0 || dim.batch_dim >= 0 || dim.window_dim < 0 || dim.window != in[0].whole[static_cast<int>(d)]) continue;
    operand[d] = result[index(dim.window_dim)] = assignment.claim(in[0].axes[d]);
    q.slice_sizes[static_cast<int>(d)] /= c.partition.parts(operand[d]);
  }
  const ShardedValue x = c.reshard(in[0], operand);
  const Array positions = c.reshard(in[1], indices).block;
  const auto bind = [&](const Array& at) { return c.bind_with(q, std::array{x.block, at})[0]; };
  if (looked_up.empty()) return ShardedValues{c.partition.of_block(bind(positions), result)};

  // Each device reads at positions in its own block, and what others have counts as zeros; windows that are outside of the operand are
  // filled afterwards.
  LocScope scope(c.eqn.loc);
  const int last = positions.ndim() - 1;
  const bool clips = q.mode != GatherScatterMode::fill_or_drop;
  const Array all = countable(positions);
  std::vector<Array> columns;
  for (std::int64_t k = 0; k < all.shape()[last]; ++k) columns.push_back(slice_axis(all, last, k, k + 1, c.eqn.loc));
  std::optional<Array> is_here, is_inside;
  const auto both = [](std::optional<Array>& known, const Array& condition) { known = known ? logical_and(*known, condition) : condition; };
  for (std::size_t d : looked_up) {
    Array& column = columns[index(g.dims[d].component)];
    const BlockRange r = range_of(c, x, d, column.dtype());
    if (clips)
      column = clamped(column, 0, r.whole - 1);
    else
      both(is_inside, is_in(column, r.whole));
    const Array local = column - r.start;
    both(is_here, is_in(local, r.block));
    column = clamped(local, 0, r.block - 1);
  }
  const Array y = bind(concatenate_along(columns, last, c.eqn.loc));
  const auto spread = [&](const Array& condition) {
    return broadcast_in_dim(squeeze_axes(condition, {last}, c.eqn.loc), y.shape(), g.batch_dims, c.eqn.loc);
  };
  Array sum = *sum_of_one(where(spread(*is_here), y, zeros_of(y.aval(), c.eqn.loc)), over, c.eqn.loc);
  if (is_inside) {
    ScalarBits bits{};
    store_fill(q.fill_value, y.dtype(), bits.data());
    sum = where(spread(*is_inside), sum, fill_shape(make_literal(Aval{Shape(), y.dtype(), false}, bits), y.shape(), c.eqn.loc));
  }
  return ShardedValues{c.partition.of_block(sum, result)};
}

/// Positions along dimensions that are as wide as the operand are 0, whatever the index is.
std::optional<ShardedValues> partition_dynamic_slice(const PartitionContext& c) {
  const ShardedValues& in = c.in;
  DynamicSlice::Params q = c.get<DynamicSlice::Params>();
  std::vector<bool> keep;
  std::vector<std::size_t> looked_up;
  for (int d = 0; d < q.slice_sizes.size(); ++d) {
    const bool whole = q.slice_sizes[d] == in[0].whole[d], empty = q.slice_sizes.num_elements() == 0;
    const bool look_up =
        !whole && !empty && c.partition.parts(in[0].axes[index(d)]) > 1 && can_look_up(in[0].aval(), in[index(d) + 1].block.dtype());
    if (look_up) looked_up.push_back(index(d));
    keep.push_back(whole || look_up);
  }
  const ShardedValue x = c.keeping(in[0], keep);
  std::vector<Array> blocks{x.block};
  for (std::size_t k = 1; k < in.size(); ++k) blocks.push_back(looked_up.empty() ? in[k].block : countable(in[k].block));
  DimAxes axes = x.axes;
  std::vector<std::string> over;
  // With a window's width of zeros around it, a block gives the elements that it has of the window, and zeros for others.
  PaddingConfig around(x.axes.size());
  LocScope scope(c.eqn.loc);
  for (std::size_t d : looked_up) {
    const std::int64_t window = q.slice_sizes[static_cast<int>(d)];
    const Array at = blocks[d + 1];
    const BlockRange r = range_of(c, x, d, at.dtype());
    blocks[d + 1] = clamped(at, 0, r.whole - window) - r.start + make_literal(window, at.dtype());
    around[d] = {window, window, 0};
    over.insert(over.end(), axes[d].begin(), axes[d].end());
    axes[d].clear();
  }
  for (int d = 0; d < q.slice_sizes.size(); ++d)
    if (q.slice_sizes[d] == in[0].whole[d]) q.slice_sizes[d] = x.block.shape()[d];
  if (!looked_up.empty()) blocks[0] = pad_with(blocks[0], scalar_like(blocks[0], 0), around, c.eqn.loc);
  Array y = c.bind_with(std::move(q), blocks)[0];
  if (!looked_up.empty()) y = *sum_of_one(y, over, c.eqn.loc);
  return ShardedValues{c.partition.of_block(y, axes)};
}

/// The result is sharded as the operand is: each device puts what falls into its block there.
std::optional<ShardedValues> partition_dynamic_update_slice(const PartitionContext& c) {
  const ShardedValues& in = c.in;
  DimAxes axes(in[0].axes.size()), update(in[0].axes.size());
  AxisAssignment assignment;
  const DType x_dtype = in[0].block.dtype();
  std::vector<std::size_t> placed;
  for (std::size_t d = 0; d < axes.size(); ++d) {
    if (in[0].whole[static_cast<int>(d)] == in[1].whole[static_cast<int>(d)]) {
      axes[d] = update[d] = assignment.claim_either(in[0].axes[d], in[1].axes[d]);
    } else if (c.partition.parts(in[0].axes[d]) > 1 && in[1].whole.num_elements() > 0 && in[d + 2].block.dtype() != uint64 &&
               !x_dtype.is_key()) {
      axes[d] = assignment.claim(in[0].axes[d]);
      if (!axes[d].empty()) placed.push_back(d);
    }
  }
  const ShardedValue x = c.reshard(in[0], axes);
  Array u = c.reshard(in[1], update).block;
  std::vector<Array> starts;
  for (std::size_t k = 2; k < in.size(); ++k) starts.push_back(placed.empty() ? in[k].block : countable(in[k].block));
  if (!placed.empty()) {
    // Reads the block at the position nearest to the window, and inserts the elements of the update that belong there.
    LocScope scope(c.eqn.loc);
    Shape size = u.shape();
    PaddingConfig around(axes.size());
    std::vector<Array> shift(axes.size(), make_literal(0, starts[0].dtype()));
    std::optional<Array> is_new;
    for (std::size_t d : placed) {
      const int dim = static_cast<int>(d);
      const std::int64_t window = u.shape()[dim];
      const Array at = starts[d];
      const BlockRange r = range_of(c, x, d, at.dtype());
      size = size.with(dim, std::min(window, r.block));
      const Array wanted = clamped(at, 0, r.whole - window) - r.start;
      starts[d] = clamped(wanted, 0, r.block - size[dim]);
      const Array by = starts[d] - wanted;  // element i of what is read is the update's i + by
      around[d] = {size[dim], size[dim], 0};
      shift[d] = by + make_literal(size[dim], by.dtype());
    }
    for (std::size_t d : placed) {
      const int dim = static_cast<int>(d);
      const Array from = iota_array(shift[d].dtype(), size, dim, c.eqn.loc) + (shift[d] - make_literal(size[dim], shift[d].dtype()));
      const Array here = is_in(from, u.shape()[dim]);
      is_new = is_new ? logical_and(*is_new, here) : here;
    }
    // By the primitive, which moves a window inside: for the function a negative start counts from the end.
    const auto read = [&](const Array& from, const std::vector<Array>& at) {
      std::vector<Array> operands{from};
      operands.insert(operands.end(), at.begin(), at.end());
      return bind_all<DynamicSlice>({size}, operands, c.eqn.loc)[0];
    };
    u = where(*is_new, read(pad_with(u, scalar_like(u, 0), around, c.eqn.loc), shift), read(x.block, starts));
  }
  std::vector<Array> blocks{x.block, u};
  blocks.insert(blocks.end(), starts.begin(), starts.end());
  return ShardedValues{c.partition.of_block(c.bind(blocks)[0], axes)};
}

}  // namespace weft::detail
