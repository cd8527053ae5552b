// How convolutions, windows, gathers and scatters are partitioned: along dimensions that they don't mix.
#include <array>

#include "core/elementwise.h"
#include "core/ops/collective.h"
#include "core/ops/common.h"
#include "core/ops/conv.h"
#include "core/ops/dynamic_slice.h"
#include "core/ops/gather.h"
#include "core/ops/reduce_window.h"
#include "core/ops/scatter.h"
#include "core/ops/shard_map.h"
#include "core/trace.h"
#include "runtime/partition_value.h"

namespace weft::detail {
namespace {

using Pieces = std::vector<Piece>;
using Maybe = std::optional<Pieces>;

std::size_t index(int d) { return static_cast<std::size_t>(d); }

/// Gathers the dimensions that are divided but not kept.
Piece keeping(const Partition& p, const Piece& x, const std::vector<bool>& keep, SourceLoc loc) {
  DimAxes axes = x.axes;
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (!keep[d]) axes[d].clear();
  return p.divide(x, axes, loc);
}

/// Of the batch, the output's features, and the sum over the input's features, which each device has a part of.
Maybe convolution(const Partition& p, const Eqn& e, const Pieces& in) {
  const ConvParams& q = params_as<ConvParams>(*e.params);
  const ConvDimensions& n = q.dimension_numbers;
  DimAxes lhs(in[0].axes.size()), rhs(in[1].axes.size()), out(lhs.size());
  Claims claims;
  if (q.batch_group_count == 1) out[index(n.out_spec[0])] = lhs[index(n.lhs_spec[0])] = claims.claim(in[0].axes[index(n.lhs_spec[0])]);
  std::vector<std::string> over;
  if (q.batch_group_count == 1 && q.feature_group_count == 1) {
    out[index(n.out_spec[1])] = rhs[index(n.rhs_spec[0])] = claims.claim(in[1].axes[index(n.rhs_spec[0])]);
    over = claims.claim_either(in[0].axes[index(n.lhs_spec[1])], in[1].axes[index(n.rhs_spec[1])]);
    lhs[index(n.lhs_spec[1])] = rhs[index(n.rhs_spec[1])] = over;
  }
  Array y = bind_primitive(*e.op, e.params, std::array{p.divide(in[0], lhs, e.loc).block, p.divide(in[1], rhs, e.loc).block}, e.loc)[0];
  if (p.parts(over) > 1) y = bind_psum(y, over, {}, e.loc);
  return Pieces{p.of_block(y, out)};
}

/// Operands of one shape, or of shapes that differ in dimensions with windows; where the window is one element, all stay divided.
template <class P>
std::vector<bool> without_windows(const P& q, int ndim) {
  std::vector<bool> keep;
  for (int k = 0; k < ndim; ++k) {
    const std::size_t d = index(k);
    bool plain = q.window_dimensions[d] == 1 && q.window_strides[d] == 1 && q.padding[d] == std::remove_cvref_t<decltype(q.padding[d])>();
    if constexpr (requires { q.base_dilation; }) plain = plain && q.base_dilation[d] == 1 && q.window_dilation[d] == 1;
    keep.push_back(plain);
  }
  return keep;
}
Maybe windows(const Partition& p, const Eqn& e, const Pieces& in, const std::vector<bool>& keep) {
  DimAxes axes(keep.size());
  Claims claims;
  for (const Piece& x : in)
    for (std::size_t d = 0; d < keep.size(); ++d)
      if (keep[d] && axes[d].empty()) axes[d] = claims.claim(x.axes[d]);
  std::vector<Array> blocks;
  for (const Piece& x : in) blocks.push_back(p.divide(x, axes, e.loc).block);
  Pieces results;
  for (const Array& y : bind_primitive(*e.op, e.params, blocks, e.loc)) results.push_back(p.of_block(y, axes));
  return results;
}

/// Windows are read along with the indices' dimensions, and stay divided where they are as wide as the operand.
Maybe gather(const Partition& p, const Eqn& e, const Pieces& in, const Aval& out) {
  Gather::Params q = params_as<Gather::Params>(*e.params);
  const IndexedGeometry g = gather_geometry(q.dimension_numbers, q.slice_sizes, out.ndim());
  DimAxes operand(in[0].axes.size()), indices(in[1].axes.size()), result(index(out.ndim()));
  Claims claims;
  for (std::size_t d = 0; d < g.dims.size(); ++d)
    if (const int b = g.dims[d].batch_dim; b >= 0)
      operand[d] = indices[index(b)] = claims.claim_either(in[0].axes[d], in[1].axes[index(b)]);
  for (std::size_t b = 0; b < g.batch_dims.size(); ++b) {
    if (indices[b].empty()) indices[b] = claims.claim(in[1].axes[b]);
    // A batch dimension of the operand that another one of the indices' axes came first for is whole.
    result[index(g.batch_dims[b])] = indices[b];
  }
  for (std::size_t d = 0; d < g.dims.size(); ++d) {
    const IndexedDim& dim = g.dims[d];
    if (dim.batch_dim >= 0) operand[d] = indices[index(dim.batch_dim)];
    if (dim.component >= 0 || dim.batch_dim >= 0 || dim.window_dim < 0 || dim.window != in[0].whole[static_cast<int>(d)]) continue;
    operand[d] = result[index(dim.window_dim)] = claims.claim(in[0].axes[d]);
    q.slice_sizes[static_cast<int>(d)] /= p.parts(operand[d]);
  }
  const Array y = bind_primitive(*e.op, make_params(std::move(q)),
                                 std::array{p.divide(in[0], operand, e.loc).block, p.divide(in[1], indices, e.loc).block}, e.loc)[0];
  return Pieces{p.of_block(y, result)};
}

/// As a gather, the other way round. Where the updates themselves are divided, each device adds its own to zeros, and the sums are added
/// up.
Maybe scatter(const Partition& p, const Eqn& e, const Pieces& in) {
  const ScatterDimensionNumbers n = scatter_params(*e.op, *e.params).dimension_numbers;
  const IndexedGeometry g = scatter_geometry(n, in[0].whole.size(), in[2].whole);
  const std::string_view name = e.op->name;
  const DType dtype = in[0].block.dtype();
  const bool adds = name == "scatter-add" && !dtype.is_bool();
  const bool extreme = (name == "scatter-max" || name == "scatter-min") && !dtype.is_complex();
  DimAxes operand(in[0].axes.size()), indices(in[1].axes.size()), updates(in[2].axes.size());
  Claims claims;
  std::vector<bool> is_batch(g.batch_dims.size());
  for (std::size_t d = 0; d < g.dims.size(); ++d) {
    const IndexedDim& dim = g.dims[d];
    if (dim.batch_dim >= 0) {
      const std::size_t b = index(dim.batch_dim), u = index(g.batch_dims[b]);
      std::vector<std::string> axes = claims.claim_either(in[2].axes[u], in[1].axes[b]);
      if (axes.empty()) axes = claims.claim(in[0].axes[d]);
      operand[d] = indices[b] = updates[u] = axes;
      is_batch[b] = true;
    } else if (dim.component < 0 && dim.window_dim >= 0 && dim.window == in[0].whole[static_cast<int>(d)]) {
      operand[d] = updates[index(dim.window_dim)] = claims.claim_either(in[2].axes[index(dim.window_dim)], in[0].axes[d]);
    }
  }
  std::vector<std::string> over;
  for (std::size_t b = 0; (adds || extreme) && b < g.batch_dims.size(); ++b) {
    if (is_batch[b]) continue;
    const std::vector<std::string> axes = claims.claim_either(in[2].axes[index(g.batch_dims[b])], in[1].axes[b]);
    indices[b] = updates[index(g.batch_dims[b])] = axes;
    over.insert(over.end(), axes.begin(), axes.end());
  }
  const Array x = p.divide(in[0], operand, e.loc).block, i = p.divide(in[1], indices, e.loc).block,
              u = p.divide(in[2], updates, e.loc).block;
  const auto bind = [&](const Array& into) { return bind_primitive(*e.op, e.params, std::array{into, i, u}, e.loc)[0]; };
  if (p.parts(over) == 1) return Pieces{p.of_block(bind(x), operand)};
  if (adds) return Pieces{p.of_block(x + bind_psum(bind(zeros_of(x.aval(), e.loc)), over, {}, e.loc), operand)};
  const Array y = bind(x);
  return Pieces{p.of_block(name == "scatter-max" ? bind_pmax(y, over, {}, e.loc) : bind_pmin(y, over, {}, e.loc), operand)};
}

/// Positions along dimensions that are as wide as the operand are 0, whatever is asked for.
Maybe dynamic_slice(const Partition& p, const Eqn& e, const Pieces& in) {
  DynamicSlice::Params q = params_as<DynamicSlice::Params>(*e.params);
  std::vector<bool> keep;
  for (int d = 0; d < q.slice_sizes.size(); ++d) keep.push_back(q.slice_sizes[d] == in[0].whole[d]);
  const Piece x = keeping(p, in[0], keep, e.loc);
  std::vector<Array> blocks{x.block};
  for (std::size_t k = 1; k < in.size(); ++k) blocks.push_back(in[k].block);
  for (int d = 0; d < q.slice_sizes.size(); ++d)
    if (keep[index(d)]) q.slice_sizes[d] = x.block.shape()[d];
  return Pieces{p.of_block(bind_primitive(*e.op, make_params(std::move(q)), blocks, e.loc)[0], x.axes)};
}
Maybe dynamic_update_slice(const Partition& p, const Eqn& e, const Pieces& in) {
  DimAxes axes(in[0].axes.size());
  Claims claims;
  for (std::size_t d = 0; d < axes.size(); ++d)
    if (in[0].whole[static_cast<int>(d)] == in[1].whole[static_cast<int>(d)]) axes[d] = claims.claim_either(in[0].axes[d], in[1].axes[d]);
  std::vector<Array> blocks{p.divide(in[0], axes, e.loc).block, p.divide(in[1], axes, e.loc).block};
  for (std::size_t k = 2; k < in.size(); ++k) blocks.push_back(in[k].block);
  return Pieces{p.of_block(bind_primitive(*e.op, e.params, blocks, e.loc)[0], axes)};
}

}  // namespace

std::optional<std::vector<Piece>> partition_windows(const Partition& p, const Eqn& e, const std::vector<Piece>& in,
                                                    std::span<const Aval> out) {
  const int ndim = in[0].whole.size();
  switch (e.op->kind) {
    case Kind::convolution: return convolution(p, e, in);
    case Kind::gather: return gather(p, e, in, out[0]);
    case Kind::scatter: return scatter(p, e, in);
    case Kind::dynamic_slice: return dynamic_slice(p, e, in);
    case Kind::dynamic_update_slice: return dynamic_update_slice(p, e, in);
    case Kind::reduce_window: return windows(p, e, in, without_windows(params_as<ReduceWindowParams>(*e.params), ndim));
    default: break;
  }
  if (e.op->name == "select_and_scatter_add") return windows(p, e, in, without_windows(params_as<SelectAndScatterParams>(*e.params), ndim));
  if (e.op->name == "select_and_gather_add") return windows(p, e, in, without_windows(params_as<SelectAndGatherParams>(*e.params), ndim));
  if (e.op->name == "scatter-sub") return scatter(p, e, in);
  return {};
}

}  // namespace weft::detail
