// How scatters become kernels. The operand is copied into the result's memory, unless it is there already, then windows of it are updated
// in place, in the order of the indices.
//
// The places that the indices can name are numbered: a window is in one such row of the result. The kernel may be partitioned by rows: each
// part goes through all windows and updates those of its own rows, so that updates of one element keep their order however many parts
// there are. Where rows take many operations, a kernel of its own computes them first: for each window its row, or -1 where it is left out.
#include <algorithm>

#include "weft/backends/codegen/planner/planner.h"
#include "weft/core/ops/movement/scatter.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kManyWindows = 4096;     // from this many windows on, dividing a scatter pays off
constexpr std::int64_t kFewRows = 4;            // up to this many rows it does not
constexpr std::int64_t kMostRows = 0x7fffffff;  // the largest row number in an int32
constexpr std::int64_t kVectorWindow = 16;      // windows of this many elements are vectorised
constexpr double kManyOperations = 24;          // indices of this cost are computed once and stored

bool contains(const std::vector<int>& v, int x) { return std::find(v.begin(), v.end(), x) != v.end(); }

}  // namespace

bool is_indexed(const IndexedDim& d) { return d.component >= 0 || d.batch_dim >= 0; }

IndexedGeometry KernelPlanner::geometry_of_scatter(const Eqn& e) const {
  return scatter_geometry(scatter_params(*e.op, *e.params).dimension_numbers, j_.aval(e.inputs[0]).ndim(), j_.aval(e.inputs[2]).shape);
}

/// Whether the scatter overwrites, or combines by a reduction that kernels support.
bool KernelPlanner::is_kernel_scatter(const Eqn& e) const {
  if (e.op->kind != Kind::scatter) return false;
  if (!e.op->combiner) return !params_as<Scatter::Params>(*e.params).update_jaxpr.jaxpr;
  // Sums of bools are not sums of bytes.
  const DType dtype = j_.avals[e.outputs[0]].dtype;
  return !dtype.is_bool() && can_reduce(*e.op->combiner, dtype);
}

/// Whether it is a kernel that is partitioned by rows.
bool KernelPlanner::is_partitioned_scatter(const Eqn& e) const {
  if (!target_.partitions_scatters || !is_kernel_scatter(e)) return false;
  const IndexedGeometry g = geometry_of_scatter(e);
  const Shape &operand = j_.aval(e.inputs[0]).shape, &updates = j_.aval(e.inputs[2]).shape;
  std::int64_t windows = 1, rows = 1;
  for (int d : g.batch_dims) windows *= updates[d];
  for (std::size_t d = 0; d < g.dims.size(); ++d) {
    if (!is_indexed(g.dims[d])) continue;
    if (g.dims[d].window != 1) return false;
    rows *= operand[static_cast<int>(d)];
  }
  // Long windows into a few rows are partitioned along the windows.
  const bool long_windows = updates.num_elements() / std::max<std::int64_t>(windows, 1) > 64 * rows;
  return windows >= kManyWindows && windows <= kMostRows && rows >= kFewRows && rows <= kMostRows && !long_windows;
}

/// Whether the updates are computed and stored before a partitioned scatter, with vectors.
bool KernelPlanner::stores_updates(const Eqn& e) const {
  if (e.inputs[2].is_literal() || !is_partitioned_scatter(e)) return false;
  std::int64_t window = 1;
  for (const IndexedDim& d : geometry_of_scatter(e).dims) window *= d.window;
  return window < kVectorWindow && cost_[e.inputs[2].var()] > kCheap;
}

/// Whether a separate kernel computes the rows of the windows; else every part computes them, with vectors, as it goes through the windows.
bool KernelPlanner::stores_rows(const Eqn& e) const {
  return !e.inputs[1].is_literal() && !is_root_[e.inputs[1].var()] &&
         cost_[e.inputs[1].var()] * static_cast<double>(j_.aval(e.inputs[1]).shape.back()) > kManyOperations;
}

/// Whether the scatter may work on its operand: the result of another one, which nothing else reads.
bool KernelPlanner::takes_over_operand(const Eqn& e) const {
  if (e.inputs[0].is_literal()) return false;
  const Var x = e.inputs[0].var();
  return defined_by_[x] >= 0 && times_read_[x] == 1 && is_kernel_scatter(j_.eqns[static_cast<std::size_t>(defined_by_[x])]);
}

/// For each equation the last equation whose kernel computes it: itself, or a later one that it is fused into.
std::vector<int> KernelPlanner::last_kernels() const {
  std::vector<int> of_eqn(j_.eqns.size()), of_var(avals_.size(), -1);
  for (std::size_t i = j_.eqns.size(); i-- > 0;) {
    const Eqn& e = j_.eqns[i];
    of_eqn[i] = static_cast<int>(i);
    if (injective_[i])
      for (Var v : e.outputs)
        if (!is_root_[v]) of_eqn[i] = std::max(of_eqn[i], of_var[v]);
    for (Atom a : e.inputs)
      if (!a.is_literal()) of_var[a.var()] = std::max(of_var[a.var()], of_eqn[i]);
  }
  return of_eqn;
}

/// A scatter updates its operand in place if all readers of the operand run before it. Small values that are computed from the operand in
/// the scatter's kernel or in later ones are therefore stored before the scatter.
void KernelPlanner::store_reads_of_updated() {
  if (std::all_of(updates_.begin(), updates_.end(), [](int u) { return u < 0; })) return;
  const auto small = [&](Var v, Atom operand) { return 2 * avals_[v].size() <= j_.aval(operand).size(); };
  const std::vector<int> kernels = last_kernels();
  const auto reads_late = [&](std::size_t i, Atom a, const std::vector<int>& last) {
    const int update = a.is_literal() ? -1 : updates_[a.var()];
    return injective_[i] && static_cast<int>(i) < update && last[i] >= update;
  };
  // The scatter's own indices and updates, where they are computed from the operand.
  std::vector<char> from_operand(avals_.size());
  for (std::size_t i = 0; i < j_.eqns.size(); ++i) {
    const Eqn& e = j_.eqns[i];
    if (injective_[i]) {
      const bool reads = std::any_of(e.inputs.begin(), e.inputs.end(), [&](Atom a) {
        return reads_late(i, a, kernels) || (!a.is_literal() && !is_root_[a.var()] && from_operand[a.var()]);
      });
      for (Var v : e.outputs) from_operand[v] = reads;
    } else if (is_kernel_scatter(e) && !e.inputs[0].is_literal() && updates_[e.inputs[0].var()] == static_cast<int>(i)) {
      for (const Atom a : {e.inputs[1], e.inputs[2]})
        if (!a.is_literal() && from_operand[a.var()] && small(a.var(), e.inputs[0])) is_root_[a.var()] = 1;
    }
  }
  // The values that later kernels would read.
  const std::vector<int> left = last_kernels();
  for (std::size_t i = 0; i < j_.eqns.size(); ++i)
    for (Atom a : j_.eqns[i].inputs)
      if (reads_late(i, a, left))
        for (Var v : j_.eqns[i].outputs)
          if (small(v, a)) is_root_[v] = 1;
}

void KernelPlanner::add_scatter(int eqn) {
  const Eqn& e = j_.eqns[static_cast<std::size_t>(eqn)];
  const Shape& updates = j_.aval(e.inputs[2]).shape;
  const IndexedGeometry g = geometry_of_scatter(e);
  Root r;
  r.kind = Root::Kind::scatter;
  r.var = e.outputs[0], r.eqn = eqn;
  const auto add = [&](Root root) {
    items_.push_back({static_cast<int>(roots_.size()), -1, -1});
    roots_.push_back(std::move(root));
  };
  if (updates.num_elements() > 0 && takes_over_operand(e)) {
    r.partial = e.inputs[0].var();
    shares_buffer_[r.partial] = r.var;
  } else {
    Root copy;
    copy.kind = Root::Kind::copy;
    copy.eqn = eqn;
    copy.var = r.partial = static_cast<Var>(avals_.size());
    avals_.push_back(Aval(avals_[e.outputs[0]]));
    for (int d = 0; d < avals_[copy.var].ndim(); ++d)
      if (avals_[copy.var].shape[d] != 1) copy.parallel.push_back({d, avals_[copy.var].shape[d], 1});
    if (updates.num_elements() == 0) {  // nothing is updated: the copy is the result
      copy.var = e.outputs[0];
      return add(std::move(copy));
    }
    shares_buffer_[copy.var] = r.var;
    add(std::move(copy));
  }
  r.partitioned = is_partitioned_scatter(e);
  if (r.partitioned && stores_rows(e)) {
    Root rows;
    rows.kind = Root::Kind::rows;
    rows.eqn = eqn;
    rows.var = static_cast<Var>(avals_.size());
    Shape windows;
    for (int d : g.batch_dims) windows.push_back(updates[d]);
    for (int d = 0; d < windows.size(); ++d)
      if (windows[d] != 1) rows.parallel.push_back({d, windows[d], 1});
    r.rows = rows.var;
    avals_.push_back(Aval{windows, int32});
    add(std::move(rows));
  }
  if (r.partitioned) {
    std::int64_t windows = 1;
    for (int d : g.batch_dims) windows *= updates[d];
    r.parallel.push_back({Root::kWindows, windows, 1});
  }
  // Loops over the indices come first: updates of one element keep their order.
  for (const bool window : {false, true})
    for (int d = 0; d < updates.size(); ++d) {
      const bool in_window = !contains(g.batch_dims, d);
      if (in_window == window && updates[d] != 1 && (window || !r.partitioned)) r.parallel.push_back({d, updates[d], 1});
    }
  add(std::move(r));
}

/// Forms a kernel of the scatter alone. Its outer loops are the dimensions in which no two updates of one element differ: batching
/// dimensions of the indices, and window dimensions that are not indexed, or all if there is one window. A kernel that is partitioned by
/// rows has no outer loops.
void KernelPlanner::place_scatter(int root) {
  const Root& r = roots_[static_cast<std::size_t>(root)];
  const IndexedGeometry g = geometry_of_scatter(j_.eqns[static_cast<std::size_t>(r.eqn)]);
  Group group;
  group.closed = true;
  group.roots = {root};
  group.outer.emplace_back();
  const Shape& updates = j_.aval(j_.eqns[static_cast<std::size_t>(r.eqn)].inputs[2]).shape;
  const bool one_window = std::all_of(g.batch_dims.begin(), g.batch_dims.end(), [&](int d) { return updates[d] == 1; });
  for (std::size_t k = 0; k < r.parallel.size() && !r.partitioned; ++k) {
    const int d = r.parallel[k].value_dim;
    const bool apart = one_window || std::any_of(g.dims.begin(), g.dims.end(), [&](const IndexedDim& dim) {
                         return (dim.window_dim == d && dim.component < 0) ||
                                (dim.batch_dim >= 0 && g.batch_dims[static_cast<std::size_t>(dim.batch_dim)] == d);
                       });
    if (!apart) continue;
    group.sizes.push_back(r.parallel[k].size);
    group.outer[0].push_back(static_cast<int>(k));
  }
  group.work = r.work();
  step_of_[r.var] = static_cast<int>(steps_.size());
  steps_.push_back({-1, -1, static_cast<int>(groups_.size())});
  groups_.push_back(std::move(group));
}

NodeId number_of_row(Dag& dag, const IndexedGeometry& g, const Shape& operand, std::span<const NodeId> coords) {
  NodeId row = dag.index(0);
  for (std::size_t d = 0; d < g.dims.size(); ++d)
    if (is_indexed(g.dims[d])) row = dag.combine(row, operand[static_cast<int>(d)], coords[d], 1);
  return row;
}

std::vector<NodeId> coords_in_row(Dag& dag, const IndexedGeometry& g, const Shape& operand, NodeId row, std::span<const NodeId> update) {
  std::vector<NodeId> coords(g.dims.size(), dag.index(0));
  std::size_t left = static_cast<std::size_t>(std::count_if(g.dims.begin(), g.dims.end(), is_indexed));
  for (std::size_t d = g.dims.size(); d-- > 0;) {
    const IndexedDim& dim = g.dims[d];
    if (!is_indexed(dim)) {
      if (dim.window_dim >= 0) coords[d] = update[static_cast<std::size_t>(dim.window_dim)];
      continue;
    }
    const std::int64_t size = operand[static_cast<int>(d)];
    coords[d] = --left == 0 ? row : dag.modulo(row, size);
    row = dag.divide(row, size);
  }
  return coords;
}

std::vector<NodeId> coords_of_window(Dag& dag, const IndexedGeometry& g, const Shape& updates, NodeId window, std::vector<NodeId> coords) {
  for (std::size_t k = g.batch_dims.size(); k-- > 0;) {
    const int d = g.batch_dims[k];
    coords[static_cast<std::size_t>(d)] = k == 0 ? window : dag.modulo(window, updates[d]);
    window = dag.divide(window, updates[d]);
  }
  return coords;
}

}  // namespace weft::detail
