// Partitioning of convolutions and window reductions: along batch and feature dimensions, and along spatial ones with a halo exchange of
// the elements that windows reach in neighbouring blocks.
#include <array>

#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/contraction/conv.h"
#include "weft/core/ops/reduce/reduce_window.h"
#include "weft/core/ops/reduce/reduction_identity.h"
#include "weft/core/ops/reduce/window_params.h"
#include "weft/core/trace/trace.h"
#include "weft/runtime/host/reduce.h"
#include "weft/runtime/partition/partition_rules.h"

namespace weft::detail {
namespace {

std::size_t index(int d) { return static_cast<std::size_t>(d); }

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a > 0 ? (a + b - 1) / b : -(-a / b); }

/// The elements along one dimension that a device needs, and the padding around them.
struct Reach {
  BlockWindow window;
  std::int64_t low, high;
};

/// What `length` padded positions from position k * distance on reach of the elements, on device k of `devices`; nothing where devices
/// differ in more than their position, where these are padding alone, or where that is as much as the whole.
std::optional<Reach> reach_of(const WindowDim& d, std::int64_t devices, std::int64_t distance, std::int64_t length) {
  if (!d.is_countable() || distance % d.base_dilation != 0 || length <= 0) return {};
  const std::int64_t first = ceil_div(-d.low, d.base_dilation);
  const std::int64_t last = length - 1 - d.low;  // counted from the first element
  if (last < first * d.base_dilation) return {};
  const std::int64_t behind = last >= 0 ? last / d.base_dilation + 1 : 1 - ceil_div(-last, d.base_dilation);
  Reach r{{first, distance / d.base_dilation, behind - first}, first * d.base_dilation + d.low, 0};
  r.high = length - r.low - dilated(r.window.size, d.base_dilation);
  if (!is_less_than_whole(r.window, d.size, devices)) return {};
  return r;
}

/// The elements that a device's windows reach; nothing if the windows can't be divided evenly.
std::optional<Reach> reach_of_windows(const WindowDim& d, std::int64_t devices) {
  const std::int64_t positions = d.positions();
  if (positions == 0 || positions % devices != 0) return {};
  const std::int64_t own = positions / devices;
  return reach_of(d, devices, own * d.stride, (own - 1) * d.stride + dilated(d.window, d.window_dilation));
}

}  // namespace

/// Sharded along the batch and the output's features; where the input's features are sharded, each device has a part of the sum. Sharded
/// spatial dimensions: each device has a part of the windows, or, where those are sharded alike, a part of the sum over each window.
std::optional<ShardedValues> partition_convolution(const PartitionContext& c) {
  const ShardedValues& in = c.in;
  ConvParams q = c.get<ConvParams>();
  const ConvDimensions& n = c.get<ConvParams>().dimension_numbers;
  DimAxes lhs(in[0].axes.size()), rhs(in[1].axes.size()), out(lhs.size());
  AxisAssignment assignment;
  if (q.batch_group_count == 1) out[index(n.out_spec[0])] = lhs[index(n.lhs_spec[0])] = assignment.claim(in[0].axes[index(n.lhs_spec[0])]);
  std::vector<std::string> over;
  if (q.batch_group_count == 1 && q.feature_group_count == 1) {
    out[index(n.out_spec[1])] = rhs[index(n.rhs_spec[0])] = assignment.claim(in[1].axes[index(n.rhs_spec[0])]);
    over = assignment.claim_either(in[0].axes[index(n.lhs_spec[1])], in[1].axes[index(n.rhs_spec[1])]);
    lhs[index(n.lhs_spec[1])] = rhs[index(n.rhs_spec[1])] = over;
  }
  const std::vector<WindowDim> windows = conv_windows(q, in[0].whole, in[1].whole);
  std::vector<std::optional<Reach>> reaches(windows.size());
  for (std::size_t s = 0; s < windows.size(); ++s) {
    const std::size_t l = index(n.lhs_spec[s + 2]), r = index(n.rhs_spec[s + 2]), o = index(n.out_spec[s + 2]);
    if (c.partition.parts(in[0].axes[l]) == 1) continue;
    const std::vector<std::string> axes = assignment.claim(in[0].axes[l]);
    if (axes.empty()) continue;
    const WindowDim& w = windows[s];
    const std::int64_t devices = c.partition.parts(axes);
    const bool in_window = axes == in[1].axes[r];
    if (in_window) {
      const std::int64_t own = w.window / devices;
      reaches[s] = reach_of(w, devices, own * w.window_dilation, (own - 1) * w.window_dilation + (w.positions() - 1) * w.stride + 1);
    } else {
      reaches[s] = reach_of_windows(w, devices);
    }
    if (!reaches[s]) continue;
    lhs[l] = axes;
    if (in_window) {
      rhs[r] = axes;
      over.insert(over.end(), axes.begin(), axes.end());
    } else {
      out[o] = axes;
    }
  }
  Array x = c.reshard(in[0], lhs).block;
  for (std::size_t s = 0; s < windows.size(); ++s) {
    if (!reaches[s]) continue;
    const int dim = n.lhs_spec[s + 2];
    x = window_of_block(c.partition, x, dim, lhs[index(dim)], reaches[s]->window, {}, c.eqn.loc);
    q.padding[s] = {reaches[s]->low, reaches[s]->high};
  }
  const DType dtype = c.out[0].dtype;
  const bool joins = c.partition.parts(over) > 1;
  if (joins && partial_dtype(dtype) != dtype) q.preferred_element_type = partial_dtype(dtype);
  Array y = c.bind_with(std::move(q), std::array{x, c.reshard(in[1], rhs).block})[0];
  if (joins) y = convert(bind_psum(y, over, {}, c.eqn.loc), dtype);
  return ShardedValues{c.partition.of_block(y, out)};
}

/// Sharded along all dimensions whose windows can be divided evenly.
std::optional<ShardedValues> partition_reduce_window(const PartitionContext& c) {
  ReduceWindowParams q = c.get<ReduceWindowParams>();
  const std::optional<Combiner>& combiner = c.eqn.op->combiner;
  const std::vector<bool> keep = without_windows(q);
  if (c.in.size() != 1 || !combiner) return partition_keeping(c, keep);
  const ShardedValue& in = c.in[0];
  const std::vector<WindowDim> windows = windows_of(q, in.whole);
  DimAxes axes = in.axes;
  std::vector<std::optional<Reach>> reaches(windows.size());
  for (std::size_t d = 0; d < windows.size(); ++d) {
    const std::int64_t devices = c.partition.parts(axes[d]);
    if (keep[d] || axes[d].empty()) continue;
    if (devices > 1) reaches[d] = reach_of_windows(windows[d], devices);
    if (!reaches[d]) axes[d].clear();
  }
  Array x = c.reshard(in, axes).block;
  for (std::size_t d = 0; d < windows.size(); ++d) {
    if (!reaches[d]) continue;
    // A sum's padding is zeros; other combiners' is what changes nothing.
    const auto fill = combiner == Combiner::sum ? std::nullopt : std::optional(identity_of(*combiner, x.dtype()));
    x = window_of_block(c.partition, x, static_cast<int>(d), axes[d], reaches[d]->window, fill, c.eqn.loc);
    q.padding[d] = {reaches[d]->low, reaches[d]->high};
  }
  return ShardedValues{c.partition.of_block(c.bind_with(std::move(q), std::span(&x, 1))[0], axes)};
}

}  // namespace weft::detail
