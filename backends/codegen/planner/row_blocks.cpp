// Matmuls, and other reductions that share an operand between rows, in one kernel with what reduces these rows: takes a group whose last
// outer loop runs over single rows, gives one whose outer loop runs over blocks of rows, so that each vector of the right operand that is
// loaded serves all rows of a block.
#include <algorithm>
#include <cstdlib>

#include "weft/backends/codegen/planner/planner.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kWanted = 8;  // rows of a block
constexpr std::int64_t kFewest = 4, kMost = 16;
constexpr std::int64_t kTile = 4;          // rows that share a vector in registers
constexpr double kReread = 4 << 10;        // bytes of a right operand that fit beside a row's other values in registers and cache
constexpr double kBlockBytes = 128 << 10;  // what the values of a block may take up
constexpr double kLight = 4;               // cycles of a step, up to which loads are a good part of it
constexpr double kSteps = 4;               // of a reduction, from which on its sums are kept in tiles
constexpr int kShortRow = 4;               // vectors
constexpr double kOuterPoints = 16;        // blocks that are left to divide among threads

/// Bytes of the largest operand that a reduction reads whole at each outer point though it would serve the next one too: it does not depend
/// on the last outer loop, and its vectors run along the last of the loops that are no outer ones.
double bytes_read_again(const Root& r, const std::vector<Aval>& avals, const std::vector<int>& outer) {
  std::uint64_t outer_dims = 0;
  for (const int k : outer) outer_dims |= std::uint64_t{1} << k;
  int columns = -1;
  for (int k = 0; k < static_cast<int>(r.parallel.size()); ++k)
    if (!(outer_dims >> k & 1)) columns = k;
  if (columns < 0) return 0;
  double most = 0;
  for (const Root::Read& read : r.reads) {
    std::uint64_t dims = 0;
    for (const NodeId c : read.coords) dims |= (*r.dag)[c].dims;
    std::int64_t stride = 0;
    if (read.coords.empty() || dims >> outer.back() & 1 || !r.dag->stride(read.coords.back(), columns, stride) || stride != 1) continue;
    double bytes = avals[read.var].dtype.itemsize();
    for (std::size_t d = 0; d < r.dag->dims.size(); ++d)
      if ((dims & ~outer_dims) >> d & 1) bytes *= static_cast<double>(r.dag->dims[d]);
    most = std::max(most, bytes);
  }
  return most;
}

}  // namespace

void KernelPlanner::block_rows(Group& g) {
  if (!target_.row_blocks || g.roots.size() < 2 || g.sizes.empty()) return;
  const std::size_t last = g.sizes.size() - 1;
  bool reads_again = false;
  double row_bytes = 0, longest = 0;
  for (std::size_t i = 0; i < g.roots.size(); ++i) {
    const Root& r = roots_[static_cast<std::size_t>(g.roots[i])];
    if (!r.is_by_element()) return;
    double inner = avals_[r.var].dtype.itemsize();
    for (std::size_t k = 0; k < r.parallel.size(); ++k)
      if (std::find(g.outer[i].begin(), g.outer[i].end(), static_cast<int>(k)) == g.outer[i].end())
        inner *= static_cast<double>(r.parallel[k].size);
    row_bytes += inner;
    if (r.reduce.empty()) continue;
    const double again = bytes_read_again(r, avals_, g.outer[i]);
    const double steps = r.points() / std::max(1., static_cast<double>(avals_[r.var].size()));
    reads_again |= again > kReread && r.cycles_per_point <= kLight && steps >= kSteps && inner >= target_.vector_bytes / 2;
    if (again == 0) longest = std::max(longest, avals_[r.var].dtype.itemsize() * steps);
  }
  // Schedules take several rows at a time where these have few vectors.
  if (!reads_again || (longest > 0 && longest <= kShortRow * target_.vector_bytes)) return;
  double points = 1;
  for (std::int64_t s : g.sizes) points *= static_cast<double>(s);
  const auto distance = [](std::int64_t n) { return std::abs(n - kWanted) + (n % kTile == 0 ? 0 : kMost); };
  std::int64_t rows = 0;
  for (std::int64_t n = kFewest; n <= kMost; ++n)
    if (const double size = static_cast<double>(n); g.sizes[last] % n == 0 && points / size >= kOuterPoints &&
                                                    row_bytes * size <= kBlockBytes && (rows == 0 || distance(n) < distance(rows)))
      rows = n;
  if (rows == 0) return;

  std::vector<Root> blocked;
  std::vector<std::vector<int>> outer = g.outer;
  const std::vector<char> before = is_root_;
  for (std::size_t i = 0; i < g.roots.size(); ++i) {
    Root r = roots_[static_cast<std::size_t>(g.roots[i])];
    const auto at = static_cast<std::size_t>(outer[i][last]);
    const Root::Dim dim = r.parallel[at];
    r.parallel[at] = {dim.value_dim, dim.size / rows, dim.scale * rows};
    r.parallel.insert(r.parallel.begin() + static_cast<std::ptrdiff_t>(at) + 1, {dim.value_dim, rows, dim.scale});
    for (int& k : outer[i])
      if (k > outer[i][last]) ++k;
    const std::vector<Root::Dim> loops = r.parallel;
    build_alone(r);
    if (r.parallel != loops || is_root_ != before) {
      is_root_ = before;
      cut_.clear();
      return;
    }
    blocked.push_back(std::move(r));
  }
  for (std::size_t i = 0; i < g.roots.size(); ++i) roots_[static_cast<std::size_t>(g.roots[i])] = std::move(blocked[i]);
  g.outer = std::move(outer);
  g.sizes[last] /= rows;
}

}  // namespace weft::detail
