#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "backends/codegen/cost.h"
#include "backends/codegen/expressions.h"
#include "backends/codegen/lanes.h"
#include "backends/codegen/simplify.h"
#include "core/effects.h"
#include "core/ops/control.h"
#include "core/ops/dot.h"
#include "core/ops/linalg.h"
#include "core/ops/reduce.h"
#include "core/shape.h"

namespace weft::detail {
namespace {

constexpr std::size_t kMaxNodes = 3000;       // of a kernel
constexpr std::int64_t kMaxElements = 64;     // of one array at one point
constexpr std::int64_t kMaxWithoutBatch = 4;  // vectors are better used along the dimensions of larger arrays
constexpr std::int64_t kMaxChoices = 16;      // of an element of an array in registers, by a computed index
constexpr std::int64_t kGuessedTrips = 64;
constexpr std::size_t kMaxEquations = 200;  // of a program that becomes one kernel
constexpr std::int64_t kMinPoints = 256, kMaxRow = 8;

/// The equation can't be computed point by point.
struct NotLanes {};

bool is_small_algebra(const Eqn& e) { return e.op->name == "lu" || e.op->name == "cholesky" || e.op->name == "triangular_solve"; }

std::int64_t product(const Shape& s, int from) {
  std::int64_t n = 1;
  for (int d = from; d < s.size(); ++d) n *= s[d];
  return n;
}
bool begins_with(const Shape& s, const Shape& batch) {
  if (batch.empty() || s.size() < batch.size()) return false;
  for (int d = 0; d < batch.size(); ++d)
    if (s[d] != batch[d]) return false;
  return true;
}

class Former;

/// The values of a program's variables at a point.
class Scope final : public LeafReader {
 public:
  /// Gives the element at the position.
  using Source = std::function<KernelValue(std::span<const NodeId> at, NodeId guard)>;

  /// `memory`: of the program around the loop, whose values are in memory but for those that are only moved.
  Scope(Former& former, const JaxprData& j, std::function<Source(Var)> memory = {});
  bool is_leaf(Var v) override {
    const int by = defined_by_[v];
    if (sources_.count(v) > 0 || by < 0 || !injective_[static_cast<std::size_t>(by)]) return true;
    const Kind kind = j_.eqns[static_cast<std::size_t>(by)].op->kind;
    return memory_ && kind != Kind::movement && kind != Kind::iota;
  }
  KernelValue read(Var v, std::span<const NodeId> at, NodeId guard) override;
  KernelValue at(Atom a, std::span<const NodeId> coords) { return expressions_.at(a, coords); }
  void set(Var v, Source s) { sources_[v] = std::move(s); }
  const JaxprData& jaxpr() const { return j_; }
  const Eqn* definition(Atom a) const {
    const int by = a.is_literal() ? -1 : defined_by_[a.var()];
    return by < 0 ? nullptr : &j_.eqns[static_cast<std::size_t>(by)];
  }

 private:
  KernelValue compute(Var v, std::span<const NodeId> at);
  KernelValue reduce(const Eqn& e, std::span<const NodeId> at);
  KernelValue dot(const Eqn& e, std::span<const NodeId> at);
  KernelValue cumulative(const Eqn& e, std::span<const NodeId> at);
  KernelValue matrix(const Eqn& e, Var v, std::span<const NodeId> at);
  Elements matrix_of(Atom a, std::vector<NodeId> batch);

  Former& former_;
  const JaxprData& j_;
  std::vector<int> defined_by_;
  std::vector<char> injective_;
  Expressions expressions_;
  std::map<Var, Source> sources_;
  std::function<Source(Var)> memory_;
  std::map<std::pair<Var, std::vector<NodeId>>, KernelValue> memo_;
  std::map<std::pair<const Eqn*, std::vector<NodeId>>, std::vector<Elements>> matrices_;
};

class Former {
 public:
  Former(const JaxprData& j, const Eqn* e) : j_(j), e_(e) {}

  /// All results of the program.
  LaneKernel run_program() {
    batch_shape = program_batch();
    open_batch();
    Scope top(*this, j_);
    for (Var v = 0; v < j_.first_result(); ++v)
      top.set(v, [this, v](std::span<const NodeId> at, NodeId guard) { return memory(v)(at, guard); });
    kernel.nests.emplace_back();
    std::vector<Var> done;
    for (Atom a : j_.outputs) {
      if (std::find(done.begin(), done.end(), a.var()) != done.end()) continue;
      done.push_back(a.var());
      top_result(a.var(), [&](std::span<const NodeId> at) { return top.at(a, at); });
    }
    return {std::move(kernel), std::move(buffers_)};
  }

  LaneKernel run() {
    const bool loop = e_->op->kind == Kind::control;
    batch_shape = loop ? loop_batch() : matrix_batch();
    open_batch();
    Scope top(*this, j_, [this](Var v) { return memory(v); });
    kernel.nests.emplace_back();
    if (loop)
      control(top, *e_, kernel.nests[0].repeats, 0, true);
    else
      for (Var v : e_->outputs) top_result(v, [&](std::span<const NodeId> at) { return top.at(Atom::var(v), at); });
    return {std::move(kernel), std::move(buffers_)};
  }

  Dag& dag() { return kernel.dag; }
  int add_dim(std::int64_t size) {
    kernel.limits.emplace_back();
    return dag().add_dim(size);
  }

  /// The coordinates of an array's element at the open point, `batched` if the leading ones are the batch's.
  std::vector<NodeId> coords(const Shape& s, bool batched, std::int64_t element) {
    std::vector<NodeId> at(static_cast<std::size_t>(s.size()));
    const int first = batched ? batch_shape.size() : 0;
    for (int d = s.size(); d-- > first;) at[static_cast<std::size_t>(d)] = dag().index(element % s[d]), element /= s[d];
    for (int d = 0; d < first; ++d) at[static_cast<std::size_t>(d)] = dag().index_dim(kernel.outer[static_cast<std::size_t>(d)]);
    return at;
  }
  bool is_batched(const Shape& s) const { return begins_with(s, batch_shape); }
  std::int64_t elements(const Shape& s) const { return product(s, is_batched(s) ? batch_shape.size() : 0); }

  /// A loop within the scope's program. `around`: the loops that are open.
  void control(Scope& outer, const Eqn& e, std::vector<Repeat>& repeats, std::uint64_t around, bool is_top) {
    if (e.op == &primitive_of<Scan>)
      scan(outer, e, params_as<Scan::Params>(*e.params), repeats, around, is_top);
    else if (e.op == &primitive_of<While>)
      while_loop(outer, e, params_as<While::Params>(*e.params), repeats, around, is_top);
    else
      throw NotLanes();
  }

  bool computes(Var v) const { return std::find(e_->outputs.begin(), e_->outputs.end(), v) != e_->outputs.end(); }

  Kernel kernel;
  Shape batch_shape;
  std::uint64_t outer_mask = 0;
  NodeId lane_condition = -1;  ///< of a loop that each lane leaves on its own: true in the open iteration

 private:
  /// The batch of a loop: what its lanes differ in.
  Shape loop_batch() {
    if (e_->op == &primitive_of<While>) {
      const While::Params& p = params_as<While::Params>(*e_->params);
      const Jaxpr cond = simplify(p.cond_jaxpr);
      const JaxprData& c = cond.data();
      const Atom lanes = ungrouped(c, c.outputs[0]);
      if (const Shape& s = c.aval(lanes).shape; !s.empty()) {
        lanes_differ_ = true;
        return s;
      }
      return common_batch(std::span(e_->inputs).subspan(static_cast<std::size_t>(p.cond_nconsts + p.body_nconsts)));
    }
    if (e_->op == &primitive_of<Scan>) {
      const Scan::Params& p = params_as<Scan::Params>(*e_->params);
      return common_batch(std::span(e_->inputs).subspan(static_cast<std::size_t>(p.num_consts), static_cast<std::size_t>(p.num_carry)));
    }
    throw NotLanes();
  }
  /// The leading dimension that all large carries share.
  Shape common_batch(std::span<const Atom> carry) {
    std::int64_t size = 0;
    bool small = true;
    for (Atom a : carry) {
      const Shape& s = j_.aval(a).shape;
      small &= s.num_elements() <= kMaxWithoutBatch;
      if (s.num_elements() > size && s.size() > 0) size = s.num_elements();
    }
    if (small) return {};
    std::int64_t leading = 0;
    for (Atom a : carry) {
      const Shape& s = j_.aval(a).shape;
      if (s.num_elements() <= kMaxWithoutBatch) continue;
      if (leading == 0) leading = s[0];
      if (s[0] != leading) throw NotLanes();
    }
    if (leading < 16) throw NotLanes();
    return Shape{leading};
  }
  static Atom ungrouped(const JaxprData& c, Atom a) {
    for (;;) {
      const Eqn* by = nullptr;
      for (const Eqn& e : c.eqns)
        if (!a.is_literal() && e.outputs.size() == 1 && e.outputs[0] == a.var()) by = &e;
      if (!by || by->op->kind != Kind::reduce || by->op->combiner != Combiner::logical_or || !c.aval(by->inputs[0]).dtype.is_bool())
        return a;
      a = by->inputs[0];
    }
  }
  Shape matrix_batch() {
    const Shape& s = j_.aval(e_->inputs[0]).shape;
    return Shape(s.begin(), s.end() - 2);
  }
  /// Of programs that fold small arrays along other dimensions; without that, and for rows that fill vectors, ordinary kernels do better.
  Shape program_batch() {
    if (j_.outputs.empty() || j_.eqns.size() > kMaxEquations) throw NotLanes();
    std::int64_t leading = 0;
    for (Atom a : j_.outputs) {
      const Shape& s = j_.aval(a).shape;
      if (a.is_literal() || a.var() < j_.first_result() || s.empty() || (leading != 0 && s[0] != leading)) throw NotLanes();
      leading = s[0];
    }
    if (leading < kMinPoints) throw NotLanes();
    bool folds = false;
    for (const Eqn& e : j_.eqns) {
      const Kind k = e.op->kind;
      if (k == Kind::control || k == Kind::effect || e.op->has_effects) throw NotLanes();
      folds |= k == Kind::reduce || k == Kind::cumulative || k == Kind::dot || k == Kind::library;
      for (Var v : e.outputs) {
        const Shape& s = j_.avals[v].shape;
        if (!s.empty() && s.back() > kMaxRow && s.back() != leading) throw NotLanes();
      }
    }
    if (!folds) throw NotLanes();
    return Shape{leading};
  }
  void open_batch() {
    for (int d = 0; d < batch_shape.size(); ++d) {
      kernel.outer.push_back(add_dim(batch_shape[d]));
      outer_mask |= std::uint64_t{1} << kernel.outer.back();
    }
  }

  int argument(Var v) {
    for (std::size_t k = 0; k < buffers_.size(); ++k)
      if (buffers_[k] == v) return static_cast<int>(k);
    const Aval& a = j_.avals[v];
    if (a.dtype.is_complex() || a.size() == 0) throw NotLanes();
    kernel.args.push_back({a.dtype, a.size(), false, false});
    buffers_.push_back(v);
    return static_cast<int>(buffers_.size()) - 1;
  }
  NodeId row_major(const Shape& shape, std::span<const NodeId> at) {
    NodeId position = dag().index(0);
    const std::vector<std::int64_t> strides = row_major_strides(shape);
    for (std::size_t d = 0; d < at.size(); ++d) position = dag().combine(position, 1, at[d], strides[d]);
    return position;
  }
  Scope::Source memory(Var v) {
    const int arg = argument(v);
    return [this, arg, v](std::span<const NodeId> at, NodeId guard) {
      const Aval& a = j_.avals[v];
      return dag().load(arg, a.dtype, row_major(a.shape, at), guard);
    };
  }
  Store store_to(Var v, std::span<const NodeId> at, KernelValue value) {
    const int arg = argument(v);
    kernel.args[static_cast<std::size_t>(arg)].written = true;
    return {arg, row_major(j_.avals[v].shape, at), value.id, -1, false};
  }
  /// Stores all elements of a result of the equation.
  void top_result(Var v, const std::function<KernelValue(std::span<const NodeId>)>& value) {
    const Shape& s = j_.avals[v].shape;
    check_size(s);
    for (std::int64_t i = 0; i < elements(s); ++i) {
      const std::vector<NodeId> at = coords(s, is_batched(s), i);
      kernel.nests[0].stores.push_back(store_to(v, at, value(at)));
    }
  }
  void check_size(const Shape& s) const {
    if (elements(s) > (batch_shape.empty() && e_->op->kind == Kind::control ? kMaxWithoutBatch : kMaxElements)) throw NotLanes();
  }

  /// Before anything is built for them.
  void check_sizes(const Scope& scope, std::span<const Atom> carry) const {
    for (Atom a : carry) check_size(scope.jaxpr().aval(a).shape);
  }

  /// An array in registers.
  struct Registers {
    Aval aval;
    bool batched = false;
    std::vector<KernelValue> values;
  };
  Registers make_registers(const Aval& a, std::uint64_t loops) {
    if (a.dtype.is_complex() || a.size() == 0) throw NotLanes();
    check_size(a.shape);
    Registers r{a, is_batched(a.shape), {}};
    for (std::int64_t i = 0; i < elements(a.shape); ++i) {
      const int number = static_cast<int>(kernel.locals.size());
      kernel.locals.push_back(a.dtype);
      r.values.push_back(dag().local(number, a.dtype, loops | (r.batched ? outer_mask : 0)));
    }
    return r;
  }
  Scope::Source source_of(Registers r) {
    return [this, r = std::move(r)](std::span<const NodeId> at, NodeId) { return element(r, at, r.batched ? batch_shape.size() : 0, 0); };
  }
  /// The element of an array in registers; where a coordinate is computed, a choice of all that it may be.
  KernelValue element(const Registers& r, std::span<const NodeId> at, int dim, std::int64_t base) {
    for (int d = 0; dim == (r.batched ? batch_shape.size() : 0) && d < dim; ++d)
      if (at[static_cast<std::size_t>(d)] != dag().index_dim(kernel.outer[static_cast<std::size_t>(d)])) throw NotLanes();
    if (dim == r.aval.ndim()) return r.values[static_cast<std::size_t>(base)];
    const std::int64_t size = r.aval.shape[dim];
    const NodeId c = at[static_cast<std::size_t>(dim)];
    std::int64_t k = 0;
    if (dag().as_constant(c, k)) return element(r, at, dim + 1, base * size + std::clamp<std::int64_t>(k, 0, size - 1));
    if (size > kMaxChoices) throw NotLanes();
    const KernelValue which = dag().value_of(c, int32);
    KernelValue value = element(r, at, dim + 1, base * size);
    for (k = 1; k < size; ++k)
      value = dag().select(dag().eq(which, dag().integer(int32, k)), element(r, at, dim + 1, base * size + k), value);
    return value;
  }

  /// An operand of an equation in an enclosing scope, at coordinates that begin with the given ones.
  static Scope::Source operand(Scope& scope, Atom a, std::vector<NodeId> leading = {}) {
    return [&scope, a, leading = std::move(leading)](std::span<const NodeId> at, NodeId) {
      std::vector<NodeId> all = leading;
      all.insert(all.end(), at.begin(), at.end());
      return scope.at(a, all);
    };
  }
  Scope& open(const Jaxpr& simplified) {
    if (has_effects(simplified)) throw NotLanes();
    programs_.push_back(simplified);
    scopes_.push_back(std::make_unique<Scope>(*this, simplified.data()));
    return *scopes_.back();
  }

  struct Carry {
    Registers now, after;
  };
  void begin(Scope& outer, std::span<const Atom> atoms, Scope& body, Var first, Repeat& r, std::uint64_t around,
             std::vector<Carry>& carry) {
    for (std::size_t k = 0; k < atoms.size(); ++k) {
      const Aval& a = body.jaxpr().avals[first + static_cast<Var>(k)];
      Carry c{make_registers(a, around | std::uint64_t{1} << r.dim), make_registers(a, around)};
      for (std::int64_t i = 0; i < elements(a.shape); ++i) {
        const KernelValue start = outer.at(atoms[k], coords(a.shape, c.now.batched, i));
        const auto n = static_cast<std::size_t>(i);
        r.carried.push_back(
            {static_cast<int>(dag()[c.now.values[n].id].integer), static_cast<int>(dag()[c.after.values[n].id].integer), start.id, -1});
      }
      body.set(first + static_cast<Var>(k), source_of(c.now));
      carry.push_back(std::move(c));
    }
  }
  /// The loops of the body, then what it makes of the carry.
  void fill(Scope& body, Repeat& r, std::uint64_t loops, const std::vector<Carry>& carry) {
    for (const Eqn& e : body.jaxpr().eqns)
      if (e.op->kind == Kind::control) control(body, e, r.inner, loops, false);
    std::size_t next = 0;
    for (std::size_t k = 0; k < carry.size(); ++k)
      for (std::int64_t i = 0; i < elements(carry[k].now.aval.shape); ++i) {
        KernelValue v = body.at(body.jaxpr().outputs[k], coords(carry[k].now.aval.shape, carry[k].now.batched, i));
        // A lane that goes on takes the new value; the loop itself keeps the others'.
        const Node& n = dag()[v.id];
        if (lane_condition >= 0 && n.kind == NodeKind::op && n.op == ScalarOp::select && n.operands[0] == lane_condition)
          v = dag().operand(n.operands[1]);
        if (v.dtype != carry[k].now.aval.dtype) throw NotLanes();
        r.carried[next++].next = v.id;
      }
  }
  void finish(Scope& outer, const Eqn& e, std::vector<Carry>& carry, bool is_top) {
    for (std::size_t k = 0; k < carry.size(); ++k) {
      const Var v = e.outputs[k];
      const Scope::Source s = source_of(std::move(carry[k].after));
      if (is_top)
        top_result(v, [&](std::span<const NodeId> at) { return s(at, -1); });
      else
        outer.set(v, s);
    }
    if (dag().nodes.size() > kMaxNodes) throw NotLanes();
  }

  void scan(Scope& outer, const Eqn& e, const Scan::Params& p, std::vector<Repeat>& repeats, std::uint64_t around, bool is_top) {
    if (p.length == 0 || (!is_top && e.outputs.size() > static_cast<std::size_t>(p.num_carry))) throw NotLanes();
    const auto consts = static_cast<std::size_t>(p.num_consts), fixed = consts + static_cast<std::size_t>(p.num_carry);
    check_sizes(outer, std::span(e.inputs).subspan(consts, fixed - consts));
    Scope& body = open(simplify(p.jaxpr));
    const JaxprData& b = body.jaxpr();
    Repeat r;
    r.dim = add_dim(p.length);
    const std::uint64_t loops = around | std::uint64_t{1} << r.dim;
    const NodeId step = dag().index_dim(r.dim), position = p.reverse ? dag().offset(dag().scale(step, -1), p.length - 1) : step;
    for (std::size_t k = 0; k < consts; ++k) body.set(b.first_input() + static_cast<Var>(k), operand(outer, e.inputs[k]));
    for (std::size_t k = fixed; k < e.inputs.size(); ++k) {
      check_size(b.input_avals()[k].shape);
      body.set(b.first_input() + static_cast<Var>(k), operand(outer, e.inputs[k], {position}));
    }
    std::vector<Carry> carry;
    begin(outer, std::span(e.inputs).subspan(consts, fixed - consts), body, b.first_input() + static_cast<Var>(consts), r, around, carry);
    fill(body, r, loops, carry);
    for (std::size_t k = carry.size(); k < b.outputs.size(); ++k) {
      const Shape& s = b.aval(b.outputs[k]).shape;
      check_size(s);
      for (std::int64_t i = 0; i < elements(s); ++i) {
        const std::vector<NodeId> at = coords(s, is_batched(s), i);
        std::vector<NodeId> all{position};
        all.insert(all.end(), at.begin(), at.end());
        r.stores.push_back(store_to(e.outputs[k], all, body.at(b.outputs[k], at)));
      }
    }
    repeats.push_back(std::move(r));
    finish(outer, e, carry, is_top);
  }

  void while_loop(Scope& outer, const Eqn& e, const While::Params& p, std::vector<Repeat>& repeats, std::uint64_t around, bool is_top) {
    const auto first = static_cast<std::size_t>(p.cond_nconsts), consts = first + static_cast<std::size_t>(p.body_nconsts);
    check_sizes(outer, std::span(e.inputs).subspan(consts));
    Scope &cond = open(simplify(p.cond_jaxpr)), &body = open(simplify(p.body_jaxpr));
    const JaxprData &c = cond.jaxpr(), &b = body.jaxpr();
    Repeat r;
    r.dim = add_dim(kGuessedTrips);
    const std::uint64_t loops = around | std::uint64_t{1} << r.dim;
    for (std::size_t k = 0; k < first; ++k) cond.set(c.first_input() + static_cast<Var>(k), operand(outer, e.inputs[k]));
    for (std::size_t k = first; k < consts; ++k) body.set(b.first_input() + static_cast<Var>(k - first), operand(outer, e.inputs[k]));
    std::vector<Carry> carry;
    begin(outer, std::span(e.inputs).subspan(consts), body, b.first_input() + static_cast<Var>(p.body_nconsts), r, around, carry);
    for (std::size_t k = 0; k < carry.size(); ++k) cond.set(c.first_input() + static_cast<Var>(first + k), source_of(carry[k].now));
    for (const Eqn& inner : c.eqns)
      if (inner.op->kind == Kind::control) throw NotLanes();
    const NodeId saved = lane_condition;
    if (is_top && lanes_differ_) {
      for (const Carry& k : carry)
        if (!k.now.batched) throw NotLanes();
      const Atom lanes = ungrouped(c, c.outputs[0]);
      r.go_on = cond.at(lanes, coords(c.aval(lanes).shape, true, 0)).id;
      lane_condition = r.go_on;
    } else {
      r.go_on = cond.at(c.outputs[0], {}).id;
      lane_condition = -1;
    }
    fill(body, r, loops, carry);
    lane_condition = saved;
    repeats.push_back(std::move(r));
    finish(outer, e, carry, is_top);
  }

  const JaxprData& j_;
  const Eqn* e_;
  bool lanes_differ_ = false;
  std::vector<Var> buffers_;
  std::vector<Jaxpr> programs_;
  std::vector<std::unique_ptr<Scope>> scopes_;
};

Scope::Scope(Former& former, const JaxprData& j, std::function<Source(Var)> memory)
    : former_(former),
      j_(j),
      defined_by_(j.avals.size(), -1),
      expressions_(j, defined_by_, former.dag(), *this, kMaxNodes),
      memory_(std::move(memory)) {
  for (std::size_t i = 0; i < j.eqns.size(); ++i) {
    for (Var v : j.eqns[i].outputs) defined_by_[v] = static_cast<int>(i);
    injective_.push_back(j.eqns[i].op->kind != Kind::reduce && is_injective(j, j.eqns[i]));
  }
}

KernelValue Scope::read(Var v, std::span<const NodeId> at, NodeId guard) {
  if (const auto s = sources_.find(v); s != sources_.end()) return s->second(at, guard);
  if (memory_ && !former_.computes(v)) {
    set(v, memory_(v));
    return sources_.at(v)(at, guard);
  }
  if (defined_by_[v] < 0) throw NotLanes();
  std::pair<Var, std::vector<NodeId>> key{v, {at.begin(), at.end()}};
  if (const auto known = memo_.find(key); known != memo_.end()) return known->second;
  if (former_.dag().nodes.size() > kMaxNodes) throw NotLanes();
  const KernelValue value = compute(v, at);
  memo_.emplace(std::move(key), value);
  return value;
}

KernelValue Scope::compute(Var v, std::span<const NodeId> at) {
  const Eqn& e = *definition(Atom::var(v));
  if (j_.avals[v].dtype.is_complex()) throw NotLanes();
  switch (e.op->kind) {
    case Kind::reduce:
      return reduce(e, at);
    case Kind::dot:
      return dot(e, at);
    case Kind::cumulative:
      return cumulative(e, at);
    case Kind::library:
      return matrix(e, v, at);
    default:
      throw NotLanes();
  }
}

KernelValue combined(Dag& dag, Combiner c, KernelValue a, KernelValue b) {
  KernelValue v;
  if (!combine(dag, c, a, b, v)) throw NotLanes();
  return v;
}
DType accumulator(DType t) { return t == float16 || t == bfloat16 ? float32 : t; }

KernelValue Scope::reduce(const Eqn& e, std::span<const NodeId> at) {
  Dag& dag = former_.dag();
  const std::vector<int>& axes = params_as<ReduceParams>(*e.params).axes;
  const Aval& in = j_.aval(e.inputs[0]);
  if (!e.op->combiner || in.dtype.is_complex()) throw NotLanes();
  std::vector<NodeId> source;
  std::size_t next = 0;
  std::int64_t count = 1;
  for (int d = 0; d < in.ndim(); ++d) {
    const bool folded = std::find(axes.begin(), axes.end(), d) != axes.end();
    source.push_back(folded ? -1 : at[next++]);
    if (folded) count *= in.shape[d];
  }
  const int batch = former_.batch_shape.size();
  if (former_.lane_condition >= 0 && *e.op->combiner == Combiner::logical_or && in.dtype.is_bool() && in.ndim() <= batch) {
    // Whether any lane goes on: this one does.
    for (int d = 0; d < in.ndim(); ++d) {
      if (in.shape[d] != former_.batch_shape[d]) throw NotLanes();
      if (source[static_cast<std::size_t>(d)] < 0)
        source[static_cast<std::size_t>(d)] = dag.index_dim(former_.kernel.outer[static_cast<std::size_t>(d)]);
    }
    const KernelValue own = this->at(e.inputs[0], source);
    if (own.id == former_.lane_condition || dag.is_true(own)) return dag.boolean(true);
    throw NotLanes();
  }
  if (count == 0 || count > kMaxElements) throw NotLanes();
  const DType result = j_.avals[e.outputs[0]].dtype;
  Elements parts;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    std::vector<NodeId> where = source;
    for (int d = in.ndim(); d-- > 0;)
      if (where[static_cast<std::size_t>(d)] < 0) where[static_cast<std::size_t>(d)] = dag.index(rest % in.shape[d]), rest /= in.shape[d];
    parts.push_back(dag.convert(this->at(e.inputs[0], where), accumulator(result)));
  }
  while (parts.size() > 1) {
    const std::size_t half = (parts.size() + 1) / 2;
    for (std::size_t i = 0; i + half < parts.size(); ++i) parts[i] = combined(dag, *e.op->combiner, parts[i], parts[i + half]);
    parts.resize(half);
  }
  return dag.convert(parts[0], result);
}

KernelValue Scope::dot(const Eqn& e, std::span<const NodeId> at) {
  Dag& dag = former_.dag();
  const DotDimensions& dims = params_as<DotParams>(*e.params).dimension_numbers;
  const DType result = j_.avals[e.outputs[0]].dtype, held = accumulator(result);
  if (!result.is_floating()) throw NotLanes();
  std::int64_t count = 1;
  for (int d : dims.contracting[0]) count *= j_.aval(e.inputs[0]).shape[d];
  if (count > kMaxElements) throw NotLanes();
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

KernelValue Scope::cumulative(const Eqn& e, std::span<const NodeId> at) {
  Dag& dag = former_.dag();
  const CumulativeParams& p = params_as<CumulativeParams>(*e.params);
  const auto axis = static_cast<std::size_t>(p.axis);
  const DType result = j_.avals[e.outputs[0]].dtype;
  std::int64_t here = 0;
  const std::int64_t size = j_.avals[e.outputs[0]].shape[p.axis];
  if (!e.op->combiner || !dag.as_constant(at[axis], here) || size > kMaxElements) throw NotLanes();
  // From the neighbour, which is known by then.
  std::vector<NodeId> where(at.begin(), at.end());
  const KernelValue own = dag.convert(this->at(e.inputs[0], where), accumulator(result));
  const std::int64_t before = p.reverse ? here + 1 : here - 1;
  if (before < 0 || before >= size) return dag.convert(own, result);
  if (result != accumulator(result)) throw NotLanes();
  where[axis] = dag.index(before);
  return combined(dag, *e.op->combiner, read(e.outputs[0], where, -1), own);
}

Elements Scope::matrix_of(Atom a, std::vector<NodeId> batch) {
  const Shape& s = j_.aval(a).shape;
  const std::int64_t rows = s[s.size() - 2], columns = s.back();
  if (rows * columns > kMaxElements || rows * columns == 0) throw NotLanes();
  Elements out;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < columns; ++k) {
      std::vector<NodeId> where = batch;
      where.push_back(former_.dag().index(i)), where.push_back(former_.dag().index(k));
      out.push_back(at(a, where));
    }
  return out;
}

/// An element of a factorisation or a solution; all of them are computed at once.
KernelValue Scope::matrix(const Eqn& e, Var v, std::span<const NodeId> at) {
  Dag& dag = former_.dag();
  const Aval& in = j_.aval(e.inputs[0]);
  if (!is_small_algebra(e) || (in.dtype != float32 && in.dtype != float64)) throw NotLanes();
  const int leading = in.ndim() - 2;
  std::vector<NodeId> batch(at.begin(), at.begin() + leading);
  std::vector<Elements>& results = matrices_[{&e, batch}];
  if (results.empty()) {
    const Elements a = matrix_of(e.inputs[0], batch);
    const auto rows = static_cast<std::size_t>(in.shape[leading]), columns = static_cast<std::size_t>(in.shape.back());
    if (e.op->name == "lu") {
      LuElements f = lu_elements(dag, a, rows, columns);
      results = {std::move(f.lu), std::move(f.pivots), std::move(f.permutation)};
    } else if (e.op->name == "cholesky") {
      results = {cholesky_elements(dag, a, rows)};
    } else if (e.op->name == "triangular_solve") {
      const TriangularSolveParams& p = params_as<TriangularSolveParams>(*e.params);
      const Shape& b = j_.aval(e.inputs[1]).shape;
      results = {triangular_elements(dag, a, matrix_of(e.inputs[1], batch), static_cast<std::size_t>(b[leading]),
                                     static_cast<std::size_t>(b.back()), p.left_side, p.lower, p.transpose_a, p.unit_diagonal)};
    } else {
      throw NotLanes();
    }
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

}  // namespace

std::optional<LaneKernel> form_lane_program(const JaxprData& j) {
  try {
    LaneKernel k = Former(j, nullptr).run_program();
    if (k.kernel.dag.nodes.size() > kMaxNodes) return {};
    return k;
  } catch (const NotLanes&) {
  } catch (const ExpressionTooLarge&) {
  }
  return {};
}

std::optional<LaneKernel> form_lane_kernel(const JaxprData& j, const Eqn& e) {
  if (!is_small_algebra(e) && e.op != &primitive_of<Scan> && e.op != &primitive_of<While>) return {};
  for (Var v : e.outputs)
    if (j.avals[v].size() == 0) return {};
  for (Atom a : e.inputs)
    if (j.aval(a).size() == 0) return {};
  try {
    LaneKernel k = Former(j, &e).run();
    if (k.kernel.dag.nodes.size() > kMaxNodes) return {};
    return k;
  } catch (const NotLanes&) {
  } catch (const ExpressionTooLarge&) {
  }
  return {};
}

}  // namespace weft::detail
