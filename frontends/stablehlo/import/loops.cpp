// See loops.h. Integers that follow from the number of the step are known as a times it plus b; from them, which rows of arrays the steps
// read and write.
#include "weft/frontends/stablehlo/import/loops.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "weft/core/ir/kernel_builder.h"
#include "weft/core/ir/rewrite.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/movement/dynamic_slice.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/frontends/stablehlo/import/functions.h"

namespace weft::detail::mlir {
namespace {

/// The value of an integer constant.
std::optional<std::int64_t> integer_of(const Array& x) {
  const LiteralArray* const literal = as_literal(x);
  if (!literal || (!x.dtype().is_integer() && !x.dtype().is_bool()) || x.dtype() == uint64) return {};
  std::int64_t v = 0;
  read_elements(x, int64, &v, "while", {});
  return v;
}
std::optional<std::int64_t> integer_of(const JaxprData& d, Atom a) {
  return a.is_literal() ? integer_of(literal_array(d, a)) : std::nullopt;
}

/// An integer as step * (number of the step) + start.
struct Affine {
  std::int64_t step = 0, start = 0;
  bool is_constant() const { return step == 0; }
};
std::optional<Affine> sum(const Affine& x, const Affine& y, std::int64_t times) {
  Affine out;
  if (__builtin_mul_overflow(y.step, times, &out.step) || __builtin_mul_overflow(y.start, times, &out.start) ||
      __builtin_add_overflow(out.step, x.step, &out.step) || __builtin_add_overflow(out.start, x.start, &out.start))
    return {};
  return out;
}
std::optional<Affine> product(const Affine& x, std::int64_t by) { return sum({}, x, by); }

/// Whether the dtype, bool or of integers, has the number; of uint64 none is known.
bool fits(std::int64_t v, DType t) {
  if (t == uint64) return false;
  const int bits = t.is_bool() ? 1 : 8 * t.itemsize() - (t.is_signed() ? 1 : 0);
  const std::int64_t high = bits >= 63 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << bits) - 1;
  return v <= high && v >= (t.is_signed() ? -high - 1 : 0);
}

/// Interprets an elementwise operation's kernel on integers that follow from the number of the step. Values that do not, wrap around in
/// some step, or are not integers, are unknown.
class AffineBuilder final : public KernelBuilder {
 public:
  /// A comparison of two operands, by their positions.
  struct Comparison {
    ScalarOp op;
    int left, right;
  };
  /// `steps`: their number; 0 where it is not known: then only sums and products are followed, and taken not to wrap around.
  explicit AffineBuilder(std::int64_t steps) : steps_(steps) {}

  /// The equation's result for operands whose values `known` gives.
  template <class Known>
  std::optional<Affine> result(const JaxprData& d, const Eqn& e, Known&& known) {
    if (e.op->kind != Kind::elementwise) return {};
    std::vector<KernelValue> in;
    for (const Atom a : e.inputs) {
      const DType t = d.aval(a).dtype;
      if (!t.is_bool() && !t.is_integer() && !t.is_floating()) return {};
      in.push_back(node(known(a), t));
    }
    last_ = e.op->lower(*this, *e.params, in).id;
    return last_ < 0 ? std::nullopt : values_[static_cast<std::size_t>(last_)];
  }
  /// What result() was, if it was a comparison.
  std::optional<Comparison> comparison() const { return compared_ && compared_at_ == last_ ? compared_ : std::nullopt; }

  KernelValue call_where(KernelValue, MathFunction, std::span<const KernelValue>, KernelValue fast) override {
    return node({}, fast.dtype);
  }

 protected:
  KernelValue emit(ScalarOp op, DType type, std::span<const KernelValue> in) override {
    const KernelValue out = node(computed(op, type, in), type);
    if (op == ScalarOp::lt || op == ScalarOp::le || op == ScalarOp::gt || op == ScalarOp::ge)
      compared_ = Comparison{op, in[0].id, in[1].id}, compared_at_ = out.id;
    return out;
  }
  KernelValue emit_constant(DType type, double, std::int64_t integer) override { return node(Affine{0, integer}, type); }
  KernelValue emit_math(MathFunction, std::span<const KernelValue> in) override { return node({}, in[0].dtype); }

 private:
  KernelValue node(std::optional<Affine> a, DType type) {
    values_.push_back(stays_within(a, type) ? a : std::nullopt);
    return {static_cast<int>(values_.size()) - 1, -1, type};
  }
  bool stays_within(const std::optional<Affine>& a, DType type) const {
    if (!a || (!type.is_bool() && !type.is_integer())) return false;
    std::int64_t last = 0;
    return steps_ == 0 || (last_of(*a, last) && fits(a->start, type) && fits(last, type));
  }
  bool last_of(const Affine& a, std::int64_t& last) const {
    return !__builtin_mul_overflow(a.step, steps_ - 1, &last) && !__builtin_add_overflow(last, a.start, &last);
  }
  std::optional<Affine> computed(ScalarOp op, DType type, std::span<const KernelValue> in) const {
    const auto of = [&](std::size_t k) { return k < in.size() ? values_[static_cast<std::size_t>(in[k].id)] : std::nullopt; };
    const std::optional<Affine> x = of(0), y = of(1);
    const auto truth = [](std::optional<bool> v) { return v ? std::optional(Affine{0, *v}) : std::nullopt; };
    if (!x) return {};
    if (op == ScalarOp::select) return x->is_constant() ? of(x->start != 0 ? 1 : 2) : std::nullopt;
    if (op == ScalarOp::neg) return product(*x, -1);
    if (op == ScalarOp::convert && steps_ > 0) {
      if (!type.is_bool()) return x;
      return x->is_constant() ? truth(x->start != 0) : std::nullopt;
    }
    if (!y) return {};
    switch (op) {
      case ScalarOp::add: return sum(*x, *y, 1);
      case ScalarOp::sub: return sum(*x, *y, -1);
      case ScalarOp::mul: return x->is_constant() ? product(*y, x->start) : y->is_constant() ? product(*x, y->start) : std::nullopt;
      case ScalarOp::lt: return truth(less(*x, *y, false));
      case ScalarOp::le: return truth(less(*x, *y, true));
      case ScalarOp::gt: return truth(less(*y, *x, false));
      case ScalarOp::ge: return truth(less(*y, *x, true));
      case ScalarOp::min: return less(*x, *y, true) == true ? x : less(*y, *x, true) == true ? y : std::nullopt;
      case ScalarOp::max: return less(*x, *y, true) == true ? y : less(*y, *x, true) == true ? x : std::nullopt;
      default: return {};
    }
  }
  /// Whether x < y (or x <= y) holds in each step, or in none.
  std::optional<bool> less(const Affine& x, const Affine& y, bool or_equal) const {
    const std::optional<Affine> difference = steps_ > 0 ? sum(x, y, -1) : std::nullopt;
    std::int64_t last = 0;
    if (!difference || !last_of(*difference, last)) return {};
    const std::int64_t limit = or_equal ? 0 : -1;
    if (std::max(difference->start, last) <= limit) return true;
    if (std::min(difference->start, last) > limit) return false;
    return {};
  }

  const std::int64_t steps_;
  std::vector<std::optional<Affine>> values_;
  std::optional<Comparison> compared_;
  int compared_at_ = -1, last_ = -1;
};

/// What is known of a loop's body whose steps are counted.
class CountedBody {
 public:
  CountedBody(const Jaxpr& body, const Arrays& start)
      : program_(body), d_(body.data()), start_(start), defined_by_(d_.avals.size(), nullptr) {
    for (const Eqn& e : d_.eqns)
      for (const Var v : e.outputs) defined_by_[v] = &e;
  }

  const JaxprData& data() const { return d_; }
  bool is_carry(Atom a) const { return !a.is_literal() && a.var() >= d_.first_input() && a.var() < d_.first_result(); }
  std::size_t carry_of(Atom a) const { return a.var() - d_.first_input(); }
  Atom carry(std::size_t k) const { return Atom::var(d_.first_input() + static_cast<Var>(k)); }
  bool is_invariant(std::size_t k) const { return d_.outputs[k] == carry(k); }
  const Eqn* defining(Atom a) const { return a.is_literal() ? nullptr : defined_by_[a.var()]; }

  /// How a carried integer goes on from its constant start; nothing where it does not by a constant.
  std::optional<Affine> counter(std::size_t k) const {
    const std::optional<std::int64_t> from = integer_of(start_[k]);
    if (!from) return {};
    if (is_invariant(k)) return Affine{0, *from};
    const Eqn* const e = defining(d_.outputs[k]);
    if (!e) return {};
    // The next value by this one.
    const std::optional<Affine> next = AffineBuilder(0).result(d_, *e, [&](Atom a) -> std::optional<Affine> {
      if (a == carry(k)) return Affine{1, 0};
      if (const std::optional<std::int64_t> v = integer_of(d_, a)) return Affine{0, *v};
      return {};
    });
    return next && next->step == 1 ? std::optional(Affine{next->start, *from}) : std::nullopt;
  }

  /// Finds what follows from the number of the step, of so many.
  void count(std::int64_t steps) {
    steps_ = steps;
    known_.assign(d_.avals.size(), {});
    for (std::size_t k = 0; k < start_.size(); ++k) set(carry(k).var(), counter(k));
    for (const Eqn& e : d_.eqns)
      if (e.outputs.size() == 1) set(e.outputs[0], value(e));
  }
  std::int64_t steps() const { return steps_; }
  std::optional<Affine> known(Atom a) const {
    if (!a.is_literal()) return known_[a.var()];
    if (const std::optional<std::int64_t> v = integer_of(d_, a); v && d_.literals[a.literal()].aval.shape.empty()) return Affine{0, *v};
    return {};
  }

  /// If the equation is of one row of an array, for each step the next or the one before: which.
  std::optional<Affine> row(const Eqn& e, std::size_t first_index, const Shape& whole, const Shape& window) const {
    if (whole.empty() || window[0] != 1) return {};
    for (int d = 0; d < whole.size(); ++d) {
      const std::optional<Affine> at = known(e.inputs[first_index + static_cast<std::size_t>(d)]);
      if (!at || (d > 0 && (!at->is_constant() || at->start != 0 || window[d] != whole[d]))) return {};
      // A row outside would be moved inside.
      if (d == 0 && ((at->step != 1 && at->step != -1) || least(*at) < 0 || greatest(*at) >= whole[0])) return {};
    }
    return known(e.inputs[first_index]);
  }
  std::int64_t least(const Affine& a) const { return std::min(a.start, a.start + a.step * (steps_ - 1)); }
  std::int64_t greatest(const Affine& a) const { return std::max(a.start, a.start + a.step * (steps_ - 1)); }

 private:
  /// Kept only if no step's value wraps around.
  void set(Var v, std::optional<Affine> a) {
    const Aval& type = d_.avals[v];
    if (!a || !type.shape.empty()) return;
    if (!type.dtype.is_bool() && !type.dtype.is_integer()) return;
    std::int64_t far = 0;
    if (__builtin_mul_overflow(a->step, steps_ - 1, &far) || __builtin_add_overflow(far, a->start, &far)) return;
    if (!fits(a->start, type.dtype) || !fits(far, type.dtype)) return;
    known_[v] = a;
  }
  std::optional<Affine> value(const Eqn& e) const {
    const Aval& out = d_.avals[e.outputs[0]];
    if (!out.shape.empty() || (!out.dtype.is_bool() && !out.dtype.is_integer())) return {};
    // A scalar that is moved is the same scalar.
    if (e.op->kind == Kind::movement && e.inputs.size() == 1) return known(e.inputs[0]);
    return AffineBuilder(steps_).result(d_, e, [&](Atom a) { return known(a); });
  }

  const Jaxpr program_;
  const JaxprData& d_;
  const Arrays& start_;
  std::vector<const Eqn*> defined_by_;
  std::int64_t steps_ = 0;
  std::vector<std::optional<Affine>> known_;
};

/// How many steps there are: `counter < end` goes on, where the counter goes up from a constant to another one; or `counter > end` down.
/// 0: it isn't known.
std::int64_t number_of_steps(const Jaxpr& cond, const CountedBody& body, const Arrays& start) {
  const JaxprData& c = cond.data();
  if (c.eqns.size() != 1 || c.outputs.size() != 1 || c.outputs[0] != Atom::var(c.eqns[0].outputs[0]) || c.eqns[0].inputs.size() != 2)
    return 0;
  auto value = [&](Atom a) -> std::optional<Affine> {
    if (a.is_literal()) {
      if (const std::optional<std::int64_t> v = integer_of(c, a)) return Affine{0, *v};
      return {};
    }
    if (a.var() < c.first_input()) {
      if (const std::optional<std::int64_t> v = integer_of(c.consts[a.var()])) return Affine{0, *v};
      return {};
    }
    const std::size_t k = a.var() - c.first_input();
    return start[k].ndim() == 0 ? body.counter(k) : std::nullopt;
  };
  std::optional<Affine> x = value(c.eqns[0].inputs[0]), y = value(c.eqns[0].inputs[1]);
  if (!x || !y) return 0;
  AffineBuilder builder(0);
  builder.result(c, c.eqns[0], [](Atom) { return std::optional<Affine>(); });
  const std::optional<AffineBuilder::Comparison> test = builder.comparison();
  if (!test || test->left + test->right != 1) return 0;
  if (test->left == 1) std::swap(x, y);
  if (test->op == ScalarOp::gt || test->op == ScalarOp::ge) std::swap(x, y);  // y > x
  const bool or_equal = test->op == ScalarOp::le || test->op == ScalarOp::ge;
  // x < y goes on while the distance is positive, which gets smaller by a constant.
  const std::optional<Affine> distance = sum(*y, *x, -1);
  if (!distance || distance->step >= 0 || distance->step == std::numeric_limits<std::int64_t>::min()) return 0;
  std::int64_t left = distance->start;
  if (or_equal && __builtin_add_overflow(left, 1, &left)) return 0;
  if (left <= 0) return 0;
  const std::int64_t steps = (left - 1) / -distance->step + 1;
  // A counter that would wrap around before the condition fails goes on.
  for (const Atom a : c.eqns[0].inputs) {
    if (a.is_literal() || a.var() < c.first_input()) continue;
    const std::optional<Affine> counter = body.counter(a.var() - c.first_input());
    std::int64_t end = 0;
    if (__builtin_mul_overflow(counter->step, steps, &end) || __builtin_add_overflow(end, counter->start, &end) ||
        !fits(end, c.aval(a).dtype))
      return 0;
  }
  return steps;
}

/// Rows of an array that the steps read, or write, one after the other.
struct Rows {
  const Eqn* e;
  Affine at;
};

/// The rows in the order of the steps.
Array rows_of(const Array& x, const Affine& at, std::int64_t steps, bool reverse_loop, SourceLoc loc) {
  const std::int64_t begin = std::min(at.start, at.start + at.step * (steps - 1));
  const Array part = begin == 0 && x.shape()[0] == steps ? x : slice_axis(x, 0, begin, begin + steps, loc);
  return (at.step < 0) == reverse_loop ? part : reverse(part, {0}, loc);
}

/// A loop of a known number of steps as a scan: which of its carried arrays are read or written a row at a time.
class RowLoop {
 public:
  RowLoop(const CountedBody& body, const Arrays& start, std::int64_t steps, SourceLoc loc)
      : body_(body), d_(body.data()), start_(start), steps_(steps), loc_(loc), written_(start.size()) {
    find_rows();
    // A loop all of whose rows go backwards is a scan that does.
    backwards_ = !reads_.empty() || std::any_of(written_.begin(), written_.end(), [](const auto& w) { return w.has_value(); });
    for (const Rows& r : reads_) backwards_ = backwards_ && r.at.step < 0;
    for (const auto& w : written_) backwards_ = backwards_ && (!w || w->at.step < 0);
    for (std::size_t k = 0; k < start_.size(); ++k)
      if (!body_.is_invariant(k) && !written_[k]) carried_.push_back(k);
  }

  /// What is carried after the last step.
  Arrays run() const {
    std::vector<Aval> types;
    Arrays operands;
    for (const std::size_t k : carried_) types.push_back({start_[k].shape(), start_[k].dtype()}), operands.push_back(start_[k]);
    for (const Rows& r : reads_) {
      const Atom a = r.e->inputs[0];
      const Array& x = body_.is_carry(a) ? start_[body_.carry_of(a)] : d_.consts[a.var()];
      operands.push_back(rows_of(x, r.at, steps_, backwards_, loc_));
      types.push_back({x.shape().erased(0), x.dtype()});
    }
    const Jaxpr step = make_program("scan", types, [&](std::span<const Array> in) { return one_step(in); });
    return results_of(bind_scan({dce_program(step), steps_, static_cast<int>(carried_.size()), 0, backwards_, 1}, operands, loc_));
  }

 private:
  void find_rows() {
    std::vector<int> uses(d_.avals.size(), 0);
    const auto use = [&](Atom a) {
      if (!a.is_literal()) ++uses[a.var()];
    };
    for (const Eqn& e : d_.eqns)
      for (const Atom a : e.inputs) use(a);
    for (const Atom a : d_.outputs) use(a);

    for (const Eqn& e : d_.eqns)
      if (e.op->kind == Kind::dynamic_slice)
        if (const auto at = body_.row(e, 1, d_.aval(e.inputs[0]).shape, params_as<DynamicSlice::Params>(*e.params).slice_sizes))
          reads_.push_back({&e, *at});
    // Rows that are written, each by one step and read by none but that.
    for (std::size_t k = 0; k < start_.size(); ++k) {
      const Eqn* const e = body_.defining(d_.outputs[k]);
      if (!e || e->op->kind != Kind::dynamic_update_slice || e->inputs[0] != body_.carry(k) || uses[e->outputs[0]] != 1) continue;
      const auto at = body_.row(*e, 2, d_.aval(e->inputs[0]).shape, d_.aval(e->inputs[1]).shape);
      if (!at) continue;
      int own = 1;
      for (const Rows& r : reads_) own += r.e->inputs[0] == body_.carry(k) && r.at.step == at->step && r.at.start == at->start;
      if (uses[body_.carry(k).var()] == own) written_[k] = Rows{e, *at};
    }
    // Rows that are read: of arrays that no step changes, or before they are written.
    std::erase_if(reads_, [&](const Rows& r) {
      const Atom a = r.e->inputs[0];
      return a.is_literal() ||
             (body_.is_carry(a) ? !body_.is_invariant(body_.carry_of(a)) && !written_[body_.carry_of(a)] : a.var() >= d_.first_result());
    });
  }

  /// The scan's body: of the carried arrays and one row of each that is read, the carried ones after the step and the rows that it writes.
  Arrays one_step(std::span<const Array> in) const {
    ProgramValues<> values(d_);
    for (std::size_t k = 0; k < start_.size(); ++k) values[body_.carry(k).var()] = start_[k];
    for (std::size_t i = 0; i < carried_.size(); ++i) values[body_.carry(carried_[i]).var()] = in[i];
    for (const Eqn& e : d_.eqns) {
      const auto read = std::find_if(reads_.begin(), reads_.end(), [&](const Rows& r) { return r.e == &e; });
      if (read != reads_.end()) {
        const Array& row = in[carried_.size() + static_cast<std::size_t>(read - reads_.begin())];
        values[e.outputs[0]] = reshape_to(row, row.shape().inserted(0, 1), e.loc);
        continue;
      }
      if (std::any_of(written_.begin(), written_.end(), [&](const auto& w) { return w && w->e == &e; })) continue;
      values.set(e, bind_primitive(*e.op, e.params, values.read(e.inputs), e.loc));
    }
    Arrays results;
    for (const std::size_t k : carried_) results.push_back(values[d_.outputs[k]]);
    for (const auto& w : written_)
      if (w) {
        const Array row = values[w->e->inputs[1]];
        results.push_back(reshape_to(row, row.shape().erased(0), loc_));
      }
    return results;
  }

  /// `out`: the scan's results.
  Arrays results_of(const Arrays& out) const {
    Arrays results(start_.size());
    for (std::size_t i = 0; i < carried_.size(); ++i) results[carried_[i]] = out[i];
    std::size_t next = carried_.size();
    for (std::size_t k = 0; k < start_.size(); ++k) {
      if (written_[k])
        results[k] = with_rows(start_[k], out[next++], written_[k]->at);
      else if (body_.is_invariant(k))
        results[k] = start_[k];
      // Where a counter ends is known.
      if (const std::optional<Affine> counter = body_.known(body_.carry(k)); counter && !body_.is_invariant(k) && start_[k].ndim() == 0) {
        std::int64_t end = 0;
        if (!__builtin_mul_overflow(counter->step, steps_, &end) && !__builtin_add_overflow(end, counter->start, &end))
          results[k] = make_literal(Number(static_cast<long long>(end)), start_[k].dtype());
      }
    }
    return results;
  }
  /// x with the rows that the steps have written.
  Array with_rows(const Array& x, const Array& written, const Affine& at) const {
    const Array rows = (at.step < 0) == backwards_ ? written : reverse(written, {0}, loc_);
    if (x.shape()[0] == steps_) return rows;
    Arrays update{x, rows};
    update.push_back(make_literal(Number(static_cast<long long>(std::min(at.start, at.start + at.step * (steps_ - 1)))), int64));
    for (int dim = 1; dim < x.ndim(); ++dim) update.push_back(make_literal(Number(0), int64));
    return bind_all<DynamicUpdateSlice>({}, update, loc_)[0];
  }

  const CountedBody& body_;
  const JaxprData& d_;
  const Arrays& start_;
  const std::int64_t steps_;
  const SourceLoc loc_;
  std::vector<std::optional<Rows>> written_;  // for each carried array
  std::vector<Rows> reads_;
  std::vector<std::size_t> carried_;  // the arrays that the scan carries whole
  bool backwards_ = false;
};

}  // namespace

std::optional<Arrays> counted_loop(const Jaxpr& cond, const Jaxpr& given, const Arrays& start, SourceLoc loc) {
  const Jaxpr whole = dce_program(inline_calls(given));
  CountedBody body(whole, start);
  const std::int64_t steps = number_of_steps(dce_program(inline_calls(cond)), body, start);
  if (steps < 1) return {};
  body.count(steps);
  return RowLoop(body, start, steps, loc).run();
}

}  // namespace weft::detail::mlir
