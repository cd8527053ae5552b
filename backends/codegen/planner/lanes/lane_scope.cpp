#include "weft/backends/codegen/planner/lanes/lane_scope.h"

#include <algorithm>

#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/reduce/reduce.h"

namespace weft::detail {

bool is_small_algebra(const Eqn& e) { return find_rule<MatrixElementRules>(*e.op) != nullptr; }

Definitions::Definitions(const JaxprData& j) : defined_by(j.avals.size(), -1) {
  for (std::size_t i = 0; i < j.eqns.size(); ++i) {
    for (Var v : j.eqns[i].outputs) defined_by[v] = static_cast<int>(i);
    injective.push_back(j.eqns[i].op->kind != Kind::reduce && is_injective(j, j.eqns[i]));
  }
}

LaneScope::LaneScope(LanePoint& point, const JaxprData& j, std::shared_ptr<const Definitions> known, std::function<Source(Var)> memory)
    : point_(point),
      j_(j),
      known_(std::move(known)),
      expressions_(j, known_->defined_by, point.kernel.dag, *this, kMaxLaneNodes),
      memory_(std::move(memory)) {}

bool LaneScope::is_leaf(Var v) {
  const int by = known_->defined_by[v];
  if (sources_.count(v) > 0 || by < 0 || !known_->injective[static_cast<std::size_t>(by)]) return true;
  const Kind kind = j_.eqns[static_cast<std::size_t>(by)].op->kind;
  return memory_ && kind != Kind::movement && kind != Kind::iota;
}

KernelValue LaneScope::read(Var v, std::span<const NodeId> at, NodeId guard) {
  if (const auto s = sources_.find(v); s != sources_.end()) return s->second(at, guard);
  if (memory_)
    if (Source s = memory_(v)) {
      set(v, std::move(s));
      return sources_.at(v)(at, guard);
    }
  if (known_->defined_by[v] < 0) throw NotLanes();
  std::tuple<Var, NodeId, std::vector<NodeId>> key{v, guard, {at.begin(), at.end()}};
  if (const auto known = memo_.find(key); known != memo_.end()) return known->second;
  if (point_.kernel.dag.nodes.size() > kMaxLaneNodes) throw NotLanes();
  const KernelValue value = compute(v, at, guard);
  memo_.emplace(std::move(key), value);
  return value;
}

KernelValue LaneScope::compute(Var v, std::span<const NodeId> at, NodeId guard) {
  const Eqn& e = *definition(Atom::var(v));
  if (j_.avals[v].dtype.is_complex()) throw NotLanes();
  switch (e.op->kind) {
    case Kind::reduce: return reduce(e, at);
    case Kind::dot: return dot(e, at);
    case Kind::cumulative: return cumulative(e, at, guard);
    case Kind::library: return matrix(e, v, at, guard);
    default: throw NotLanes();
  }
}

namespace {

KernelValue combined(Dag& dag, Combiner c, KernelValue a, KernelValue b) {
  KernelValue v;
  if (!combine(dag, c, a, b, v)) throw NotLanes();
  return v;
}
DType accumulator(DType t) { return t == float16 || t == bfloat16 ? float32 : t; }

}  // namespace

KernelValue LaneScope::reduce(const Eqn& e, std::span<const NodeId> at) {
  Dag& dag = point_.kernel.dag;
  const std::vector<int>& axes = params_as<ReduceParams>(*e.params).axes;
  const Aval& in = j_.aval(e.inputs[0]);
  if (!e.op->combiner || in.dtype.is_complex()) throw NotLanes();
  std::vector<NodeId> source;
  std::size_t next = 0;
  std::int64_t count = 1;
  for (int d = 0; d < in.ndim(); ++d) {
    const bool reduced = std::find(axes.begin(), axes.end(), d) != axes.end();
    source.push_back(reduced ? -1 : at[next++]);
    if (reduced) count *= in.shape[d];
  }
  const int batch = point_.batch_shape.size();
  if (point_.lane_condition >= 0 && *e.op->combiner == Combiner::logical_or && in.dtype.is_bool() && in.ndim() <= batch) {
    // Whether any lane goes on: this one does.
    for (int d = 0; d < in.ndim(); ++d) {
      if (in.shape[d] != point_.batch_shape[d]) throw NotLanes();
      if (source[static_cast<std::size_t>(d)] < 0)
        source[static_cast<std::size_t>(d)] = dag.index_dim(point_.kernel.outer[static_cast<std::size_t>(d)]);
    }
    const KernelValue own = this->at(e.inputs[0], source);
    if (own.id == point_.lane_condition || dag.is_true(own)) return dag.boolean(true);
    throw NotLanes();
  }
  if (count == 0 || count > kMaxLaneElements) throw NotLanes();
  const DType result = j_.avals[e.outputs[0]].dtype;
  Elements parts;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    std::vector<NodeId> where = source;
    for (int d = in.ndim(); d-- > 0;)
      if (where[static_cast<std::size_t>(d)] < 0) where[static_cast<std::size_t>(d)] = dag.index(rest % in.shape[d]), rest /= in.shape[d];
    parts.push_back(dag.convert(this->at(e.inputs[0], where), accumulator(result)));
  }
  if (count > 1) parts[0] = begin_combining(dag, *e.op->combiner, parts[0]);
  while (parts.size() > 1) {
    const std::size_t half = (parts.size() + 1) / 2;
    for (std::size_t i = 0; i + half < parts.size(); ++i) parts[i] = combined(dag, *e.op->combiner, parts[i], parts[i + half]);
    parts.resize(half);
  }
  return dag.convert(parts[0], result);
}

KernelValue LaneScope::dot(const Eqn& e, std::span<const NodeId> at) {
  Dag& dag = point_.kernel.dag;
  const DotDimensions& dims = params_as<DotParams>(*e.params).dimension_numbers;
  const DType result = j_.avals[e.outputs[0]].dtype, held = accumulator(result);
  if (!result.is_floating()) throw NotLanes();
  std::int64_t count = 1;
  for (int d : dims.contracting[0]) count *= j_.aval(e.inputs[0]).shape[d];
  if (count > kMaxLaneElements) throw NotLanes();
  KernelValue sum = dag.constant(held, 0);
  for (std::int64_t i = 0; i < count; ++i) {
    KernelValue factors[2];
    std::size_t next = dims.batch[0].size();
    for (std::size_t k = 0; k < 2; ++k) {
      const Shape& s = j_.aval(e.inputs[k]).shape;
      std::vector<NodeId> where(static_cast<std::size_t>(s.size()), -1);
      for (std::size_t b = 0; b < dims.batch[k].size(); ++b) where[static_cast<std::size_t>(dims.batch[k][b])] = at[b];
      std::int64_t rest = i;
      for (std::size_t c = dims.contracting[k].size(); c-- > 0;) {
        const int d = dims.contracting[k][c];
        where[static_cast<std::size_t>(d)] = dag.index(rest % s[d]), rest /= s[d];
      }
      for (NodeId& w : where)
        if (w < 0) w = at[next++];
      factors[k] = dag.convert(this->at(e.inputs[k], where), held);
    }
    sum = i == 0 ? dag.mul(factors[0], factors[1]) : dag.fma(factors[0], factors[1], sum);
  }
  return dag.convert(sum, result);
}

KernelValue LaneScope::cumulative(const Eqn& e, std::span<const NodeId> at, NodeId guard) {
  Dag& dag = point_.kernel.dag;
  const CumulativeParams& p = params_as<CumulativeParams>(*e.params);
  const auto axis = static_cast<std::size_t>(p.axis);
  const DType result = j_.avals[e.outputs[0]].dtype;
  std::int64_t here = 0;
  const std::int64_t size = j_.avals[e.outputs[0]].shape[p.axis];
  if (!e.op->combiner || !dag.as_constant(at[axis], here) || size > kMaxLaneElements) throw NotLanes();
  // Computed from the neighbouring element, which is known by then.
  std::vector<NodeId> where(at.begin(), at.end());
  const KernelValue own = dag.convert(this->at(e.inputs[0], where), accumulator(result));
  const std::int64_t before = p.reverse ? here + 1 : here - 1;
  if (before < 0 || before >= size) return dag.convert(size > 1 ? begin_combining(dag, *e.op->combiner, own) : own, result);
  if (result != accumulator(result)) throw NotLanes();
  where[axis] = dag.index(before);
  return combined(dag, *e.op->combiner, read(e.outputs[0], where, guard), own);
}

Elements LaneScope::matrix_of(Atom a, std::vector<NodeId> batch) {
  const Shape& s = j_.aval(a).shape;
  const std::int64_t rows = s[s.size() - 2], columns = s.back();
  if (rows * columns > kMaxLaneElements || rows * columns == 0) throw NotLanes();
  Elements out;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < columns; ++k) {
      std::vector<NodeId> where = batch;
      where.push_back(point_.kernel.dag.index(i)), where.push_back(point_.kernel.dag.index(k));
      out.push_back(at(a, where));
    }
  return out;
}

/// An element of a factorisation or a solution; all of them are computed at once.
KernelValue LaneScope::matrix(const Eqn& e, Var v, std::span<const NodeId> at, NodeId guard) {
  Dag& dag = point_.kernel.dag;
  const Aval& in = j_.aval(e.inputs[0]);
  MatrixElementRules::Function* const rule = find_rule<MatrixElementRules>(*e.op);
  if (!rule || (in.dtype != float32 && in.dtype != float64)) throw NotLanes();
  const int leading = in.ndim() - 2;
  std::vector<NodeId> batch(at.begin(), at.begin() + leading);
  std::vector<Elements>& results = matrices_[{&e, guard, batch}];
  if (results.empty()) {
    std::vector<MatrixElements> operands;
    for (Atom operand : e.inputs) {
      const Shape& s = j_.aval(operand).shape;
      operands.push_back({matrix_of(operand, batch), static_cast<std::size_t>(s[leading]), static_cast<std::size_t>(s.back())});
    }
    results = rule(dag, *e.params, operands);
  }
  const auto number = static_cast<std::size_t>(v - e.outputs[0]);
  std::int64_t element = 0;
  const Shape& s = j_.avals[v].shape;
  for (int d = leading; d < s.size(); ++d) {
    std::int64_t k = 0;
    if (!dag.as_constant(at[static_cast<std::size_t>(d)], k)) throw NotLanes();
    element = element * s[d] + std::clamp<std::int64_t>(k, 0, s[d] - 1);
  }
  return results[number][static_cast<std::size_t>(element)];
}

}  // namespace weft::detail
