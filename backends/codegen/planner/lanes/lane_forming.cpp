// Forms lane kernels (lanes.h): a loop, a factorisation, or a program of small reductions, over a batch, becomes one kernel in which each
// lane of a vector computes one element of the batch, with that element's arrays in registers.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "weft/backends/codegen/planner/lanes/lane_scope.h"
#include "weft/backends/codegen/planner/simplify.h"
#include "weft/backends/codegen/schedule/cost.h"
#include "weft/core/array/shape.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/rules.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ops/control/control.h"
#include "weft/core/ops/linalg/linalg.h"

namespace weft::detail {
namespace {

constexpr std::int64_t kMaxWithoutBatch = 4;  // larger arrays without a batch are better vectorised along their dimensions
constexpr std::int64_t kMaxChoices = 16;      // of an element of an array in registers, by a computed index
constexpr std::int64_t kGuessedTrips = 64;    // of a while loop, for its cost
constexpr std::size_t kMaxEquations = 200;    // of a program that becomes one kernel
constexpr std::int64_t kMinLoopPoints = 16;   // of a loop
// Of more, the elements that an iteration reads and writes are better streamed from memory one iteration after the other.
constexpr std::int64_t kMaxStackedPoints = 32768;
constexpr std::int64_t kMinPoints = 256;  // of a program: fewer leave vectors and threads empty
constexpr std::int64_t kMaxRow = 8;       // the last dimension of its values; longer rows fill vectors themselves
constexpr std::int64_t kMaxReducedRow = 16;
constexpr std::int64_t kMaxAssembledRow = 64;  // each of whose elements is computed in a way of its own
constexpr std::size_t kMathCost = 8;           // of a mathematical function, in operations

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
/// A loop within a scope's program, of an operation of kind control that lanes can run.
struct LaneLoopTransform {
  static constexpr std::string_view name = "lane_loop", doc = "Its loop in a kernel of lanes.";
  using Function = void(Former& former, LaneScope& outer, const Eqn& e, std::vector<Repeat>& repeats, std::uint64_t around, bool is_top);
};
/// What the lanes of a loop that becomes a kernel differ in.
struct LaneBatchTransform {
  static constexpr std::string_view name = "lane_batch", doc = "What those lanes differ in.";
  using Function = Shape(Former& former, const Eqn& e);
};

class Former : public LanePoint {
 public:
  /// `rows`: the lanes of a loop are all elements of its carries' rows, else a row each.
  Former(const JaxprData& j, const Eqn* e, bool rows = false, std::function<bool(Var)> stores = {})
      : j_(j), e_(e), rows_(rows), stores_(std::move(stores)) {}

  /// All results of the program.
  LaneKernel run_program() {
    batch_shape = program_batch();
    open_batch();
    LaneScope top(*this, j_, std::make_shared<const Definitions>(j_));
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

  LaneKernel run(std::shared_ptr<const Definitions> known) {
    const bool loop = e_->op->kind == Kind::control;
    batch_shape = loop ? find_rule<LaneBatchTransform>(*e_->op)(*this, *e_) : matrix_batch();
    open_batch();
    LaneScope top(*this, j_, std::move(known), [this](Var v) { return computes(v) ? LaneScope::Source() : memory(v); });
    kernel.nests.emplace_back();
    if (loop)
      control(top, *e_, kernel.nests[0].repeats, 0, true);
    else
      for (Var v : e_->outputs) top_result(v, [&](std::span<const NodeId> at) { return top.at(Atom::var(v), at); });
    if (loop && repeats_work()) throw NotLanes();
    return {std::move(kernel), std::move(buffers_)};
  }

  Dag& dag() { return kernel.dag; }
  int add_dim(std::int64_t size) {
    if (dag().dims.size() >= Dag::kMaxDims) throw NotLanes();
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
  void control(LaneScope& outer, const Eqn& e, std::vector<Repeat>& repeats, std::uint64_t around, bool is_top) {
    LaneLoopTransform::Function* const rule = find_rule<LaneLoopTransform>(*e.op);
    if (!rule) throw NotLanes();
    rule(*this, outer, e, repeats, around, is_top);
  }

  bool computes(Var v) const { return std::find(e_->outputs.begin(), e_->outputs.end(), v) != e_->outputs.end(); }

  Shape while_batch(const Eqn& e, const While::Params& p) {
    const Jaxpr cond = simplify(p.cond_jaxpr);
    const JaxprData& c = cond.data();
    const Atom lanes = ungrouped(c, c.outputs[0]);
    if (const Shape& s = c.aval(lanes).shape; !s.empty()) {
      lanes_differ_ = true;
      return s;
    }
    return common_batch(std::span(e.inputs).subspan(static_cast<std::size_t>(p.cond_nconsts + p.body_nconsts)), false);
  }
  Shape scan_batch(const Eqn& e, const Scan::Params& p) {
    return common_batch(std::span(e.inputs).subspan(static_cast<std::size_t>(p.num_consts), static_cast<std::size_t>(p.num_carry)),
                        e.outputs.size() > static_cast<std::size_t>(p.num_carry));
  }

 private:
  /// What all large carries share: their leading dimension, and with `rows_` the next ones as far as they are long enough to be lanes.
  /// `stacks`: each iteration writes results of its own.
  Shape common_batch(std::span<const Atom> carry, bool stacks) {
    std::optional<Shape> shared;
    for (Atom a : carry) {
      const Shape& s = j_.aval(a).shape;
      if (s.num_elements() <= kMaxWithoutBatch) continue;
      const Shape& of = shared ? *shared : s;
      const auto end = std::mismatch(of.begin(), of.end(), s.begin(), s.end()).first;
      shared = Shape(of.begin(), end);
    }
    if (!shared) return {};
    int dims = std::min(1, shared->size());
    while (rows_ && dims < shared->size() && (*shared)[dims] > kMaxRow) ++dims;
    if (stacks && shared->num_elements() > kMaxStackedPoints && product(*shared, 1) > kMaxLaneElements) dims = 1;
    const Shape batch(shared->begin(), shared->begin() + dims);
    if (batch.num_elements() < kMinLoopPoints) throw NotLanes();
    return batch;
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
  /// For programs that reduce small arrays along other dimensions or assemble them from computed elements; without that, and for rows that
  /// fill vectors, ordinary kernels do better.
  Shape program_batch() {
    if (j_.outputs.empty() || j_.eqns.size() > kMaxEquations) throw NotLanes();
    std::int64_t leading = 0;
    for (Atom a : j_.outputs) {
      const Shape& s = j_.aval(a).shape;
      if (a.is_literal() || a.var() < j_.first_result() || s.empty() || (leading != 0 && s[0] != leading)) throw NotLanes();
      leading = s[0];
    }
    if (leading < kMinPoints) throw NotLanes();
    bool reduces = false, assembles = false, reads_fixed_places = true;
    for (const Eqn& e : j_.eqns) {
      const Kind k = e.op->kind;
      reads_fixed_places &= e.inputs.empty() || e.op->movement || k == Kind::elementwise;
      const bool assembled = joins(e) && joins_computed(e);
      assembles |= assembled;
      if (k == Kind::control || k == Kind::effect || e.op->has_effects) throw NotLanes();
      const auto check_row = [&](const Shape& s, std::int64_t most) {
        if (!s.empty() && s.back() > most && s.back() != leading) throw NotLanes();
      };
      for (Var v : e.outputs) check_row(j_.avals[v].shape, assembled ? kMaxAssembledRow : kMaxRow);
      if (k != Kind::reduce && k != Kind::cumulative && k != Kind::dot && k != Kind::library) continue;
      reduces = true;
      // Longer rows are better reduced by a kernel of their own, which reads whole vectors.
      for (Atom a : e.inputs) check_row(j_.aval(a).shape, kMaxReducedRow);
    }
    // Places that are computed are better read by kernels of single elements.
    if (!reduces && !(assembles && reads_fixed_places)) throw NotLanes();
    return Shape{leading};
  }
  bool is_computed(Atom a) const {
    const Eqn* by = nullptr;
    do {
      by = producer(a);
      if (by) a = by->inputs.empty() ? a : by->inputs[0];
    } while (by && by->op->kind == Kind::movement);
    return by && by->op->kind == Kind::elementwise;
  }
  const Eqn* producer(Atom a) const {
    for (const Eqn& e : j_.eqns)
      if (!a.is_literal() && e.outputs.size() == 1 && e.outputs[0] == a.var()) return &e;
    return nullptr;
  }
  static bool joins(const Eqn& e) { return e.op->movement && e.inputs.size() > 1; }
  /// Whether elements are joined, one an operand or by an equation that joins them, of which several are computed.
  bool joins_computed(const Eqn& e) const {
    const Shape& all = j_.avals[e.outputs[0]].shape;
    const auto count = static_cast<std::int64_t>(e.inputs.size());
    std::size_t computed = 0;
    for (Atom a : e.inputs) {
      const Eqn* by = producer(a);
      if (by && joins(*by) && joins_computed(*by))
        computed += 2;
      else if (is_element(j_.aval(a).shape, all, count))
        computed += is_computed(a);
      else
        return false;
    }
    return computed > 1;
  }
  /// Of one place along the dimension in which operands differ from the result.
  bool is_element(const Shape& s, const Shape& all, std::int64_t count) const {
    if (s.size() < all.size()) return s.num_elements() * count == all.num_elements();
    for (int d = 0; d < s.size(); ++d)
      if (s[d] == 1 && all[d] >= count) return true;
    return false;
  }
  /// Whether much of the loops' work is the same for all elements of a row, and would be done for each of them.
  bool repeats_work() const {
    if (!rows_ || batch_shape.size() < 2) return false;
    std::uint64_t along_rows = 0, loops = 0;
    for (std::size_t d = 1; d < kernel.outer.size(); ++d) along_rows |= std::uint64_t{1} << kernel.outer[d];
    for (int d : repeat_dims(kernel.nests[0])) loops |= std::uint64_t{1} << d;
    const std::vector<char> live = live_nodes(kernel);
    std::size_t work = 0, repeated = 0;
    for (std::size_t i = 0; i < live.size(); ++i) {
      const Node& n = kernel.dag.nodes[i];
      if (!live[i] || (n.dims & loops) == 0 || (n.kind != NodeKind::op && n.kind != NodeKind::math)) continue;
      const std::size_t cost = n.kind == NodeKind::math ? kMathCost : 1;
      work += cost;
      if ((n.dims & along_rows) != along_rows) repeated += cost;
    }
    return repeated * 8 > work;
  }
  void open_batch() {
    for (int d = 0; d < batch_shape.size(); ++d) {
      kernel.outer.push_back(add_dim(batch_shape[d]));
      outer_mask_ |= std::uint64_t{1} << kernel.outer.back();
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
  LaneScope::Source memory(Var v) {
    const int arg = argument(v);
    return [this, arg, v](std::span<const NodeId> at, NodeId guard) {
      const Aval& a = j_.avals[v];
      return dag().load(arg, a.dtype, row_major_position(dag(), a.shape, at), guard);
    };
  }
  Store store_to(Var v, std::span<const NodeId> at, KernelValue value) {
    const int arg = argument(v);
    kernel.args[static_cast<std::size_t>(arg)].written = true;
    return {arg, row_major_position(dag(), j_.avals[v].shape, at), value.id, -1, false};
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
    if (elements(s) > (batch_shape.empty() && e_->op->kind == Kind::control ? kMaxWithoutBatch : kMaxLaneElements)) throw NotLanes();
  }

  /// Checks sizes before any nodes are built.
  void check_sizes(const LaneScope& scope, std::span<const Atom> carry) const {
    for (Atom a : carry) check_size(scope.jaxpr().aval(a).shape);
  }

  /// The elements of an array in registers.
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
      r.values.push_back(dag().local(number, a.dtype, loops | (r.batched ? outer_mask_ : 0)));
    }
    return r;
  }
  LaneScope::Source source_of(Registers r) {
    return [this, r = std::move(r)](std::span<const NodeId> at, NodeId) { return element(r, at, r.batched ? batch_shape.size() : 0, 0); };
  }
  /// The element of an array in registers; a computed coordinate selects among all elements that it may name.
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
  static LaneScope::Source operand(LaneScope& scope, Atom a, std::vector<NodeId> leading = {}) {
    return [&scope, a, leading = std::move(leading)](std::span<const NodeId> at, NodeId guard) {
      std::vector<NodeId> all = leading;
      all.insert(all.end(), at.begin(), at.end());
      return scope.at(a, all, guard);
    };
  }
  LaneScope& open(const Jaxpr& simplified) {
    if (has_effects(simplified)) throw NotLanes();
    programs_.push_back(simplified);
    scopes_.push_back(std::make_unique<LaneScope>(*this, simplified.data(), std::make_shared<const Definitions>(simplified.data())));
    return *scopes_.back();
  }

  struct Carry {
    Registers now, after;
  };
  void begin(LaneScope& outer, std::span<const Atom> atoms, LaneScope& body, Var first, Repeat& r, std::uint64_t around,
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
  void fill(LaneScope& body, Repeat& r, std::uint64_t loops, const std::vector<Carry>& carry) {
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
  void finish(LaneScope& outer, const Eqn& e, std::vector<Carry>& carry, bool is_top) {
    for (std::size_t k = 0; k < carry.size(); ++k) {
      const Var v = e.outputs[k];
      const LaneScope::Source s = source_of(std::move(carry[k].after));
      if (is_top)
        top_result(v, [&](std::span<const NodeId> at) { return s(at, -1); });
      else
        outer.set(v, s);
    }
    if (dag().nodes.size() > kMaxLaneNodes) throw NotLanes();
  }

 public:
  void scan(LaneScope& outer, const Eqn& e, const Scan::Params& p, std::vector<Repeat>& repeats, std::uint64_t around, bool is_top) {
    if (p.length == 0 || (!is_top && e.outputs.size() > static_cast<std::size_t>(p.num_carry))) throw NotLanes();
    const auto consts = static_cast<std::size_t>(p.num_consts), fixed = consts + static_cast<std::size_t>(p.num_carry);
    check_sizes(outer, std::span(e.inputs).subspan(consts, fixed - consts));
    LaneScope& body = open(simplify(p.jaxpr));
    const JaxprData& b = body.jaxpr();
    Repeat r;
    r.dim = add_dim(p.length);
    const std::uint64_t loops = around | std::uint64_t{1} << r.dim;
    const NodeId step = dag().index_dim(r.dim), position = p.reverse ? dag().offset(dag().scale(step, -1), p.length - 1) : step;
    for (std::size_t k = 0; k < consts; ++k) body.set(b.first_input() + static_cast<Var>(k), operand(outer, e.inputs[k]));
    for (std::size_t k = fixed; k < e.inputs.size(); ++k) {
      const Shape& s = b.input_avals()[k].shape;
      check_size(s);
      if (is_top && !e.inputs[k].is_literal() && s == batch_shape && stores_(e.inputs[k].var()))
        outer.set(e.inputs[k].var(), memory(e.inputs[k].var()));
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

  void while_loop(LaneScope& outer, const Eqn& e, const While::Params& p, std::vector<Repeat>& repeats, std::uint64_t around, bool is_top) {
    const auto first = static_cast<std::size_t>(p.cond_nconsts), consts = first + static_cast<std::size_t>(p.body_nconsts);
    check_sizes(outer, std::span(e.inputs).subspan(consts));
    LaneScope &cond = open(simplify(p.cond_jaxpr)), &body = open(simplify(p.body_jaxpr));
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

 private:
  const JaxprData& j_;
  const Eqn* e_;
  bool rows_;
  const std::function<bool(Var)> stores_;
  std::uint64_t outer_mask_ = 0;
  bool lanes_differ_ = false;
  std::vector<Var> buffers_;
  std::vector<Jaxpr> programs_;
  std::vector<std::unique_ptr<LaneScope>> scopes_;
};

const Rule<LaneLoopTransform, Scan> scan_lanes([](Former& f, LaneScope& outer, const Eqn& e, std::vector<Repeat>& repeats,
                                                  std::uint64_t around, bool is_top) {
  f.scan(outer, e, params_as<Scan::Params>(*e.params), repeats, around, is_top);
});
const Rule<LaneBatchTransform, Scan> scan_lanes_batch([](Former& f, const Eqn& e) {
  return f.scan_batch(e, params_as<Scan::Params>(*e.params));
});
const Rule<LaneLoopTransform, While> while_lanes_rule([](Former& f, LaneScope& outer, const Eqn& e, std::vector<Repeat>& repeats,
                                                         std::uint64_t around, bool is_top) {
  f.while_loop(outer, e, params_as<While::Params>(*e.params), repeats, around, is_top);
});
const Rule<LaneBatchTransform, While> while_lanes_batch([](Former& f, const Eqn& e) {
  return f.while_batch(e, params_as<While::Params>(*e.params));
});

std::optional<LaneKernel> form(Former& former, const std::shared_ptr<const Definitions>& known) {
  try {
    LaneKernel k = former.run(known);
    if (k.kernel.dag.nodes.size() <= kMaxLaneNodes) return k;
  } catch (const NotLanes&) {
  } catch (const ExpressionTooLarge&) {
  }
  return {};
}

}  // namespace

std::optional<LaneKernel> form_lane_program(const JaxprData& j) {
  try {
    LaneKernel k = Former(j, nullptr).run_program();
    if (k.kernel.dag.nodes.size() > kMaxLaneNodes) return {};
    return k;
  } catch (const NotLanes&) {
  } catch (const ExpressionTooLarge&) {
  }
  return {};
}

std::optional<LaneKernel> form_lane_kernel(const JaxprData& j, const Eqn& e, std::shared_ptr<const Definitions>& known,
                                           const std::function<bool(Var)>& stores) {
  if (!is_small_algebra(e) && !find_rule<LaneBatchTransform>(*e.op)) return {};
  if (nesting_depth(e) > Dag::kMaxDims) return {};  // it has more loops than a kernel may have
  for (Var v : e.outputs)
    if (j.avals[v].size() == 0) return {};
  for (Atom a : e.inputs)
    if (j.aval(a).size() == 0) return {};
  if (!known) known = std::make_shared<const Definitions>(j);
  Former rows(j, &e, true, stores);
  std::optional<LaneKernel> k = form(rows, known);
  if (k || e.op->kind != Kind::control || rows.batch_shape.size() < 2) return k;
  Former points(j, &e, false, stores);
  return form(points, known);
}

}  // namespace weft::detail
