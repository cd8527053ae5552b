#include "weft/backends/codegen/planner/expressions.h"

#include <algorithm>
#include <cstring>

#include "weft/core/array/half.h"
#include "weft/core/array/shape.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ops/movement/dynamic_slice.h"
#include "weft/core/ops/movement/gather.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/movement/scatter.h"
#include "weft/core/ops/reduce/reduce.h"

namespace weft::detail {
namespace {

/// Placeholder operands, to find out whether a primitive can be lowered for them.
KernelValue placeholder(Dag& dag, DType dtype, int number) {
  const NodeId at = dag.index(0);
  if (!dtype.is_complex()) return dag.load(number, dtype, at);
  const KernelValue re = dag.load(number, dtype.real_part(), at), im = dag.load(number, dtype.real_part(), dag.index(1));
  return dag.complex(re, im);
}

bool can_lower(const JaxprData& j, const Eqn& e) {
  Dag dag;
  std::vector<KernelValue> operands;
  for (Atom a : e.inputs) operands.push_back(placeholder(dag, j.aval(a).dtype, static_cast<int>(operands.size())));
  try {
    return e.op->lower(dag, *e.params, operands).id >= 0;
  } catch (const Error&) {
    return false;  // the builder has no formula for complex operands
  }
}

constexpr std::int64_t kMaxReduced = 4;  // elements of a reduction that is written out

}  // namespace

NodeId row_major_position(Dag& dag, const Shape& shape, std::span<const NodeId> coords) {
  NodeId position = dag.index(0);
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  for (std::size_t d = 0; d < coords.size(); ++d) position = dag.combine(position, 1, coords[d], strides[d]);
  return position;
}

std::int64_t reduced_elements(const JaxprData& j, const Eqn& e) {
  std::int64_t n = 1;
  for (int d : e.op->reduced_dims(*e.params)) n *= j.aval(e.inputs[0]).shape[d];
  return n;
}

bool combine(Dag& dag, Combiner c, KernelValue a, KernelValue b, KernelValue& out) {
  if (a.dtype.is_complex() && c != Combiner::sum) return false;
  switch (c) {
    case Combiner::sum: out = a.dtype.is_bool() ? dag.bit_or(a, b) : dag.add(a, b); return true;
    case Combiner::prod: out = a.dtype.is_bool() ? dag.bit_and(a, b) : dag.mul(a, b); return true;
    case Combiner::max: out = a.dtype.is_bool() ? dag.bit_or(a, b) : dag.max(a, b); return true;
    case Combiner::min: out = a.dtype.is_bool() ? dag.bit_and(a, b) : dag.min(a, b); return true;
    case Combiner::logical_and: out = dag.bit_and(a, b); return true;
    case Combiner::logical_or: out = dag.bit_or(a, b); return true;
    case Combiner::bit_xor: out = dag.bit_xor(a, b); return true;
    case Combiner::logsumexp: break;
  }
  return false;
}

KernelValue begin_combining(Dag& dag, Combiner c, KernelValue first) {
  if (c != Combiner::sum || !first.dtype.is_inexact()) return first;
  const KernelValue zero = dag.constant(first.dtype.real_part(), 0);
  return dag.add(first.dtype.is_complex() ? dag.complex(zero, zero) : zero, first);
}

bool is_injective(const JaxprData& j, const Eqn& e) {
  switch (e.op->kind) {
    case Kind::elementwise: return e.outputs.size() == 1 && e.op->lower && can_lower(j, e);
    case Kind::movement:
    case Kind::concatenate: return e.op->movement != nullptr;
    case Kind::iota:
    case Kind::dynamic_slice:
    case Kind::dynamic_update_slice: return true;
    case Kind::gather: return true;
    case Kind::reduce: {
      if (!e.op->combiner || *e.op->combiner == Combiner::logsumexp) return false;
      const std::int64_t n = reduced_elements(j, e);
      return n == 1 || (n > 1 && n <= kMaxReduced && (*e.op->combiner == Combiner::sum || !j.aval(e.inputs[0]).dtype.is_complex()));
    }
    default: return false;
  }
}

KernelValue Expressions::at(Atom a, std::span<const NodeId> coords) {
  if (a.is_literal()) return literal(j_.literals[a.literal()]);
  const Var v = a.var();
  if (j_.avals[v].size() == 0) return literal(Literal{Aval{{}, j_.avals[v].dtype}, {}});  // nothing of it is ever read
  Coords clean(coords.begin(), coords.end());
  const Shape& shape = j_.avals[v].shape;
  for (int d = 0; d < shape.size(); ++d)
    if (shape[d] == 1) clean[static_cast<std::size_t>(d)] = dag_.index(0);
  if (leaves_.is_leaf(v)) return leaves_.read(v, clean, guard_);
  Key key{v, guard_, std::move(clean)};
  if (const auto found = memo_.find(key); found != memo_.end()) return found->second;
  ++evaluations_[v];
  if (dag_.nodes.size() > max_nodes_ || ++depth_ > kMaxDepth) throw ExpressionTooLarge();
  const std::size_t number = extents_.size();
  extents_.push_back({v, dag_.nodes.size(), 0});
  const KernelValue value = compute(v, key.coords);
  extents_[number].end = dag_.nodes.size();
  --depth_;
  memo_.emplace(std::move(key), value);
  return value;
}

KernelValue Expressions::compute(Var v, std::span<const NodeId> coords) {
  const Eqn& e = j_.eqns[static_cast<std::size_t>(defined_by_[v])];
  switch (e.op->kind) {
    case Kind::elementwise: return elementwise(e, coords);
    case Kind::movement: return movement(e, coords, static_cast<int>(v - e.outputs[0]));
    case Kind::concatenate: return concatenate(e, coords);
    case Kind::iota: {
      const IotaParams& p = params_as<IotaParams>(*e.params);
      return dag_.value_of(coords[static_cast<std::size_t>(p.dimension)], p.dtype);
    }
    case Kind::gather: return gather(e, coords);
    case Kind::dynamic_slice: return dynamic_slice(e, coords);
    case Kind::dynamic_update_slice: return dynamic_update_slice(e, coords);
    case Kind::reduce: return reduction(e, coords);
    default: throw CompileError("codegen: internal error: " + std::string(e.op->name) + " is not an expression", e.loc);
  }
}

/// Element by element, in the accumulator's type.
KernelValue Expressions::reduction(const Eqn& e, std::span<const NodeId> coords) {
  const std::vector<int>& axes = params_as<ReduceParams>(*e.params).axes;
  const Shape& shape = j_.aval(e.inputs[0]).shape;
  const DType result = j_.avals[e.outputs[0]].dtype, held = result == float16 || result == bfloat16 ? float32 : result;
  const std::int64_t n = reduced_elements(j_, e);
  KernelValue sum;
  for (std::int64_t i = 0; i < n; ++i) {
    Coords source(static_cast<std::size_t>(shape.size()));
    std::int64_t rest = i;
    std::size_t next = coords.size();
    for (int d = shape.size(); d-- > 0;) {
      NodeId& c = source[static_cast<std::size_t>(d)];
      if (std::find(axes.begin(), axes.end(), d) == axes.end()) {
        c = coords[--next];
      } else {
        c = dag_.index(rest % shape[d]);
        rest /= shape[d];
      }
    }
    const KernelValue v = at(e.inputs[0], source);
    if (n == 1) return v;
    if (i == 0)
      sum = begin_combining(dag_, *e.op->combiner, dag_.convert(v, held));
    else
      combine(dag_, *e.op->combiner, sum, dag_.convert(v, held), sum);
  }
  return dag_.convert(sum, result);
}

KernelValue Expressions::literal(const Literal& l) {
  const auto read = [&]<class T>(T, std::size_t k = 0) {
    T v;
    std::memcpy(&v, l.bits.data() + k * sizeof(T), sizeof(T));
    return v;
  };
  const DType t = l.aval.dtype;
  if (t == float16) return dag_.constant(t, static_cast<float>(Float16::from_bits(read(std::uint16_t{}))));
  if (t == bfloat16) return dag_.constant(t, static_cast<float>(BFloat16::from_bits(read(std::uint16_t{}))));
  if (t == float32) return dag_.constant(t, static_cast<double>(read(float{})));
  if (t == float64) return dag_.constant(t, read(double{}));
  if (t == complex64)
    return dag_.complex(dag_.constant(float32, static_cast<double>(read(float{}))),
                        dag_.constant(float32, static_cast<double>(read(float{}, 1))));
  if (t == complex128) return dag_.complex(dag_.constant(float64, read(double{})), dag_.constant(float64, read(double{}, 1)));
  switch (t.itemsize()) {
    case 1: return dag_.integer(t, t.is_signed() ? read(std::int8_t{}) : read(std::uint8_t{}));
    case 2: return dag_.integer(t, t.is_signed() ? read(std::int16_t{}) : read(std::uint16_t{}));
    case 4: return dag_.integer(t, t.is_signed() ? std::int64_t{read(std::int32_t{})} : std::int64_t{read(std::uint32_t{})});
    default: return dag_.integer(t, read(std::int64_t{}));
  }
}

KernelValue Expressions::elementwise(const Eqn& e, std::span<const NodeId> coords) {
  std::vector<KernelValue> operands;
  for (Atom a : e.inputs) operands.push_back(at(a, j_.aval(a).ndim() == 0 ? std::span<const NodeId>() : coords));
  return e.op->lower(dag_, *e.params, operands);
}

NodeId Expressions::linear(const Shape& shape, std::span<const NodeId> coords) {
  NodeId position = dag_.index(0);
  const std::vector<std::int64_t> strides = row_major_strides(shape);
  for (std::size_t d = 0; d < coords.size(); ++d)
    if (shape[static_cast<int>(d)] != 1) position = dag_.combine(position, 1, coords[d], strides[d]);
  return position;
}

KernelValue Expressions::guarded(KernelValue condition, Atom a, std::span<const NodeId> coords) {
  const NodeId saved = guard_;
  if (!dag_.is_true(condition)) guard_ = saved < 0 ? condition.id : dag_.both(dag_.operand(saved), condition).id;
  const KernelValue value = at(a, coords);
  guard_ = saved;
  return value;
}

namespace {

/// Whether the shapes are equal but for dimensions of size 1: coordinates then stay what they are, even where a guard alone keeps them
/// inside.
bool only_units_differ(const Shape& a, const Shape& b) {
  int i = 0, k = 0;
  while (true) {
    while (i < a.size() && a[i] == 1) ++i;
    while (k < b.size() && b[k] == 1) ++k;
    if (i == a.size() || k == b.size()) return i == a.size() && k == b.size();
    if (a[i++] != b[k++]) return false;
  }
}

}  // namespace

KernelValue Expressions::movement(const Eqn& e, std::span<const NodeId> coords, int which) {
  const Aval& operand = j_.aval(e.inputs[0]);
  const Aval& result = j_.avals[e.outputs[static_cast<std::size_t>(which)]];
  const Movement m = e.op->movement(*e.params, operand_avals(j_, e), result, which);
  Coords source(static_cast<std::size_t>(operand.ndim()), dag_.index(0));
  if (m.reshape && m.order.empty() && only_units_differ(operand.shape, result.shape)) {
    int d = 0;
    for (int r = 0; r < result.shape.size(); ++r) {
      if (result.shape[r] == 1) continue;
      while (operand.shape[d] == 1) ++d;
      source[static_cast<std::size_t>(d++)] = coords[static_cast<std::size_t>(r)];
    }
    return at(e.inputs[0], source);
  }
  if (m.reshape) {
    NodeId position = linear(result.shape, coords);
    for (int k = operand.ndim() - 1; k >= 0; --k) {
      const int d = m.order.empty() ? k : m.order[static_cast<std::size_t>(k)];
      source[static_cast<std::size_t>(d)] = k == 0 ? position : dag_.modulo(position, operand.shape[d]);
      position = dag_.divide(position, operand.shape[d]);
    }
    return at(e.inputs[0], source);
  }
  KernelValue inside = dag_.boolean(true);
  for (std::size_t d = 0; d < m.dims.size(); ++d) {
    const MovementDim& dim = m.dims[d];
    const std::int64_t size = operand.shape[static_cast<int>(d)];
    if (dim.out_dim < 0) {
      source[d] = dag_.index(dim.offset);
      continue;
    }
    NodeId position = dag_.offset(dag_.scale(coords[static_cast<std::size_t>(dim.out_dim)], dim.scale), dim.offset);
    if (m.guarded) inside = dag_.both(inside, dag_.below(position, size * dim.divisor));
    if (dim.divisor != 1) {
      if (m.guarded) {
        // Remainders are taken of nonnegative positions only.
        const NodeId shifted = dag_.offset(position, (-std::min<std::int64_t>(dag_[position].low, 0) / dim.divisor + 1) * dim.divisor);
        inside = dag_.both(inside, dag_.below(dag_.modulo(shifted, dim.divisor), 1));
      }
      position = dag_.divide(position, dim.divisor);
    }
    if (dim.modulus != 0) position = dag_.modulo(position, dim.modulus);
    source[d] = position;
  }
  if (!m.guarded || dag_.is_true(inside)) return at(e.inputs[0], source);
  const KernelValue fill = at(e.inputs[1], {});
  if (dag_.is_false(inside)) return fill;
  return dag_.select(inside, guarded(inside, e.inputs[0], source), fill);
}

/// Whether both are computed by the same operations, as far as that is quickly told; positions may differ.
bool Expressions::are_alike(Atom a, Atom b, int depth) const {
  if (a.is_literal() || b.is_literal()) return a.is_literal() && b.is_literal();
  if (a.var() == b.var()) return true;
  const int by = defined_by_[a.var()], other = defined_by_[b.var()];
  if (by < 0 || other < 0 || depth == 0 || leaves_.is_leaf(a.var()) || leaves_.is_leaf(b.var())) return false;
  const Eqn &x = j_.eqns[static_cast<std::size_t>(by)], &y = j_.eqns[static_cast<std::size_t>(other)];
  if (x.op != y.op || x.inputs.size() != y.inputs.size() || x.outputs.size() != 1 || x.inputs.empty()) return false;
  for (std::size_t i = 0; i < x.inputs.size(); ++i)
    if (!are_alike(x.inputs[i], y.inputs[i], depth - 1)) return false;
  return true;
}

std::optional<KernelValue> Expressions::stacked(const Eqn& e, std::span<const NodeId> coords) {
  constexpr int kAlikeDepth = 12;
  const std::vector<Aval> avals = operand_avals(j_, e);
  const Aval& result = j_.avals[e.outputs[0]];
  NodeId along = -1;
  for (std::size_t k = 0; k < e.inputs.size(); ++k) {
    const Movement m = e.op->movement(*e.params, avals, result, static_cast<int>(k));
    along = coords[static_cast<std::size_t>(m.part_dim)];
    if (m.part_end != m.part_begin + 1 || !are_alike(e.inputs[0], e.inputs[k], kAlikeDepth)) return {};
  }
  if (std::int64_t constant = 0; along < 0 || dag_.as_constant(along, constant)) return {};
  const auto evaluations = evaluations_;
  std::vector<KernelValue> parts;
  for (std::size_t k = 0; k < e.inputs.size(); ++k) {
    const Movement m = e.op->movement(*e.params, avals, result, static_cast<int>(k));
    Coords source;
    for (const MovementDim& dim : m.dims)
      source.push_back(dim.out_dim < 0 || dim.out_dim == m.part_dim
                           ? dag_.index(0)
                           : dag_.offset(dag_.scale(coords[static_cast<std::size_t>(dim.out_dim)], dim.scale), dim.offset));
    parts.push_back(at(e.inputs[k], source));
  }
  const std::optional<KernelValue> value = dag_.member_of(parts, along);
  if (!value) evaluations_ = evaluations;
  return value;
}

KernelValue Expressions::concatenate(const Eqn& e, std::span<const NodeId> coords) {
  if (const std::optional<KernelValue> one = stacked(e, coords)) return *one;
  const std::vector<Aval> avals = operand_avals(j_, e);
  const Aval& result = j_.avals[e.outputs[0]];
  KernelValue value;
  for (std::size_t k = e.inputs.size(); k-- > 0;) {
    const Movement m = e.op->movement(*e.params, avals, result, static_cast<int>(k));
    if (m.part_begin == m.part_end) continue;
    const NodeId along = coords[static_cast<std::size_t>(m.part_dim)];
    const KernelValue here = dag_.below(dag_.offset(along, -m.part_begin), m.part_end - m.part_begin);
    if (dag_.is_false(here)) continue;
    Coords source;
    for (const MovementDim& dim : m.dims)
      source.push_back(dim.out_dim < 0 ? dag_.index(dim.offset)
                                       : dag_.offset(dag_.scale(coords[static_cast<std::size_t>(dim.out_dim)], dim.scale), dim.offset));
    const KernelValue part = guarded(here, e.inputs[k], source);
    value = value.id < 0 ? part : dag_.select(here, part, value);
  }
  if (value.id < 0) value = dag_.constant(result.dtype, 0);  // nothing is ever read here
  return value;
}

NodeId Expressions::clamped_start(KernelValue start, std::int64_t limit) {
  const bool narrow = limit <= 0x7fffffff && (start.dtype.itemsize() < 4 || start.dtype == int32);
  if (start.dtype.is_unsigned() && start.dtype.itemsize() >= 4) {
    start = dag_.min(start, dag_.integer(start.dtype, start.dtype == uint32 ? std::min<std::int64_t>(limit, 0xffffffff) : limit));
    return dag_.index_of(start, 0, limit);
  }
  start = dag_.convert(start, narrow ? int32 : int64);
  return dag_.index_of(dag_.max(dag_.min(start, dag_.integer(start.dtype, limit)), dag_.integer(start.dtype, 0)), 0, limit);
}

/// The coordinates in the operand of an element of a gather's result or a scatter's updates. Windows are clamped into the operand; with
/// `check`, `inside` says whether they were inside already.
Expressions::Place Expressions::locate(const IndexedGeometry& g, const Shape& operand, Atom indices, std::span<const NodeId> coords,
                                       bool check) {
  Coords batch;
  for (int d : g.batch_dims) batch.push_back(coords[static_cast<std::size_t>(d)]);
  Place place{{}, dag_.boolean(true)};
  for (std::size_t d = 0; d < g.dims.size(); ++d) {
    const IndexedDim& dim = g.dims[d];
    const std::int64_t limit = operand[static_cast<int>(d)] - dim.window;
    NodeId position = dag_.index(0);
    if (dim.batch_dim >= 0) position = batch[static_cast<std::size_t>(dim.batch_dim)];
    if (dim.component >= 0) {
      Coords where = batch;
      where.push_back(dag_.index(dim.component));
      const KernelValue start = at(indices, where);
      position = clamped_start(start, limit);
      if (check) {
        const KernelValue wide = start.dtype.itemsize() < 4 ? dag_.convert(start, int32) : start;
        const KernelValue zero = dag_.integer(wide.dtype, 0), last = dag_.integer(wide.dtype, limit);
        KernelValue below = dag_.boolean(true), above = below;
        if (wide.dtype.itemsize() == 8 || limit <= 0x7fffffff) below = dag_.le(wide, last);
        if (!wide.dtype.is_unsigned()) above = dag_.ge(wide, zero);
        // A clamped index is compared once.
        const auto is_compared = [&](KernelValue v) { return dag_[v.id].kind == NodeKind::op; };
        place.inside =
            dag_.both(place.inside, is_compared(below) && is_compared(above) ? dag_.eq(dag_.max(dag_.min(wide, last), zero), wide)
                                                                             : dag_.both(below, above));
      }
    }
    if (dim.window_dim >= 0) position = dag_.add(position, coords[static_cast<std::size_t>(dim.window_dim)]);
    place.coords.push_back(position);
  }
  return place;
}

KernelValue Expressions::gather(const Eqn& e, std::span<const NodeId> coords) {
  const Gather::Params& p = params_as<Gather::Params>(*e.params);
  const Aval &operand = j_.aval(e.inputs[0]), &result = j_.avals[e.outputs[0]];
  const Place place = locate(gather_geometry(p.dimension_numbers, p.slice_sizes, result.ndim()), operand.shape, e.inputs[1], coords,
                             p.mode == GatherScatterMode::fill_or_drop);
  const KernelValue value = at(e.inputs[0], place.coords);
  if (dag_.is_true(place.inside)) return value;
  Literal fill{Aval{{}, result.dtype}};
  store_fill(p.fill_value, result.dtype, fill.bits.data());
  return dag_.select(place.inside, value, literal(fill));
}

Expressions::Place Expressions::scatter_place(const Eqn& e, std::span<const NodeId> coords) {
  const ScatterParams p = scatter_params(*e.op, *e.params);
  const Aval &operand = j_.aval(e.inputs[0]), &updates = j_.aval(e.inputs[2]);
  return locate(scatter_geometry(p.dimension_numbers, operand.ndim(), updates.shape), operand.shape, e.inputs[1], coords,
                p.mode != GatherScatterMode::clip);
}

KernelValue Expressions::dynamic_slice(const Eqn& e, std::span<const NodeId> coords) {
  const Aval &operand = j_.aval(e.inputs[0]), &result = j_.avals[e.outputs[0]];
  Coords source;
  for (int d = 0; d < operand.ndim(); ++d) {
    const std::int64_t limit = operand.shape[d] - result.shape[d];
    const NodeId start = limit == 0 ? dag_.index(0) : clamped_start(at(e.inputs[static_cast<std::size_t>(d) + 1], {}), limit);
    source.push_back(dag_.add(start, coords[static_cast<std::size_t>(d)]));
  }
  return at(e.inputs[0], source);
}

KernelValue Expressions::dynamic_update_slice(const Eqn& e, std::span<const NodeId> coords) {
  const Aval &operand = j_.aval(e.inputs[0]), &update = j_.aval(e.inputs[1]);
  if (update.size() == 0) return at(e.inputs[0], coords);
  KernelValue inside = dag_.boolean(true);
  Coords source;
  for (int d = 0; d < operand.ndim(); ++d) {
    const std::int64_t limit = operand.shape[d] - update.shape[d];
    const NodeId start = limit == 0 ? dag_.index(0) : clamped_start(at(e.inputs[static_cast<std::size_t>(d) + 2], {}), limit);
    const NodeId relative = dag_.combine(coords[static_cast<std::size_t>(d)], 1, start, -1);
    inside = dag_.both(inside, dag_.below(relative, update.shape[d]));
    source.push_back(relative);
  }
  if (dag_.is_true(inside)) return at(e.inputs[1], source);
  const KernelValue updated = guarded(inside, e.inputs[1], source);
  return dag_.select(inside, updated, at(e.inputs[0], coords));
}

}  // namespace weft::detail
