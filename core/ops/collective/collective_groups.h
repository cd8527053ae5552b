// Collectives with axis_index_groups over the axis of a vmap: the axis becomes two, of groups and of the lanes in a group.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "weft/core/ir/primitive.h"
#include "weft/core/ops/common.h"

namespace weft::detail {

/// x of n lanes in dimension 0 as (groups, lanes in a group, ...), and back.
Array lanes_in_groups(const Array& x, const std::vector<std::vector<int>>& groups, SourceLoc loc);
Array lanes_from_groups(const Array& x, const std::vector<std::vector<int>>& groups, SourceLoc loc);
/// Throws AxisError unless the groups hold each lane of the axis once.
void check_groups(const BatchContext& c, const std::vector<std::vector<int>>& groups);
/// Whether all groups have one size.
bool same_sizes(const std::vector<std::vector<int>>& groups);
/// Some lanes of x, in dimension 0; and all lanes of the values of groups, which are joined.
Array lanes_of_group(const Array& x, const std::vector<int>& group, SourceLoc loc);
Array lanes_joined(std::span<const Array> of_groups, const std::vector<std::vector<int>>& groups, SourceLoc loc);

/// The batching rule by Self's own without groups, along the lanes of a group. `shift` makes parameters fit operands that have the
/// dimension of the groups in front.
template <class Self, class Params, class Shift>
BatchResult batch_in_groups(const BatchContext& c, Shift&& shift) {
  Params in_a_group = c.get<Params>();
  const std::vector<std::vector<int>> groups = *std::exchange(in_a_group.axis_index_groups, {});
  check_groups(c, groups);
  Params in_each_group = in_a_group;
  shift(in_each_group);
  const ParamsRef one = make_params(std::move(in_a_group)), each = make_params(std::move(in_each_group));
  BatchResult r;
  if (!same_sizes(groups)) {
    // One group after the other: a result of the operand's shape for each lane.
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      const Array all = materialize_batch_dim(c.in[i], c.dims[i], c.axis.size, 0, c.loc);
      std::vector<Array> parts;
      for (const std::vector<int>& group : groups) {
        const MappedAxis some{c.axis.name, static_cast<std::int64_t>(group.size())};
        const Array x = lanes_of_group(all, group, c.loc);
        const int dim = 0;
        const BatchResult within = Self::batch({c.op, one, std::span(&x, 1), std::span(&dim, 1), some, c.loc});
        parts.push_back(materialize_batch_dim(within.out[0], within.dims[0], some.size, 0, c.loc));
      }
      r.out.push_back(lanes_joined(parts, groups, c.loc)), r.dims.push_back(0);
    }
    return r;
  }
  const MappedAxis lanes{c.axis.name, static_cast<std::int64_t>(groups[0].size())};
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const bool mapped = c.dims[i] != kNotMapped;
    const Array x = mapped ? lanes_in_groups(move_batch_dim(c.in[i], c.dims[i], 0, c.loc), groups, c.loc) : c.in[i];
    const int dim = mapped ? 1 : kNotMapped;
    const BatchResult within = Self::batch({c.op, mapped ? each : one, std::span(&x, 1), std::span(&dim, 1), lanes, c.loc});
    if (!mapped && within.dims[0] == kNotMapped) {
      r.out.push_back(within.out[0]), r.dims.push_back(kNotMapped);
      continue;
    }
    Array y = materialize_batch_dim(within.out[0], within.dims[0], lanes.size, mapped ? 1 : 0, c.loc);
    if (!mapped) y = broadcast_batch_dim(y, static_cast<std::int64_t>(groups.size()), 0, c.loc);
    r.out.push_back(lanes_from_groups(y, groups, c.loc)), r.dims.push_back(0);
  }
  return r;
}

}  // namespace weft::detail
