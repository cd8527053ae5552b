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
/// Throws AxisError unless the groups, of one size, hold each lane of the axis once.
void check_groups(const BatchContext& c, const std::vector<std::vector<int>>& groups);

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
  const MappedAxis lanes{c.axis.name, static_cast<std::int64_t>(groups[0].size())};
  BatchResult r;
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
