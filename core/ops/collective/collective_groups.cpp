#include "weft/core/ops/collective/collective_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

/// Rows of x in another order.
Array permuted_rows(const Array& x, const std::vector<std::int32_t>& rows, SourceLoc loc) {
  LocScope scope(loc);
  return take(x, array(rows, loc), 0);
}

std::int64_t lane(const std::vector<std::vector<int>>& groups, std::size_t g, std::size_t k) { return groups[g][k]; }

/// Whether lane k of group g is g * by_group + k * by_lane.
bool strided(const std::vector<std::vector<int>>& groups, std::int64_t by_group, std::int64_t by_lane) {
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (std::size_t k = 0; k < groups[g].size(); ++k)
      if (lane(groups, g, k) != static_cast<std::int64_t>(g) * by_group + static_cast<std::int64_t>(k) * by_lane) return false;
  return true;
}
/// Neighbours together: {0, 1}, {2, 3}, ...
bool in_order(const std::vector<std::vector<int>>& groups) { return strided(groups, static_cast<std::int64_t>(groups[0].size()), 1); }
/// Every n-th together: {0, 2}, {1, 3}, ...
bool interleaved(const std::vector<std::vector<int>>& groups) { return strided(groups, 1, static_cast<std::int64_t>(groups.size())); }

}  // namespace

void check_groups(const BatchContext& c, const std::vector<std::vector<int>>& groups) {
  const auto fail = [&](const std::string& problem) {
    throw AxisError(fmt::format("{}: axis_index_groups {}", c.op.name, problem), c.loc);
  };
  std::vector<int> seen(static_cast<std::size_t>(c.axis.size));
  std::int64_t lanes = 0;
  for (const auto& group : groups)
    for (int i : group) {
      if (i < 0 || i >= c.axis.size || seen[static_cast<std::size_t>(i)]++)
        fail(fmt::format("hold the position {}, out of range or twice; the axis `{}` has {}", i, c.axis.name, c.axis.size));
      ++lanes;
    }
  if (lanes != c.axis.size)
    fail(fmt::format("hold {} of the {} positions of the axis `{}`; each must be in one group", lanes, c.axis.size, c.axis.name));
}

bool same_sizes(const std::vector<std::vector<int>>& groups) {
  return std::all_of(groups.begin(), groups.end(), [&](const auto& group) { return group.size() == groups[0].size(); });
}

Array lanes_of_group(const Array& x, const std::vector<int>& group, SourceLoc loc) {
  return permuted_rows(x, {group.begin(), group.end()}, loc);
}

Array lanes_joined(std::span<const Array> of_groups, const std::vector<std::vector<int>>& groups, SourceLoc loc) {
  std::size_t lanes = 0;
  for (const auto& group : groups) lanes += group.size();
  std::vector<std::int32_t> from(lanes);
  std::int32_t position = 0;
  for (const auto& group : groups)
    for (int i : group) from[static_cast<std::size_t>(i)] = position++;
  return permuted_rows(concatenate_along(of_groups, 0, loc), from, loc);
}

Array lanes_in_groups(const Array& x, const std::vector<std::vector<int>>& groups, SourceLoc loc) {
  const auto n = static_cast<std::int64_t>(groups.size()), size = static_cast<std::int64_t>(groups[0].size());
  if (!in_order(groups) && interleaved(groups)) return move_axis(reshape_to(x, x.shape().with(0, n).inserted(0, size), loc), 1, 0, loc);
  Array rows = x;
  if (!in_order(groups)) {
    std::vector<std::int32_t> from;
    for (const auto& group : groups) from.insert(from.end(), group.begin(), group.end());
    rows = permuted_rows(x, from, loc);
  }
  return reshape_to(rows, x.shape().with(0, size).inserted(0, n), loc);
}

Array lanes_from_groups(const Array& x, const std::vector<std::vector<int>>& groups, SourceLoc loc) {
  const std::int64_t lanes = x.shape()[0] * x.shape()[1];
  const Array y = !in_order(groups) && interleaved(groups) ? move_axis(x, 1, 0, loc) : x;
  const Array rows = reshape_to(y, x.shape().erased(0).with(0, lanes), loc);
  if (in_order(groups) || interleaved(groups)) return rows;
  std::vector<std::int32_t> from(static_cast<std::size_t>(lanes));
  std::int32_t position = 0;
  for (const auto& group : groups)
    for (int i : group) from[static_cast<std::size_t>(i)] = position++;
  return permuted_rows(rows, from, loc);
}

}  // namespace weft::detail
