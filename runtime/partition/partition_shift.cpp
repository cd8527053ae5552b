// Movements along a sharded dimension that reverse or shift a value: blocks stay with their devices, and only what crosses the borders
// of blocks is sent. Whether an operation does that is read from its Movement.
#include <algorithm>
#include <limits>
#include <map>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/indexing.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/partition/partition_rules.h"

namespace weft::detail {
namespace {

/// What each device has along `dim`, by the device `by` positions further (cyclic).
Array from_device(const Partition& p, const Array& x, const std::vector<std::string>& axes, std::int64_t by, SourceLoc loc) {
  const std::int64_t n = p.parts(axes);
  by = ((by % n) + n) % n;
  if (by == 0) return x;
  std::vector<std::pair<int, int>> perm;
  for (std::int64_t k = 0; k < n; ++k) perm.push_back({static_cast<int>((k + by) % n), static_cast<int>(k)});
  return bind_ppermute(x, {axes, std::move(perm)}, loc);
}

/// The block of y where y[i] = x[(i + by) % size] along `dim`.
Array rotated(const Partition& p, const ShardedValue& x, int dim, std::int64_t by, SourceLoc loc) {
  const std::int64_t size = x.whole[dim], block = x.block.shape()[dim];
  by = ((by % size) + size) % size;
  const std::int64_t devices = by / block, inside = by % block;
  const std::vector<std::string>& axes = x.axes[static_cast<std::size_t>(dim)];
  if (inside == 0) return from_device(p, x.block, axes, devices, loc);
  const Array first = from_device(p, slice_axis(x.block, dim, inside, block, loc), axes, devices, loc);
  const Array second = from_device(p, slice_axis(x.block, dim, 0, inside, loc), axes, devices + 1, loc);
  return concatenate_along(std::array{first, second}, dim, loc);
}

/// The position in the whole of each place of a block along `dim`, in the block's shape.
Array positions(const Partition& p, const Shape& block, const std::vector<std::string>& axes, int dim, SourceLoc loc) {
  LocScope scope(loc);
  Array device;
  for (const std::string& axis : axes) {
    const Array here = bind_axis_index(axis, loc);
    device = device.is_empty_handle() ? here : device * make_literal(p.mesh().size_of(axis), int32) + here;
  }
  return iota_array(int32, block, dim, loc) + device * make_literal(block[dim], int32);
}

/// One of the parts that the result consists of along the dimension: elements of the base from `start`, or all one scalar.
struct Part {
  std::int64_t start = 0, size = 0;
  std::optional<Array> fill = {};
};

/// The parts put together, as long as the base is. Nothing if that takes more than two shifts.
std::optional<ShardedValue> assemble(const Partition& p, const ShardedValue& base, int dim, const std::vector<Part>& parts, SourceLoc loc) {
  const std::int64_t size = base.whole[dim];
  std::int64_t total = 0;
  std::map<std::int64_t, Array> shifts;  // by how far the base is rotated
  for (const Part& part : parts) {
    if (!part.fill && part.size > 0) shifts[((part.start - total) % size + size) % size] = {};
    total += part.size;
  }
  if (total != size || shifts.empty() || shifts.size() > 2) return {};
  if (size > std::numeric_limits<std::int32_t>::max()) return {};  // positions are int32
  LocScope scope(loc);
  for (auto& [by, y] : shifts) y = rotated(p, base, dim, by, loc);
  Array result;
  Array index;
  std::int64_t at = 0;
  std::optional<std::int64_t> last;
  // From left to right: what begins at a position replaces all that comes after it.
  for (const Part& part : parts) {
    if (part.size == 0) continue;
    const std::int64_t by = part.fill ? -1 : ((part.start - at) % size + size) % size;
    const bool same = last && by >= 0 && *last == by;
    if (!same) {
      const Array value = part.fill ? fill_shape(*part.fill, base.block.shape(), loc) : shifts.at(by);
      if (result.is_empty_handle()) {
        result = value;
      } else {
        if (index.is_empty_handle()) index = positions(p, base.block.shape(), base.axes[static_cast<std::size_t>(dim)], dim, loc);
        result = where(index < make_literal(at, int32), result, value);
      }
    }
    last = by;
    at += part.size;
  }
  return p.of_block(result, base.axes);
}

bool is_sharded_along(const Partition& p, const ShardedValue& x, int dim) { return p.parts(x.axes[static_cast<std::size_t>(dim)]) > 1; }

/// Whether each dimension of the operand is one of the result, at the same place.
bool is_aligned(const Movement& m) {
  for (std::size_t d = 0; d < m.dims.size(); ++d)
    if (m.dims[d].out_dim != static_cast<int>(d)) return false;
  return !m.reshape;
}

bool reverses(const MovementDim& m, std::int64_t size) { return m.scale == -1 && m.offset == size - 1 && m.divisor == 1 && m.modulus == 0; }
bool shifts(const MovementDim& m) { return m.scale == 1 && m.divisor == 1 && m.modulus == 0; }

/// The only dimension along which an aligned movement doesn't keep all positions, or -1.
int only_moved_dim(const Movement& m, const Shape& in, const Shape& out) {
  int dim = -1;
  for (int d = 0; d < in.size(); ++d) {
    if (keeps_dim(m.dims[static_cast<std::size_t>(d)], in[d], out)) continue;
    if (dim >= 0) return -1;
    dim = d;
  }
  return dim;
}

std::optional<ShardedValue> reversed(const PartitionContext& c, const Movement& m) {
  const ShardedValue& x = c.in[0];
  std::vector<int> dims;
  for (int d = 0; d < x.whole.size(); ++d) {
    const MovementDim& dim = m.dims[static_cast<std::size_t>(d)];
    if (reverses(dim, x.whole[d]))
      dims.push_back(d);
    else if (!keeps_dim(dim, x.whole[d], c.out[0].shape))
      return {};
  }
  if (dims.empty()) return {};
  Array y = c.bind(std::span(&x.block, 1))[0];
  for (int d : dims) {
    const std::vector<std::string>& axes = x.axes[static_cast<std::size_t>(d)];
    const std::int64_t n = c.partition.parts(axes);
    if (n == 1) continue;
    std::vector<std::pair<int, int>> perm;
    for (int k = 0; k < n; ++k) perm.push_back({k, static_cast<int>(n) - 1 - k});
    y = bind_ppermute(y, {axes, std::move(perm)}, c.eqn.loc);
  }
  return c.partition.of_block(y, x.axes);
}

/// The operand with scalars before and after, or cut off there, along one dimension.
std::optional<ShardedValue> padded(const PartitionContext& c, const Movement& m) {
  const ShardedValue &x = c.in[0], &fill = c.in[1];
  const int dim = only_moved_dim(m, x.whole, c.out[0].shape);
  if (dim < 0 || !shifts(m.dims[static_cast<std::size_t>(dim)])) return {};
  const std::int64_t low = -m.dims[static_cast<std::size_t>(dim)].offset, high = c.out[0].shape[dim] - x.whole[dim] - low;
  ShardedValue base = x;
  std::int64_t start = 0;
  if (x.slice && x.slice->dim == dim) base = *x.slice->base, start = x.slice->start;
  if (!is_sharded_along(c.partition, base, dim)) return {};
  const std::int64_t dropped = std::max<std::int64_t>(-low, 0),
                     kept = x.whole[dim] + std::min<std::int64_t>(low, 0) + std::min<std::int64_t>(high, 0);
  if (kept <= 0) return {};
  return assemble(
      c.partition, base, dim,
      {{0, std::max<std::int64_t>(low, 0), fill.block}, {start + dropped, kept, {}}, {0, std::max<std::int64_t>(high, 0), fill.block}},
      c.eqn.loc);
}

/// Slices of one value, and scalars, one after another along the dimension that the slices were taken along.
std::optional<ShardedValue> concatenated(const PartitionContext& c, int dim) {
  const ShardedValue* base = nullptr;
  std::vector<Part> parts;
  for (const ShardedValue& x : c.in) {
    Part part{0, x.whole[dim], x.scalar};
    if (!x.scalar) {
      if (!x.slice || x.slice->dim != dim) return {};
      if (!base) base = x.slice->base.get();
      if (base->block.impl() != x.slice->base->block.impl() || base->axes != x.slice->base->axes) return {};
      part.start = x.slice->start;
    }
    parts.push_back(std::move(part));
  }
  if (!base || !is_sharded_along(c.partition, *base, dim)) return {};
  return assemble(c.partition, *base, dim, parts, c.eqn.loc);
}

}  // namespace

bool keeps_dim(const MovementDim& m, std::int64_t size, const Shape& out) {
  return m.out_dim >= 0 && m.scale == 1 && m.offset == 0 && m.divisor == 1 && (m.modulus == 0 || m.modulus == size) &&
         out[m.out_dim] == size;
}

std::optional<ShardedValue> partition_shift(const PartitionContext& c) {
  if (c.out.size() != 1) return {};
  const Movement m = movement_of(c, 0);
  if (!is_aligned(m)) return {};
  if (c.eqn.op->kind == Kind::concatenate)  // or a stack, whose parts lie along a dimension that no operand has
    return m.part_dim < c.in[0].whole.size() ? concatenated(c, m.part_dim) : std::nullopt;
  if (m.guarded) return c.in.size() == 2 ? padded(c, m) : std::nullopt;
  return c.in.size() == 1 ? reversed(c, m) : std::nullopt;
}

std::optional<ShardedValue> partition_slice(const PartitionContext& c) {
  if (c.out.size() != 1 || c.in.size() != 1) return {};
  const ShardedValue& x = c.in[0];
  const Movement m = movement_of(c, 0);
  const DType dtype = x.block.dtype();
  if (m.guarded || m.reshape || !is_aligned(m) || x.scalar || !(dtype.is_bool() || dtype.is_integer() || dtype.is_floating())) return {};
  const int dim = only_moved_dim(m, x.whole, c.out[0].shape);
  if (dim < 0 || !shifts(m.dims[static_cast<std::size_t>(dim)]) || !is_sharded_along(c.partition, x, dim)) return {};
  const std::int64_t size = c.out[0].shape[dim], block = x.block.shape()[dim], start = m.dims[static_cast<std::size_t>(dim)].offset;
  if (size == 0 || 2 * size > x.whole[dim] || x.whole[dim] > std::numeric_limits<std::int32_t>::max() / 2) return {};
  // With a slice's width of zeros around it, a block gives the elements that it has of the slice, and zeros for others.
  LocScope scope(c.eqn.loc);
  const std::vector<std::string>& over = x.axes[static_cast<std::size_t>(dim)];
  PaddingConfig around(x.axes.size());
  around[static_cast<std::size_t>(dim)] = {size, size, 0};
  const auto number = [](std::int64_t v) { return make_literal(v, int32); };
  std::vector<Array> at(x.axes.size(), number(0));
  const Array first = number(start + size) - position_along(c.partition, over, c.eqn.loc) * number(block);
  at[static_cast<std::size_t>(dim)] = minimum(maximum(first, number(0)), number(block + size));
  const Array own = dynamic_slice(pad_with(x.block, scalar_like(x.block, 0), around, c.eqn.loc), at, x.block.shape().with(dim, size));
  DimAxes axes = x.axes;
  axes[static_cast<std::size_t>(dim)].clear();
  ShardedValue y{*sum_of_one(own, over, c.eqn.loc), c.out[0].shape, axes};
  y.slice = slice_of(c, m, c.out[0].shape);
  return y;
}

std::shared_ptr<const ShardedSlice> slice_of(const PartitionContext& c, const Movement& m, const Shape& out) {
  const ShardedValue& x = c.in[0];
  if (m.guarded || !is_aligned(m)) return {};
  const int dim = only_moved_dim(m, x.whole, out);
  if (dim < 0 || !shifts(m.dims[static_cast<std::size_t>(dim)])) return {};
  const std::int64_t start = m.dims[static_cast<std::size_t>(dim)].offset;
  if (x.slice && x.slice->dim == dim) return std::make_shared<const ShardedSlice>(ShardedSlice{x.slice->base, dim, x.slice->start + start});
  if (!is_sharded_along(c.partition, x, dim)) return {};
  return std::make_shared<const ShardedSlice>(ShardedSlice{std::make_shared<const ShardedValue>(x), dim, start});
}

}  // namespace weft::detail
