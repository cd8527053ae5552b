// How single equations are partitioned: elementwise operations, moves, reductions, products.
#include <algorithm>

#include "core/array_impl.h"
#include "core/ops/collective.h"
#include "core/ops/common.h"
#include "core/ops/dot.h"
#include "core/ops/movement.h"
#include "core/ops/reduce.h"
#include "core/ops/shard_map.h"
#include "core/ops/sharding_constraint.h"
#include "core/ops/sort.h"
#include "runtime/partition_value.h"

namespace weft::detail {

bool Piece::divided() const {
  return std::any_of(axes.begin(), axes.end(), [](const auto& dim) { return !dim.empty(); });
}

bool uses(const DimAxes& axes, const std::string& axis) {
  return std::any_of(axes.begin(), axes.end(), [&](const auto& dim) { return std::count(dim.begin(), dim.end(), axis) > 0; });
}

std::vector<std::string> Claims::claim(const std::vector<std::string>& axes) {
  for (const std::string& a : axes)
    if (uses(taken_, a)) return {};
  taken_.push_back(axes);
  return axes;
}

DimAxes dims_of(const PartitionSpec& spec, int ndim) {
  DimAxes axes;
  for (int d = 0; d < ndim; ++d) axes.push_back(spec.axes_of(d));
  return axes;
}

Shape Partition::block_of(const Shape& whole, const DimAxes& axes) const { return block_shape(mesh_, PartitionSpec(axes), whole); }

Piece Partition::of_block(const Array& block, DimAxes axes) const {
  const Shape whole = whole_shape(mesh_, PartitionSpec(axes), block.shape());
  return {block, whole, std::move(axes), {}};
}

Piece Partition::divide(const Piece& x, const DimAxes& wanted, SourceLoc loc) const {
  if (x.axes == wanted) return x;
  if (x.scalar) return {fill_shape(*x.scalar, block_of(x.whole, wanted), loc), x.whole, wanted, x.scalar};
  Array block = x.block;
  DimAxes now = x.axes;
  const auto num_common = [&](std::size_t d) {
    std::size_t n = 0;
    while (n < now[d].size() && n < wanted[d].size() && now[d][n] == wanted[d][n]) ++n;
    return n;
  };
  // The last axis of one dimension that becomes the next of another: parts are exchanged.
  for (std::size_t from = 0; from < now.size(); ++from)
    while (num_common(from) < now[from].size()) {
      const std::string axis = now[from].back();
      std::size_t to = 0;
      while (to < now.size() &&
             !(to != from && num_common(to) == now[to].size() && now[to].size() < wanted[to].size() && wanted[to][now[to].size()] == axis))
        ++to;
      if (to == now.size()) break;
      const std::int64_t n = parts({axis});
      if (block.shape()[static_cast<int>(to)] % n != 0) break;
      block = bind_all_to_all(block, {{}, axis, n, static_cast<int>(from), static_cast<int>(to), true}, loc);
      now[from].pop_back();
      now[to].push_back(axis);
    }
  for (std::size_t d = 0; d < now.size(); ++d)
    if (const std::size_t kept = num_common(d); kept < now[d].size()) {
      const std::vector<std::string> rest(now[d].begin() + static_cast<std::ptrdiff_t>(kept), now[d].end());
      block = bind_all_gather(block, {static_cast<int>(d), {}, rest, parts(rest), true}, loc);
      now[d].resize(kept);
    }
  DimAxes cut(now.size());
  for (std::size_t d = 0; d < now.size(); ++d)
    cut[d].assign(wanted[d].begin() + static_cast<std::ptrdiff_t>(now[d].size()), wanted[d].end());
  block = weft::detail::block_of(block, PartitionSpec(cut), mesh_, loc);
  return {block, x.whole, wanted, {}};
}

namespace {

using Pieces = std::vector<Piece>;
using Maybe = std::optional<Pieces>;

/// The axes, less those that are in use.
std::vector<std::string> unused(std::vector<std::string> axes, const DimAxes& in_use) {
  for (const std::string& a : axes)
    if (uses(in_use, a)) return {};
  return axes;
}

Array bind_like(const Eqn& e, std::span<const Array> in) { return bind_primitive(*e.op, e.params, in, e.loc)[0]; }
template <class P>
Array bind_with(const Eqn& e, P params, std::span<const Array> in) {
  return bind_primitive(*e.op, make_params(std::move(params)), in, e.loc)[0];
}
Pieces one(Piece x) { return {std::move(x)}; }

/// A division that suits all operands that have the dimensions; of those that have one, the one with most parts goes first.
DimAxes common_division(const Partition& p, const Pieces& in, const Shape& out) {
  DimAxes axes(static_cast<std::size_t>(out.size()));
  std::vector<const Piece*> order;
  for (const Piece& x : in)
    if (x.whole.size() == out.size()) order.push_back(&x);
  std::stable_sort(order.begin(), order.end(),
                   [](const Piece* a, const Piece* b) { return a->whole.num_elements() > b->whole.num_elements(); });
  for (const Piece* x : order)
    for (std::size_t d = 0; d < axes.size(); ++d)
      if (axes[d].empty() && x->whole[static_cast<int>(d)] == out[static_cast<int>(d)] && p.parts(x->axes[d]) > 1)
        axes[d] = unused(x->axes[d], axes);
  return axes;
}

Maybe elementwise(const Partition& p, const Eqn& e, const Pieces& in, std::span<const Aval> out) {
  const DimAxes axes = common_division(p, in, out[0].shape);
  std::vector<Array> blocks;
  for (const Piece& x : in) {
    if (x.whole.size() == 0) {
      blocks.push_back(x.block);
      continue;
    }
    DimAxes own = axes;
    for (std::size_t d = 0; d < own.size(); ++d)
      if (x.whole[static_cast<int>(d)] != out[0].shape[static_cast<int>(d)]) own[d].clear();
    blocks.push_back(p.divide(x, own, e.loc).block);
  }
  Pieces results;
  for (const Array& y : bind_primitive(*e.op, e.params, blocks, e.loc)) results.push_back(p.of_block(y, axes));
  return results;
}

/// Keeps the division of the dimensions where `keep`; gathers the others.
Piece keeping(const Partition& p, const Piece& x, const std::vector<bool>& keep, SourceLoc loc) {
  DimAxes axes = x.axes;
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (!keep[d]) axes[d].clear();
  return p.divide(x, axes, loc);
}

Maybe broadcast(const Partition& p, const Eqn& e, const Piece& x) {
  BroadcastInDimParams q = params_as<BroadcastInDimParams>(*e.params);
  DimAxes axes(static_cast<std::size_t>(q.shape.size()));
  std::vector<bool> keep;
  for (std::size_t d = 0; d < x.axes.size(); ++d) {
    const int to = q.broadcast_dimensions[d];
    keep.push_back(x.whole[static_cast<int>(d)] == q.shape[to]);
    if (keep.back()) axes[static_cast<std::size_t>(to)] = x.axes[d];
  }
  const Piece y = keeping(p, x, keep, e.loc);
  const Shape whole = q.shape;
  q.shape = p.block_of(whole, axes);
  Piece r{bind_with(e, q, std::span(&y.block, 1)), whole, axes, {}};
  if (x.whole.size() == 0) r.scalar = x.block;
  if (x.scalar) r.scalar = x.scalar;
  return one(std::move(r));
}

/// Dimensions of operand and result fall into groups of the same number of elements; what divides the first of a group goes over to the
/// first of the other side, if that can be divided so.
Maybe reshape(const Partition& p, const Eqn& e, const Piece& x) {
  const auto& q = params_as<ReshapeParams>(*e.params);
  if (q.dimensions) return {};
  DimAxes axes(static_cast<std::size_t>(q.new_sizes.size()));
  std::vector<bool> keep(x.axes.size());
  const int n = x.whole.size(), m = q.new_sizes.size();
  for (int i = 0, j = 0; i < n && j < m;) {
    const int first = i, to = j;
    std::int64_t a = x.whole[i++], b = q.new_sizes[j++];
    while (a != b && (a < b ? i < n : j < m)) (a < b ? a : b) *= a < b ? x.whole[i++] : q.new_sizes[j++];
    if (a != b || a == 0) break;
    // Dimensions of size 1 in front have nothing to divide.
    int f = first, t = to;
    while (f < i - 1 && x.whole[f] == 1) ++f;
    while (t < j - 1 && q.new_sizes[t] == 1) ++t;
    const std::vector<std::string>& dim = x.axes[static_cast<std::size_t>(f)];
    if (q.new_sizes[t] % p.parts(dim) != 0) continue;
    keep[static_cast<std::size_t>(f)] = true;
    axes[static_cast<std::size_t>(t)] = dim;
  }
  const Piece y = keeping(p, x, keep, e.loc);
  return one({bind_with(e, ReshapeParams{{}, p.block_of(q.new_sizes, axes)}, std::span(&y.block, 1)), q.new_sizes, axes, x.scalar});
}

Maybe move(const Partition& p, const Eqn& e, const Pieces& in) {
  const Piece& x = in[0];
  const auto n = static_cast<std::size_t>(x.whole.size());
  if (e.op->name == "broadcast_in_dim") return broadcast(p, e, x);
  if (e.op->name == "reshape") return reshape(p, e, x);
  if (e.op->name == "transpose") {
    DimAxes axes;
    for (int d : params_as<TransposeParams>(*e.params).permutation) axes.push_back(x.axes[static_cast<std::size_t>(d)]);
    return one(p.of_block(bind_like(e, std::span(&x.block, 1)), axes));
  }
  if (e.op->name == "squeeze") {
    const std::vector<int>& gone = params_as<SqueezeParams>(*e.params).dimensions;
    DimAxes axes;
    for (std::size_t d = 0; d < n; ++d)
      if (!std::count(gone.begin(), gone.end(), static_cast<int>(d))) axes.push_back(x.axes[d]);
    return one(p.of_block(bind_like(e, std::span(&x.block, 1)), axes));
  }
  if (e.op->name == "slice") {
    SliceParams q = params_as<SliceParams>(*e.params);
    std::vector<bool> keep;
    for (std::size_t d = 0; d < n; ++d)
      keep.push_back(q.start_indices[d] == 0 && q.limit_indices[d] == x.whole[static_cast<int>(d)] && (!q.strides || (*q.strides)[d] == 1));
    const Piece y = keeping(p, x, keep, e.loc);
    for (std::size_t d = 0; d < n; ++d)
      if (keep[d]) q.limit_indices[d] = y.block.shape()[static_cast<int>(d)];
    Piece r = p.of_block(bind_with(e, q, std::span(&y.block, 1)), y.axes);
    r.cut = cut_of(p, e, x);
    return one(std::move(r));
  }
  if (e.op->name == "rev" || e.op->name == "tile") {
    std::vector<bool> keep(n, true);
    if (e.op->name == "rev")
      for (int d : params_as<RevParams>(*e.params).dimensions) keep[static_cast<std::size_t>(d)] = false;
    else
      for (std::size_t d = 0; d < n; ++d) keep[d] = params_as<TileParams>(*e.params).reps[d] == 1;
    const Piece y = keeping(p, x, keep, e.loc);
    return one(p.of_block(bind_like(e, std::span(&y.block, 1)), y.axes));
  }
  if (e.op->name == "split" || e.op->name == "unstack") {
    const bool splits = e.op->name == "split";
    const int axis = splits ? params_as<SplitParams>(*e.params).axis : params_as<StackParams>(*e.params).axis;
    std::vector<bool> keep(n, true);
    keep[static_cast<std::size_t>(axis)] = false;
    const Piece y = keeping(p, x, keep, e.loc);
    DimAxes axes = y.axes;
    if (!splits) axes.erase(axes.begin() + axis);
    Pieces results;
    for (const Array& part : bind_primitive(*e.op, e.params, std::span(&y.block, 1), e.loc)) results.push_back(p.of_block(part, axes));
    return results;
  }
  if (e.op->name == "pad") {
    std::vector<bool> keep;
    for (const PadDim& d : params_as<PadParams>(*e.params).padding_config) keep.push_back(d == PadDim());
    const Piece y = keeping(p, x, keep, e.loc);
    return one(p.of_block(bind_like(e, std::array{y.block, in[1].block}), y.axes));
  }
  return {};
}

Maybe concatenate(const Partition& p, const Eqn& e, const Pieces& in, const Aval& out) {
  if (e.op->name != "concatenate" && e.op->name != "stack") return {};
  const int along = e.op->name == "stack" ? -1 : params_as<ConcatenateParams>(*e.params).dimension;
  Shape shape = in[0].whole;
  if (along >= 0) shape[along] = out.shape[along];
  DimAxes axes = common_division(p, in, shape);
  if (along >= 0) axes[static_cast<std::size_t>(along)].clear();
  std::vector<Array> blocks;
  for (const Piece& x : in) blocks.push_back(p.divide(x, axes, e.loc).block);
  const Array y = bind_like(e, blocks);
  if (along < 0) axes.insert(axes.begin() + params_as<StackParams>(*e.params).axis, std::vector<std::string>());
  return one(p.of_block(y, axes));
}

/// Several arrays along one dimension, which must be whole.
Maybe along_dimension(const Partition& p, const Eqn& e, const Pieces& in, int dimension) {
  DimAxes axes = common_division(p, in, in[0].whole);
  axes[static_cast<std::size_t>(dimension)].clear();
  std::vector<Array> blocks;
  for (const Piece& x : in) blocks.push_back(p.divide(x, axes, e.loc).block);
  Pieces results;
  for (const Array& y : bind_primitive(*e.op, e.params, blocks, e.loc)) results.push_back(p.of_block(y, axes));
  return results;
}

Maybe reduce(const Partition& p, const Eqn& e, const Piece& x) {
  const std::vector<int>& gone = params_as<ReduceParams>(*e.params).axes;
  const std::string_view name = e.op->name;
  const DType dtype = x.block.dtype();
  const bool adds = name == "reduce_sum" && !dtype.is_bool();
  const bool largest = (name == "reduce_max" && !dtype.is_complex()) || (name == "reduce_or" && dtype.is_bool());
  const bool smallest = (name == "reduce_min" && !dtype.is_complex()) || (name == "reduce_and" && dtype.is_bool());
  std::vector<std::string> over;
  DimAxes axes;
  for (std::size_t d = 0; d < x.axes.size(); ++d)
    if (!std::count(gone.begin(), gone.end(), static_cast<int>(d)))
      axes.push_back(x.axes[d]);
    else
      over.insert(over.end(), x.axes[d].begin(), x.axes[d].end());
  Array r = bind_like(e, std::span(&x.block, 1));
  if (p.parts(over) > 1) {
    if (adds || largest || smallest) {
      r = adds ? bind_psum(r, over, {}, e.loc) : largest ? bind_pmax(r, over, {}, e.loc) : bind_pmin(r, over, {}, e.loc);
    } else {  // the devices' results are reduced in their turn
      ReduceParams q = params_as<ReduceParams>(*e.params);
      q.axes = {0};
      const Array all = bind_all_gather(r, {0, {}, over, p.parts(over), false}, e.loc);
      r = bind_with(e, q, std::span(&all, 1));
    }
  }
  return one(p.of_block(r, axes));
}

Maybe arg_reduce(const Partition& p, const Eqn& e, const Piece& x) {
  const std::vector<int>& gone = params_as<ArgReduceParams>(*e.params).axes;
  std::vector<bool> keep;
  for (std::size_t d = 0; d < x.axes.size(); ++d) keep.push_back(!std::count(gone.begin(), gone.end(), static_cast<int>(d)));
  const Piece y = keeping(p, x, keep, e.loc);
  DimAxes axes;
  for (std::size_t d = 0; d < x.axes.size(); ++d)
    if (keep[d]) axes.push_back(y.axes[d]);
  return one(p.of_block(bind_like(e, std::span(&y.block, 1)), axes));
}

/// Batch dimensions and those that stay keep their division, where one axis isn't wanted for two; over contracted dimensions that are
/// divided each device has a part of the sum.
Maybe dot(const Partition& p, const Eqn& e, const Pieces& in) {
  const DotDimensions& dims = params_as<DotParams>(*e.params).dimension_numbers;
  std::array<DimAxes, 2> wanted{DimAxes(in[0].axes.size()), DimAxes(in[1].axes.size())};
  DimAxes result;
  Claims claims;
  const auto pair = [&](const std::array<std::vector<int>, 2>& both, std::size_t k) {
    const auto i = static_cast<std::size_t>(both[0][k]), j = static_cast<std::size_t>(both[1][k]);
    std::vector<std::string> axes = claims.claim_either(in[0].axes[i], in[1].axes[j]);
    wanted[0][i] = wanted[1][j] = axes;
    return axes;
  };
  for (std::size_t k = 0; k < dims.batch[0].size(); ++k) result.push_back(pair(dims.batch, k));
  for (int side : {0, 1})
    for (int d : dot_free_dims(dims, side, in[static_cast<std::size_t>(side)].whole.size())) {
      const auto s = static_cast<std::size_t>(side), i = static_cast<std::size_t>(d);
      wanted[s][i] = claims.claim(in[s].axes[i]);
      result.push_back(wanted[s][i]);
    }
  std::vector<std::string> over;
  for (std::size_t k = 0; k < dims.contracting[0].size(); ++k) {
    const std::vector<std::string> axes = pair(dims.contracting, k);
    over.insert(over.end(), axes.begin(), axes.end());
  }
  Array r = bind_like(e, std::array{p.divide(in[0], wanted[0], e.loc).block, p.divide(in[1], wanted[1], e.loc).block});
  if (p.parts(over) > 1) r = r.dtype().is_bool() ? bind_pmax(r, over, {}, e.loc) : bind_psum(r, over, {}, e.loc);
  return one(p.of_block(r, result));
}

}  // namespace

std::optional<std::vector<Piece>> partition_eqn(const Partition& p, const Eqn& e, const std::vector<Piece>& in, std::span<const Aval> out) {
  if (e.op->kind == Kind::movement || e.op->kind == Kind::concatenate)
    if (std::optional<Piece> shifted = partition_shift(p, e, in)) return one(std::move(*shifted));
  switch (e.op->kind) {
    case Kind::elementwise: return elementwise(p, e, in, out);
    case Kind::movement: return move(p, e, in);
    case Kind::concatenate: return concatenate(p, e, in, out[0]);
    case Kind::reduce: return reduce(p, e, in[0]);
    case Kind::arg_reduce: return arg_reduce(p, e, in[0]);
    case Kind::cumulative: return along_dimension(p, e, in, params_as<CumulativeParams>(*e.params).axis);
    case Kind::sort: return e.op == &primitive_of<Sort> ? along_dimension(p, e, in, params_as<Sort::Params>(*e.params).dimension) : Maybe();
    case Kind::dot: return dot(p, e, in);
    default: break;
  }
  if (std::optional<std::vector<Piece>> results = partition_library(p, e, in, out)) return results;
  return partition_windows(p, e, in, out);
}

}  // namespace weft::detail
