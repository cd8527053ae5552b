// Which roots share a kernel: a root joins one whose outer loops run over the same points, where what it reads of the kernel's earlier
// nests is at its own outer point, and where fusing them saves more than it costs.
#include <algorithm>
#include <cmath>

#include "weft/backends/codegen/planner/planner.h"
#include "weft/core/ops/reduce/reduce.h"

namespace weft::detail {
namespace {

constexpr double kSmall = 60e3;  // kernels of fewer cycles are not worth a fork, so they need no outer loop
// Of one kernel. LLVM's time grows faster than a kernel's size, and a schedule splits some loops: a kernel has 64 at most.
constexpr int kMaxNodes = 6000;
constexpr std::size_t kMaxRoots = 24;
constexpr std::int64_t kMaxDims = 56;
constexpr std::int64_t kLargeBytes = 24 << 20;            // fusing results of this size side by side raises peak memory
constexpr double kFewestRows = 8, kRowBytes = 32 * 1024;  // outer points, and what each keeps in the first cache
constexpr double kTileBytes = 512 * 1024;                 // the memory that a column of outer points may touch and stay in the cache

double product(const std::vector<std::int64_t>& sizes) {
  double n = 1;
  for (std::int64_t s : sizes) n *= static_cast<double>(s);
  return n;
}

/// If the coordinate is exactly that of a value's dimension, split into the given loops, finds the reader's loops that run along them.
bool match_loops(const Dag& dag, NodeId coord, std::span<const Root::Dim> loops, std::size_t num_parallel, std::vector<int>& out) {
  const Affine& a = dag.affine(coord);
  if (a.constant != 0 || a.terms.size() != loops.size()) return false;
  for (const Root::Dim& loop : loops) {
    const auto term = std::find_if(a.terms.begin(), a.terms.end(), [&](const AffineTerm& t) { return t.coef == loop.scale; });
    if (term == a.terms.end() || term->atom < 0 || static_cast<std::size_t>(term->atom) >= num_parallel) return false;
    if (dag.dims[static_cast<std::size_t>(term->atom)] != loop.size) return false;
    out.push_back(term->atom);
  }
  return true;
}

}  // namespace

void KernelPlanner::group() {
  step_of_.assign(avals_.size(), -1);
  for (const Item& item : items_) {
    if (item.root >= 0) {
      place(item.root);
      continue;
    }
    for (Var v : j_.eqns[static_cast<std::size_t>(item.eqn)].outputs) step_of_[v] = static_cast<int>(steps_.size());
    steps_.push_back(item);
  }
  for (Group& g : groups_) block_rows(g);
}

void KernelPlanner::place(int root) {
  const Root& r = roots_[static_cast<std::size_t>(root)];
  if (r.kind == Root::Kind::scatter) {
    place_scatter(root);
    return;
  }
  int earliest = -1;
  for (const Root::Read& read : r.reads) earliest = std::max(earliest, step_of_[read.var]);
  const int last = static_cast<int>(steps_.size()) - 1;
  const bool alone = copies_updated(r);
  for (int s = std::max(earliest, last - 32); s <= last && !alone; ++s)
    if (s >= 0 && steps_[static_cast<std::size_t>(s)].group >= 0 && join(s, root)) {
      step_of_[r.var] = s;
      return;
    }
  Group g;
  g.roots = {root};
  g.outer.emplace_back();
  for (std::size_t k = 0; k < (r.by_rows ? 1 : r.parallel.size()); ++k) {
    g.sizes.push_back(r.parallel[k].size);
    g.outer[0].push_back(static_cast<int>(k));
  }
  g.work = r.work();
  g.nodes = static_cast<int>(r.dag->nodes.size());
  g.closed = alone;
  step_of_[r.var] = static_cast<int>(steps_.size());
  steps_.push_back({-1, -1, static_cast<int>(groups_.size())});
  groups_.push_back(std::move(g));
}

/// Whether the copied operand of a scatter is an input, or memory that a scatter updates. If nothing reads the operand afterwards, the
/// result takes its memory and nothing is copied: so the copy is scheduled as late as possible, after all reads of the operand, and in a
/// kernel of its own.
bool KernelPlanner::copies_updated(const Root& r) const {
  if (r.kind != Root::Kind::copy) return false;
  const Atom operand = j_.eqns[static_cast<std::size_t>(r.eqn)].inputs[0];
  return !operand.is_literal() && (defined_by_[operand.var()] < 0 || updates_[operand.var()] >= 0);
}

/// The loop of the root that would run along each outer loop of the group; -1 if none does, so that the group would lose that outer loop.
std::optional<std::vector<int>> KernelPlanner::align(const Group& g, int root) const {
  const Root& r = roots_[static_cast<std::size_t>(root)];
  std::vector<int> alignment(g.sizes.size(), -2);  // -2: free
  bool depends = false, shares = false;
  std::int64_t shared_bytes = 0;
  for (const Root::Read& read : r.reads) {
    const int source = read.var < root_of_.size() ? root_of_[read.var] : -1;
    const auto member = std::find(g.roots.begin(), g.roots.end(), source);
    if (source < 0 || member == g.roots.end()) {
      for (int other : g.roots) {
        const std::vector<Root::Read>& others = roots_[static_cast<std::size_t>(other)].reads;
        if (avals_[read.var].size() <= 1 ||
            std::none_of(others.begin(), others.end(), [&](const Root::Read& o) { return o.var == read.var; }))
          continue;
        shares = true;
        shared_bytes = std::max(shared_bytes, avals_[read.var].bytes());
      }
      continue;
    }
    depends = true;
    const Root& producer = roots_[static_cast<std::size_t>(source)];
    const std::vector<int>& outer = g.outer[static_cast<std::size_t>(member - g.roots.begin())];
    // The reader's loops for each loop of the producer's value.
    std::vector<int> readers(producer.parallel.size(), -1);
    for (std::size_t k = 0; k < producer.parallel.size();) {
      std::size_t end = k;
      while (end < producer.parallel.size() && producer.parallel[end].value_dim == producer.parallel[k].value_dim) ++end;
      std::vector<int> loops;
      if (match_loops(*r.dag, read.coords[static_cast<std::size_t>(producer.parallel[k].value_dim)],
                      std::span(producer.parallel).subspan(k, end - k), r.parallel.size(), loops))
        std::copy(loops.begin(), loops.end(), readers.begin() + static_cast<std::ptrdiff_t>(k));
      k = end;
    }
    for (std::size_t k = 0; k < outer.size(); ++k) {
      const int reader = readers[static_cast<std::size_t>(outer[k])];
      if (alignment[k] == -2 || alignment[k] == reader)
        alignment[k] = reader;
      else
        alignment[k] = -1;
    }
  }
  if (!depends) {
    // Fusing side by side: the iteration spaces are the same, and the fusion saves work.
    const bool small = g.work + r.work() < kSmall;
    const Root& first = roots_[static_cast<std::size_t>(g.roots[0])];
    if (first.by_rows && r.by_rows && shares && first.chunks == r.chunks && first.chunk == r.chunk && first.points() == r.points())
      return std::vector<int>{0};
    if (g.sizes.size() != r.parallel.size()) return small ? std::optional(std::vector<int>(g.sizes.size(), -1)) : std::nullopt;
    bool same = true;
    for (std::size_t k = 0; k < g.sizes.size(); ++k) {
      same &= g.sizes[k] == r.parallel[k].size;
      alignment[k] = static_cast<int>(k);
    }
    if (!same) return small ? std::optional(std::vector<int>(g.sizes.size(), -1)) : std::nullopt;
    if (!shares && !small) return {};
    // Large results that share few of their operands, such as the windows of a convolution in pieces, gain little from fusion and would be
    // live at the same time.
    const std::int64_t bytes = avals_[r.var].bytes();
    if (bytes >= kLargeBytes && shared_bytes < bytes / 4) return {};
    return alignment;
  }
  // Two outer loops cannot run along one loop.
  for (std::size_t k = 0; k < alignment.size(); ++k)
    for (std::size_t l = 0; l < k; ++l)
      if (alignment[k] >= 0 && alignment[k] == alignment[l]) alignment[k] = -1;
  for (int& a : alignment) a = std::max(a, -1);
  return alignment;
}

/// Neighbours along a middle axis, such as the columns of an image whose pixels have channels: the axes behind it stay in the nests, too,
/// if they are shorter than a vector, as lanes would be far apart in memory along the middle axis alone.
void KernelPlanner::keep_rows_whole(const Group& g, const Root& r, std::vector<int>& alignment) const {
  const auto gap = static_cast<std::size_t>(std::find(alignment.begin(), alignment.end(), -1) - alignment.begin());
  double rows = 1;
  std::int64_t behind = 1;
  for (std::size_t k = 0; k < alignment.size(); ++k) {
    if (k < gap && alignment[k] != static_cast<int>(k)) return;
    if (k < gap) rows *= static_cast<double>(g.sizes[k]);
    if (k > gap && alignment[k] >= 0) behind *= g.sizes[k];
  }
  if (!target_.keeps_rows_whole || rows < kFewestRows || behind == 1) return;
  if (behind * avals_[r.var].dtype.itemsize() >= target_.vector_bytes) return;
  const auto is_row_by_row = [&](const Root& root, std::span<const int> outer) {
    if (root.kind != Root::Kind::map || !root.reduce.empty()) return false;
    if (root.points() / rows * avals_[root.var].dtype.itemsize() > kRowBytes) return false;
    std::uint64_t inner = (std::uint64_t{1} << root.parallel.size()) - 1;
    for (int loop : outer.first(gap)) inner &= ~(std::uint64_t{1} << loop);
    // What is read for each point of a row, or once for all: else its loops are no single one.
    return std::all_of(root.reads.begin(), root.reads.end(), [&](const Root::Read& read) {
      std::uint64_t along = 0;
      for (NodeId c : read.coords) along |= (*root.dag)[c].dims & inner;
      return along == 0 || along == inner;
    });
  };
  for (std::size_t m = 0; m < g.roots.size(); ++m)
    if (!is_row_by_row(roots_[static_cast<std::size_t>(g.roots[m])], g.outer[m])) return;
  if (is_row_by_row(r, alignment)) std::fill(alignment.begin() + static_cast<std::ptrdiff_t>(gap), alignment.end(), -1);
}

bool KernelPlanner::worthwhile(const Group& g, const Root& r, const std::vector<int>& alignment) const {
  double points = 1, inner = 1;
  bool same = (r.by_rows ? 1 : r.parallel.size()) == g.sizes.size(), prefix = true;
  int next = 0;
  for (std::size_t k = 0; k < g.sizes.size(); ++k) {
    same &= alignment[k] == static_cast<int>(k);
    if (alignment[k] < 0) continue;
    points *= static_cast<double>(g.sizes[k]);
    prefix &= alignment[k] == next++;
  }
  if (same) return true;
  const double work = g.work + r.work();
  if (work < kSmall) return true;
  if (points < 64) return false;
  // The parts of a split reduction of columns are computed side by side; those of a row, one after the other.
  if (r.stage == Root::Stage::combine && std::find(g.roots.begin(), g.roots.end(), root_of_[r.partial]) != g.roots.end()) {
    const Eqn& e = j_.eqns[static_cast<std::size_t>(r.eqn)];
    const std::vector<int>& axes = params_as<ReduceParams>(*e.params).axes;
    if (std::find(axes.begin(), axes.end(), j_.aval(e.inputs[0]).ndim() - 1) == axes.end()) return false;
  }
  // Reading along columns pays only if a column's neighbourhood stays in the cache.
  inner = r.points() / std::max(points, 1.0);
  if (!prefix) return inner * 256 <= kTileBytes;
  // Rows of a few elements make poor vectors; columns of such rows are gathers.
  double group_inner = product(g.sizes) / points;
  return std::max(inner, group_inner) >= 8 || std::max(inner, group_inner) == 1 || points * std::max(inner, group_inner) < 4096;
}

bool KernelPlanner::join(int step, int root) {
  Group& g = groups_[static_cast<std::size_t>(steps_[static_cast<std::size_t>(step)].group)];
  const Root& r = roots_[static_cast<std::size_t>(root)];
  if (g.closed || g.roots.size() >= kMaxRoots || g.nodes + static_cast<int>(r.dag->nodes.size()) > kMaxNodes) return false;
  std::optional<std::vector<int>> alignment = align(g, root);
  if (alignment) keep_rows_whole(g, r, *alignment);
  if (!alignment || !worthwhile(g, r, *alignment)) return false;
  std::size_t dims = r.parallel.size() + r.reduce.size();
  for (int other : g.roots)
    dims += roots_[static_cast<std::size_t>(other)].parallel.size() + roots_[static_cast<std::size_t>(other)].reduce.size();
  if (dims > kMaxDims) return false;
  // The remaining outer loops.
  std::vector<int> kept;
  std::vector<std::int64_t> sizes;
  for (std::size_t k = 0; k < g.sizes.size(); ++k)
    if ((*alignment)[k] >= 0) kept.push_back(static_cast<int>(k)), sizes.push_back(g.sizes[k]);
  for (std::vector<int>& outer : g.outer) {
    std::vector<int> remaining;
    for (int k : kept) remaining.push_back(outer[static_cast<std::size_t>(k)]);
    outer = std::move(remaining);
  }
  g.sizes = std::move(sizes);
  g.outer.emplace_back();
  for (int k : kept) g.outer.back().push_back((*alignment)[static_cast<std::size_t>(k)]);
  g.roots.push_back(root);
  g.work += r.work();
  g.nodes += static_cast<int>(r.dag->nodes.size());
  return true;
}

}  // namespace weft::detail
