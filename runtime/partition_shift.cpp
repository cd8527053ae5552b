// Turning round and shifting along a dimension that is divided: blocks stay with their devices, and only what crosses their borders is
// sent.
#include <algorithm>
#include <limits>
#include <map>

#include "core/array_impl.h"
#include "core/elementwise.h"
#include "core/ops/collective.h"
#include "core/ops/common.h"
#include "core/ops/movement.h"
#include "core/trace.h"
#include "runtime/partition_value.h"

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
Array rotated(const Partition& p, const Piece& x, int dim, std::int64_t by, SourceLoc loc) {
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
std::optional<Piece> assemble(const Partition& p, const Piece& base, int dim, const std::vector<Part>& parts, SourceLoc loc) {
  const std::int64_t size = base.whole[dim];
  std::int64_t total = 0;
  std::map<std::int64_t, Array> shifts;  // by how far the base is turned
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

bool divided_along(const Partition& p, const Piece& x, int dim) { return p.parts(x.axes[static_cast<std::size_t>(dim)]) > 1; }

std::optional<Piece> turned(const Partition& p, const Piece& x, const std::vector<int>& dims, SourceLoc loc) {
  Array y = reverse(x.block, dims, loc);
  for (int d : dims) {
    const std::vector<std::string>& axes = x.axes[static_cast<std::size_t>(d)];
    const std::int64_t n = p.parts(axes);
    if (n == 1) continue;
    std::vector<std::pair<int, int>> perm;
    for (int k = 0; k < n; ++k) perm.push_back({k, static_cast<int>(n) - 1 - k});
    y = bind_ppermute(y, {axes, std::move(perm)}, loc);
  }
  return p.of_block(y, x.axes);
}

/// The one dimension where a slice takes less than all, or -1.
int cut_dim(const SliceParams& q, const Shape& whole) {
  int dim = -1;
  for (int d = 0; d < whole.size(); ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (q.strides && (*q.strides)[i] != 1) return -1;
    if (q.start_indices[i] == 0 && q.limit_indices[i] == whole[d]) continue;
    if (dim >= 0) return -1;
    dim = d;
  }
  return dim;
}

std::optional<Piece> put_together(const Partition& p, const std::vector<Piece>& in, int dim, SourceLoc loc) {
  const Piece* base = nullptr;
  std::vector<Part> parts;
  for (const Piece& x : in) {
    Part part{0, x.whole[dim], x.scalar};
    if (!x.scalar) {
      if (!x.cut || x.cut->dim != dim) return {};
      if (!base) base = x.cut->base.get();
      if (base->block.impl() != x.cut->base->block.impl() || base->axes != x.cut->base->axes) return {};
      part.start = x.cut->start;
    }
    parts.push_back(std::move(part));
  }
  if (!base || !divided_along(p, *base, dim)) return {};
  return assemble(p, *base, dim, parts, loc);
}

std::optional<Piece> padded(const Partition& p, const Piece& x, const Piece& fill, const PaddingConfig& config, SourceLoc loc) {
  int dim = -1;
  for (std::size_t d = 0; d < config.size(); ++d) {
    if (config[d] == PadDim()) continue;
    if (dim >= 0 || config[d].interior != 0) return {};
    dim = static_cast<int>(d);
  }
  if (dim < 0) return {};
  const PadDim& c = config[static_cast<std::size_t>(dim)];
  Piece base = x;
  std::int64_t start = 0;
  if (x.cut && x.cut->dim == dim) base = *x.cut->base, start = x.cut->start;
  if (!divided_along(p, base, dim)) return {};
  const std::int64_t dropped = std::max<std::int64_t>(-c.low, 0),
                     kept = x.whole[dim] + std::min<std::int64_t>(c.low, 0) + std::min<std::int64_t>(c.high, 0);
  if (kept <= 0) return {};
  return assemble(
      p, base, dim,
      {{0, std::max<std::int64_t>(c.low, 0), fill.block}, {start + dropped, kept, {}}, {0, std::max<std::int64_t>(c.high, 0), fill.block}},
      loc);
}

}  // namespace

std::optional<Piece> partition_shift(const Partition& p, const Eqn& e, const std::vector<Piece>& in) {
  if (e.op->name == "rev") return turned(p, in[0], params_as<RevParams>(*e.params).dimensions, e.loc);
  if (e.op->name == "concatenate") return put_together(p, in, params_as<ConcatenateParams>(*e.params).dimension, e.loc);
  if (e.op->name == "pad") return padded(p, in[0], in[1], params_as<PadParams>(*e.params).padding_config, e.loc);
  return {};
}

std::shared_ptr<const Cut> cut_of(const Partition& p, const Eqn& e, const Piece& x) {
  const auto& q = params_as<SliceParams>(*e.params);
  const int dim = cut_dim(q, x.whole);
  if (dim < 0) return {};
  const std::int64_t start = q.start_indices[static_cast<std::size_t>(dim)];
  if (x.cut && x.cut->dim == dim) return std::make_shared<const Cut>(Cut{x.cut->base, dim, x.cut->start + start});
  return divided_along(p, x, dim) ? std::make_shared<const Cut>(Cut{std::make_shared<const Piece>(x), dim, start}) : nullptr;
}

}  // namespace weft::detail
