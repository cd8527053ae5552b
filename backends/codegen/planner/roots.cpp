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

struct ReductionBuilder {
  Dag& dag;
  std::vector<DType>& locals;
  std::uint64_t local_dims;
  RootBody body;

  /// Reduces a real value; the accumulator's result.
  KernelValue reduce(Combiner c, KernelValue v, bool running = false) {
    Reduction r;
    r.combiner = c;
    r.dtype = v.dtype;
    r.value = v.id;
    r.local = static_cast<int>(locals.size());
    r.running = running;
    locals.push_back(v.dtype);
    body.reductions.push_back(r);
    return dag.local(r.local, v.dtype, local_dims);
  }
  KernelValue complex_product(KernelValue v) {
    Reduction r;
    r.kind = Reduction::Kind::complex_product;
    r.combiner = Combiner::prod;
    r.dtype = v.dtype.real_part();
    r.value = dag.real(v).id, r.position = dag.imag(v).id;
    r.local = static_cast<int>(locals.size());
    locals.insert(locals.end(), 2, r.dtype);
    body.reductions.push_back(r);
    return dag.complex(dag.local(r.local, r.dtype, local_dims), dag.local(r.local + 1, r.dtype, local_dims));
  }
  KernelValue reduce_any(Combiner c, KernelValue v, bool running = false) {
    if (!v.dtype.is_complex()) return reduce(c, v, running);
    if (c == Combiner::prod) return complex_product(v);
    const KernelValue re = reduce(c, dag.real(v), running), im = reduce(c, dag.imag(v), running);
    return dag.complex(re, im);
  }
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
  if (r.divided) {
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

RootBody build_root(const JaxprData& j, const std::vector<Aval>& avals, const Root& r, Expressions& expressions, LeafReader& leaves,
                    Dag& dag, std::span<const int> parallel, std::span<const int> reduce, std::uint64_t local_dims,
                    std::vector<DType>& locals) {
  const Eqn& e = j.eqns[static_cast<std::size_t>(r.eqn)];
  const Aval& aval = avals[r.var];
  const std::vector<NodeId> coords = root_coords(r, aval, dag, parallel, reduce, j);
  ReductionBuilder out{dag, locals, local_dims, {}};
  std::vector<NodeId> steps;
  for (int d : reduce) steps.push_back(dag.index_dim(d));
  const bool nothing = std::any_of(r.reduce.begin(), r.reduce.end(), [](std::int64_t s) { return s == 0; });

  switch (r.kind) {
    case Root::Kind::map: out.body.value = expressions.compute(r.var, coords); break;
    case Root::Kind::copy: out.body.value = expressions.at(e.inputs[0], coords); break;
    case Root::Kind::rows: {
      const Shape& operand = j.aval(e.inputs[0]).shape;
      const IndexedGeometry g =
          scatter_geometry(scatter_params(*e.op, *e.params).dimension_numbers, operand.size(), j.aval(e.inputs[2]).shape);
      std::vector<NodeId> update(static_cast<std::size_t>(j.aval(e.inputs[2]).ndim()), dag.index(0));
      for (std::size_t d = 0; d < coords.size(); ++d) update[static_cast<std::size_t>(g.batch_dims[d])] = coords[d];
      const Expressions::Place place = expressions.scatter_place(e, update);
      out.body.value = dag.value_of(number_of_row(dag, g, operand, place.coords), int32);
      out.body.value = dag.select(place.inside, out.body.value, dag.integer(int32, -1));
      break;
    }
    case Root::Kind::scatter: {
      if (r.divided) {
        const Shape& operand = j.aval(e.inputs[0]).shape;
        const ScatterParams p = scatter_params(*e.op, *e.params);
        const IndexedGeometry g = scatter_geometry(p.dimension_numbers, operand.size(), j.aval(e.inputs[2]).shape);
        std::int64_t rows = 1;
        for (std::size_t d = 0; d < g.dims.size(); ++d)
          if (is_indexed(g.dims[d])) rows *= operand[static_cast<int>(d)];
        KernelValue row;
        if (r.rows) {
          std::vector<NodeId> window;
          for (int d : g.batch_dims) window.push_back(coords[static_cast<std::size_t>(d)]);
          row = leaves.read(*r.rows, window, -1);
          out.body.inside = p.mode == GatherScatterMode::clip ? dag.boolean(true) : dag.ge(row, dag.integer(int32, 0));
        } else {
          const Expressions::Place place = expressions.scatter_place(e, coords);
          // A value instead of an index; the index is made from it below.
          row = dag.bitcast(dag.value_of(number_of_row(dag, g, operand, place.coords), int32), uint32);
          out.body.inside = place.inside;
        }
        out.body.row = dag.index_of(row, 0, rows - 1);
        out.body.coords = coords_in_row(dag, g, operand, out.body.row, coords);
        out.body.value = expressions.at(e.inputs[2], coords);
        break;
      }
      Expressions::Place place = expressions.scatter_place(e, coords);
      out.body.value = expressions.at(e.inputs[2], coords);
      out.body.coords = std::move(place.coords);
      out.body.inside = place.inside;
      break;
    }
    case Root::Kind::reduce: {
      const Combiner c = *e.op->combiner;
      const DType held = accumulator(aval.dtype);
      if (nothing) {
        out.body.value = dag.convert(identity(dag, c, held), aval.dtype);
        break;
      }
      KernelValue element;
      if (r.stage == Root::Stage::combine) {
        std::vector<NodeId> at{steps[0]};
        at.insert(at.end(), coords.begin(), coords.end());
        element = leaves.read(r.partial, at, -1);
      } else {
        const std::vector<int>& axes = params_as<ReduceParams>(*e.params).axes;
        const bool chunked = r.stage == Root::Stage::chunks;
        std::vector<NodeId> at;
        std::size_t next = chunked ? 1 : 0;
        for (int d = 0; d < j.aval(e.inputs[0]).ndim(); ++d) {
          const auto axis = std::find(axes.begin(), axes.end(), d);
          if (axis == axes.end()) {
            at.push_back(coords[next++]);
          } else {
            const auto k = static_cast<std::size_t>(axis - axes.begin());
            at.push_back(chunked && k == 0 ? dag.combine(coords[0], r.chunk, steps[0], 1) : steps[k]);
          }
        }
        element = expressions.at(e.inputs[0], at);
      }
      out.body.value = dag.convert(element, held);
      if (!r.reduce.empty()) out.body.value = out.reduce_any(c, out.body.value);
      out.body.value = dag.convert(out.body.value, aval.dtype);
      break;
    }
    case Root::Kind::arg_reduce: {
      const ArgReduceParams& p = params_as<ArgReduceParams>(*e.params);
      std::vector<NodeId> at;
      std::size_t next = 0;
      for (int d = 0; d < j.aval(e.inputs[0]).ndim(); ++d) at.push_back(d == p.axes[0] ? steps[0] : coords[next++]);
      KernelValue element = expressions.at(e.inputs[0], at);
      element = dag.convert(element, element.dtype.is_bool() ? uint8 : accumulator(element.dtype));
      Reduction reduction;
      reduction.kind = e.op->combiner == Combiner::max ? Reduction::Kind::arg_max : Reduction::Kind::arg_min;
      reduction.dtype = element.dtype;
      reduction.value = element.id;
      reduction.position = dag.value_of(steps[0], p.index_dtype).id;
      reduction.local = static_cast<int>(locals.size());
      locals.push_back(element.dtype);
      locals.push_back(p.index_dtype);
      out.body.reductions.push_back(reduction);
      out.body.value = dag.local(reduction.local + 1, p.index_dtype, local_dims);
      break;
    }
    case Root::Kind::cumulative: {
      const KernelValue element = expressions.at(e.inputs[0], coords);
      const std::uint64_t saved = out.local_dims;
      out.local_dims |= reduce.empty() ? 0 : std::uint64_t{1} << reduce[0];
      out.body.value = dag.convert(out.reduce_any(*e.op->combiner, dag.convert(element, accumulator(element.dtype)), true), aval.dtype);
      out.local_dims = saved;
      break;
    }
    case Root::Kind::matmul: {
      const DotDimensions& dims = params_as<DotParams>(*e.params).dimension_numbers;
      const DType held = accumulator(aval.dtype);
      if (nothing) {
        out.body.value = dag.constant(aval.dtype, 0);
        break;
      }
      KernelValue elements[2];
      std::size_t next_free = dims.batch[0].size();
      for (std::size_t k = 0; k < 2; ++k) {
        const int ndim = j.aval(e.inputs[k]).ndim();
        std::vector<NodeId> at(static_cast<std::size_t>(ndim));
        for (std::size_t i = 0; i < dims.batch[k].size(); ++i) at[static_cast<std::size_t>(dims.batch[k][i])] = coords[i];
        for (std::size_t i = 0; i < dims.contracting[k].size(); ++i) at[static_cast<std::size_t>(dims.contracting[k][i])] = steps[i];
        for (int d = 0; d < ndim; ++d)
          if (!contains(dims.batch[k], d) && !contains(dims.contracting[k], d)) at[static_cast<std::size_t>(d)] = coords[next_free++];
        elements[k] = dag.convert(expressions.at(e.inputs[k], at), held);
      }
      const KernelValue product = dag.mul(elements[0], elements[1]);
      out.body.value = reduce.empty() ? product : out.reduce_any(Combiner::sum, product);
      out.body.value = dag.convert(out.body.value, aval.dtype);
      break;
    }
  }
  return std::move(out.body);
}

}  // namespace weft::detail
