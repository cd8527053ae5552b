// The expressions of roots over their loops.
#include <algorithm>
#include <limits>

#include "weft/backends/codegen/planner/planner.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/ops/reduce/reduce.h"

namespace weft::detail {
namespace {

bool contains(const std::vector<int>& v, int x) { return std::find(v.begin(), v.end(), x) != v.end(); }

/// The type that a reduction's accumulator has for results of the dtype.
DType accumulator(DType t) { return t == float16 || t == bfloat16 ? float32 : t; }

KernelValue identity(Dag& dag, Combiner c, DType t) {
  const double infinity = std::numeric_limits<double>::infinity();
  switch (c) {
    case Combiner::prod: return dag.constant(t, 1);
    case Combiner::max:
    case Combiner::min: {
      const bool low = c == Combiner::max;
      if (t.is_floating()) return dag.constant(t, low ? -infinity : infinity);
      if (t.is_bool()) return dag.boolean(!low);
      const int bits = 8 * t.itemsize();
      if (t.is_unsigned()) return dag.integer(t, low ? 0 : bits == 64 ? -1 : (std::int64_t{1} << bits) - 1);
      const std::int64_t lowest = bits == 64 ? std::numeric_limits<std::int64_t>::min() : -(std::int64_t{1} << (bits - 1));
      return dag.integer(t, low ? lowest : ~lowest);
    }
    case Combiner::logical_and: return t.is_bool() ? dag.boolean(true) : dag.integer(t, -1);
    default: return dag.constant(t, 0);
  }
}

/// Builds the body of one root: the value of a point of its loops, and the reductions that it takes.
class RootBuilder {
 public:
  RootBuilder(const RootContext& c, const Root& r, const RootLoops& loops)
      : c_(c),
        dag_(c.dag),
        r_(r),
        e_(c.j.eqns[static_cast<std::size_t>(r.eqn)]),
        aval_(c.avals[r.var]),
        reduce_(loops.reduce),
        coords_(root_coords(r, aval_, c.dag, loops.parallel, loops.reduce, c.j)),
        local_dims_(loops.local_dims) {
    std::size_t loop = 0;
    for (std::size_t k = 0; k < r.reduce.size() && !reduce_.empty(); ++k)
      steps_.push_back(r.has_loop(k) ? dag_.index_dim(reduce_[loop++]) : dag_.index(0));
  }

  RootBody build() {
    switch (r_.kind) {
      case Root::Kind::map: body_.value = c_.expressions.compute(r_.var, coords_); break;
      case Root::Kind::copy: body_.value = c_.expressions.at(e_.inputs[0], coords_); break;
      case Root::Kind::rows: body_.value = row_of_update(); break;
      case Root::Kind::scatter: r_.partitioned ? scatter_by_rows() : scatter(); break;
      case Root::Kind::reduce: body_.value = reduction(); break;
      case Root::Kind::arg_reduce: body_.value = position_of_extremum(); break;
      case Root::Kind::cumulative: body_.value = running_reduction(); break;
      case Root::Kind::matmul: body_.value = matmul(); break;
    }
    return std::move(body_);
  }

 private:
  /// Whether no elements are reduced.
  bool reduces_nothing() const {
    return std::any_of(r_.reduce.begin(), r_.reduce.end(), [](std::int64_t s) { return s == 0; });
  }

  /// The row of a scatter's operand that an update goes to; -1 if it is outside.
  KernelValue row_of_update() {
    const Shape &operand = c_.j.aval(e_.inputs[0]).shape, &updates = c_.j.aval(e_.inputs[2]).shape;
    const IndexedGeometry g = scatter_geometry(scatter_params(*e_.op, *e_.params).dimension_numbers, operand.size(), updates);
    std::vector<NodeId> update(static_cast<std::size_t>(updates.size()), dag_.index(0));
    for (std::size_t d = 0; d < coords_.size(); ++d) update[static_cast<std::size_t>(g.batch_dims[d])] = coords_[d];
    const Expressions::Place place = c_.expressions.scatter_place(e_, update);
    const KernelValue row = dag_.value_of(number_of_row(dag_, g, operand, place.coords), int32);
    return dag_.select(place.inside, row, dag_.integer(int32, -1));
  }

  void scatter() {
    Expressions::Place place = c_.expressions.scatter_place(e_, coords_);
    body_.value = c_.expressions.at(e_.inputs[2], coords_);
    body_.coords = std::move(place.coords);
    body_.inside = place.inside;
  }
  /// Of a kernel that is partitioned by rows of the operand: which row it is, too.
  void scatter_by_rows() {
    const Shape& operand = c_.j.aval(e_.inputs[0]).shape;
    const ScatterParams p = scatter_params(*e_.op, *e_.params);
    const IndexedGeometry g = scatter_geometry(p.dimension_numbers, operand.size(), c_.j.aval(e_.inputs[2]).shape);
    std::int64_t rows = 1;
    for (std::size_t d = 0; d < g.dims.size(); ++d)
      if (is_indexed(g.dims[d])) rows *= operand[static_cast<int>(d)];
    KernelValue row;
    if (r_.rows) {
      std::vector<NodeId> window;
      for (int d : g.batch_dims) window.push_back(coords_[static_cast<std::size_t>(d)]);
      row = c_.leaves.read(*r_.rows, window, -1);
      body_.inside = p.mode == GatherScatterMode::clip ? dag_.boolean(true) : dag_.ge(row, dag_.integer(int32, 0));
    } else {
      const Expressions::Place place = c_.expressions.scatter_place(e_, coords_);
      // A value instead of an index; the index is made from it below.
      row = dag_.bitcast(dag_.value_of(number_of_row(dag_, g, operand, place.coords), int32), uint32);
      body_.inside = place.inside;
    }
    body_.row = dag_.index_of(row, 0, rows - 1);
    body_.coords = coords_in_row(dag_, g, operand, body_.row, coords_);
    body_.value = c_.expressions.at(e_.inputs[2], coords_);
  }

  KernelValue reduction() {
    const Combiner combiner = *e_.op->combiner;
    const DType held = accumulator(aval_.dtype);
    if (reduces_nothing()) return dag_.convert(identity(dag_, combiner, held), aval_.dtype);
    const KernelValue element = dag_.convert(r_.stage == Root::Stage::combine ? partial_result() : reduced_element(), held);
    return dag_.convert(r_.reduce.empty() ? element : reduced(combiner, element), aval_.dtype);
  }
  /// Of a reduction in stages: what a chunk gave.
  KernelValue partial_result() {
    std::vector<NodeId> at{steps_[0]};
    at.insert(at.end(), coords_.begin(), coords_.end());
    return c_.leaves.read(r_.partial, at, -1);
  }
  KernelValue reduced_element() {
    const std::span<const int> axes = e_.op->reduced_dims(*e_.params);
    const bool chunked = r_.stage == Root::Stage::chunks;
    std::vector<NodeId> at;
    std::size_t next = chunked ? 1 : 0;
    for (int d = 0; d < c_.j.aval(e_.inputs[0]).ndim(); ++d) {
      const auto axis = std::find(axes.begin(), axes.end(), d);
      if (axis == axes.end()) {
        at.push_back(coords_[next++]);
      } else {
        const auto k = static_cast<std::size_t>(axis - axes.begin());
        at.push_back(chunked && k == 0 ? dag_.combine(coords_[0], r_.chunk, steps_[0], 1) : steps_[k]);
      }
    }
    return c_.expressions.at(e_.inputs[0], at);
  }

  KernelValue position_of_extremum() {
    const ArgReduceParams& p = params_as<ArgReduceParams>(*e_.params);
    std::vector<NodeId> at;
    std::size_t next = 0;
    for (int d = 0; d < c_.j.aval(e_.inputs[0]).ndim(); ++d) at.push_back(d == p.axes[0] ? steps_[0] : coords_[next++]);
    KernelValue element = c_.expressions.at(e_.inputs[0], at);
    element = dag_.convert(element, element.dtype.is_bool() ? uint8 : accumulator(element.dtype));
    Reduction reduction;
    reduction.kind = e_.op->combiner == Combiner::max ? Reduction::Kind::arg_max : Reduction::Kind::arg_min;
    reduction.dtype = element.dtype;
    reduction.value = element.id;
    reduction.position = dag_.value_of(steps_[0], p.index_dtype).id;
    const int local = add(reduction, {element.dtype, p.index_dtype});
    return dag_.local(local + 1, p.index_dtype, local_dims_);
  }

  KernelValue running_reduction() {
    const KernelValue element = c_.expressions.at(e_.inputs[0], coords_);
    local_dims_ |= reduce_.empty() ? 0 : std::uint64_t{1} << reduce_[0];
    return dag_.convert(reduced(*e_.op->combiner, dag_.convert(element, accumulator(element.dtype)), true), aval_.dtype);
  }

  KernelValue matmul() {
    const DotDimensions& dims = params_as<DotParams>(*e_.params).dimension_numbers;
    if (reduces_nothing()) return dag_.constant(aval_.dtype, 0);
    KernelValue elements[2];
    std::size_t next_free = dims.batch[0].size();
    for (std::size_t k = 0; k < 2; ++k) {
      const int ndim = c_.j.aval(e_.inputs[k]).ndim();
      std::vector<NodeId> at(static_cast<std::size_t>(ndim));
      for (std::size_t i = 0; i < dims.batch[k].size(); ++i) at[static_cast<std::size_t>(dims.batch[k][i])] = coords_[i];
      for (std::size_t i = 0; i < dims.contracting[k].size(); ++i) at[static_cast<std::size_t>(dims.contracting[k][i])] = steps_[i];
      for (int d = 0; d < ndim; ++d)
        if (!contains(dims.batch[k], d) && !contains(dims.contracting[k], d)) at[static_cast<std::size_t>(d)] = coords_[next_free++];
      elements[k] = dag_.convert(c_.expressions.at(e_.inputs[k], at), accumulator(aval_.dtype));
    }
    const KernelValue product = dag_.mul(elements[0], elements[1]);
    return dag_.convert(reduce_.empty() ? product : reduced(Combiner::sum, product), aval_.dtype);
  }

  /// The accumulator's result.
  KernelValue reduced(Combiner combiner, KernelValue v, bool running = false) {
    if (!v.dtype.is_complex()) return reduced_real(combiner, v, running);
    if (combiner == Combiner::prod) return complex_product(v);
    const KernelValue re = reduced_real(combiner, dag_.real(v), running), im = reduced_real(combiner, dag_.imag(v), running);
    return dag_.complex(re, im);
  }
  KernelValue reduced_real(Combiner combiner, KernelValue v, bool running) {
    Reduction r;
    r.combiner = combiner;
    r.dtype = v.dtype;
    r.value = v.id;
    r.running = running;
    return dag_.local(add(r, {v.dtype}), v.dtype, local_dims_);
  }
  KernelValue complex_product(KernelValue v) {
    Reduction r;
    r.kind = Reduction::Kind::complex_product;
    r.combiner = Combiner::prod;
    r.dtype = v.dtype.real_part();
    r.value = dag_.real(v).id, r.position = dag_.imag(v).id;
    const int local = add(r, {r.dtype, r.dtype});
    return dag_.complex(dag_.local(local, r.dtype, local_dims_), dag_.local(local + 1, r.dtype, local_dims_));
  }
  /// The number of its first local.
  int add(Reduction r, std::initializer_list<DType> locals) {
    r.local = static_cast<int>(c_.locals.size());
    c_.locals.insert(c_.locals.end(), locals);
    body_.reductions.push_back(r);
    return r.local;
  }

  const RootContext& c_;
  Dag& dag_;
  const Root& r_;
  const Eqn& e_;
  const Aval& aval_;
  const std::span<const int> reduce_;  // the loops that reduce
  const std::vector<NodeId> coords_;   // of the point in the root's value
  std::vector<NodeId> steps_;          // the coordinates of the reduced dimensions
  std::uint64_t local_dims_;
  RootBody body_;
};

}  // namespace

std::vector<NodeId> root_coords(const Root& r, const Aval& aval, Dag& dag, std::span<const int> parallel, std::span<const int> reduce,
                                const JaxprData& j) {
  // A scatter's loops are those of its updates.
  const int ndim = r.kind == Root::Kind::scatter ? j.aval(j.eqns[static_cast<std::size_t>(r.eqn)].inputs[2]).ndim() : aval.ndim();
  std::vector<NodeId> coords(static_cast<std::size_t>(ndim), dag.index(0));
  for (std::size_t k = 0; k < r.parallel.size(); ++k) {
    if (r.parallel[k].value_dim == Root::kWindows) continue;
    NodeId& c = coords[static_cast<std::size_t>(r.parallel[k].value_dim)];
    c = dag.combine(c, 1, dag.index_dim(parallel[k]), r.parallel[k].scale);
  }
  if (r.partitioned) {
    const Eqn& e = j.eqns[static_cast<std::size_t>(r.eqn)];
    const Shape& updates = j.aval(e.inputs[2]).shape;
    coords = coords_of_window(dag, scatter_geometry(scatter_params(*e.op, *e.params).dimension_numbers, aval.ndim(), updates), updates,
                              dag.index_dim(parallel[0]), std::move(coords));
  }
  if (r.kind == Root::Kind::cumulative) {
    const CumulativeParams& p = params_as<CumulativeParams>(*j.eqns[static_cast<std::size_t>(r.eqn)].params);
    const NodeId step = dag.index_dim(reduce[0]);
    coords[static_cast<std::size_t>(p.axis)] = p.reverse ? dag.offset(dag.scale(step, -1), r.reduce[0] - 1) : step;
  }
  return coords;
}

RootBody build_root(const RootContext& c, const Root& r, const RootLoops& loops) { return RootBuilder(c, r, loops).build(); }

}  // namespace weft::detail
