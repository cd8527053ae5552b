// See untaken.h.
#include "weft/frontends/stablehlo/import/untaken.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "weft/core/array/array_impl.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/jaxpr_copy.h"
#include "weft/core/ops/elementwise/branches.h"
#include "weft/core/ops/elementwise/stop_gradient.h"
#include "weft/core/trace/trace.h"

namespace weft::detail::mlir {
namespace {

/// Branches nested deeper belong to the one around them.
constexpr int kMostNested = 16;

/// A case of a selection: the elementwise equations that only it reads. Branch 0 is the program.
struct Branch {
  std::size_t parent = 0, select = 0, operand = 0;
  int depth = 0;
  bool is_singular = false;  ///< a derivative within may be infinite at finite operands
};

enum class Constant { no, finite, may_be_infinite };

class Untaken {
 public:
  explicit Untaken(const Jaxpr& j) : d_(j.data()), copy_(j), eqn_branch_(d_.eqns.size()), var_branch_(d_.avals.size(), kUnread) {
    find_constants();
    find_branches();
    gather();
  }
  bool is_needed() const {
    return std::any_of(branches_.begin() + 1, branches_.end(), [](const Branch& b) { return b.is_singular; });
  }
  Jaxpr rewritten() && {
    copy_.add_inputs();
    emit(0);
    return std::move(copy_).finish(d_.outputs);
  }

 private:
  static constexpr std::size_t kUnread = ~std::size_t{0};

  /// Values that depend on no input have no derivative.
  void find_constants() {
    constants_.assign(d_.avals.size(), Constant::no);
    // What a region has from the program around it is a constant of its own program. Arrays aren't looked through.
    for (std::size_t i = 0; i < d_.consts.size(); ++i)
      if (!as_traced(d_.consts[i])) constants_[i] = Constant::may_be_infinite;
    for (const Eqn& e : d_.eqns) {
      Constant all = has_effects(e) ? Constant::no : Constant::finite;
      for (const Atom a : e.inputs) all = std::min(all, constant(a));
      for (const Atom a : e.inputs)
        if (all != Constant::no && constant(a) == Constant::may_be_infinite) all = Constant::may_be_infinite;
      for (const Var v : e.outputs) constants_[v] = all;
    }
  }
  Constant constant(Atom a) const {
    if (!a.is_literal()) return constants_[a.var()];
    const Literal& l = d_.literals[a.literal()];
    const Number n = number_of(*as_literal(make_literal(l.aval, l.bits)));
    return std::isfinite(n.real) && std::isfinite(n.imag) ? Constant::finite : Constant::may_be_infinite;
  }

  bool may_be_infinite(const Eqn& e) const {
    if (constants_[e.outputs[0]] != Constant::no || !d_.avals[e.outputs[0]].dtype.is_inexact()) return false;
    auto* const is_finite = find_rule<FiniteDerivativeTransform>(*e.op);
    if (!is_finite) return true;
    bool is_constant[8] = {};
    const std::size_t n = std::min(e.inputs.size(), std::size(is_constant));
    for (std::size_t k = 0; k < n; ++k) {
      if (constant(e.inputs[k]) == Constant::may_be_infinite) return true;
      is_constant[k] = constant(e.inputs[k]) != Constant::no;
    }
    return !is_finite(std::span<const bool>(is_constant, n));
  }

  std::size_t common(std::size_t a, std::size_t b) const {
    while (a != b) {
      std::size_t& deeper = branches_[a].depth >= branches_[b].depth ? a : b;
      deeper = branches_[deeper].parent;
    }
    return a;
  }

  std::size_t case_of(std::size_t i, std::size_t operand, std::size_t parent) {
    const Eqn& e = d_.eqns[i];
    const int depth = branches_[parent].depth + 1;
    if (operand == 0 || depth > kMostNested || !find_rule<ChoiceTransform>(*e.op) || !aval(e.inputs[0]).dtype.is_bool()) return parent;
    // Where the other case is NaN or infinite, as at a pole, a derivative of 0 would be wrong.
    if (constant(e.inputs[3 - operand]) == Constant::may_be_infinite) return parent;
    branches_.push_back({parent, i, operand, depth, false});
    return branches_.size() - 1;
  }

  /// From the last equation to the first: where all readers of its result are.
  void find_branches() {
    const auto read_in = [&](Atom a, std::size_t branch) {
      if (a.is_literal()) return;
      std::size_t& of = var_branch_[a.var()];
      of = of == kUnread ? branch : common(of, branch);
    };
    for (const Atom a : d_.outputs) read_in(a, 0);
    for (std::size_t i = d_.eqns.size(); i-- > 0;) {
      const Eqn& e = d_.eqns[i];
      const bool moves = e.op->kind == Kind::elementwise && e.outputs.size() == 1 && !has_effects(e);
      const std::size_t branch = moves && var_branch_[e.outputs[0]] != kUnread ? var_branch_[e.outputs[0]] : 0;
      eqn_branch_[i] = branch;
      if (branch != 0 && may_be_infinite(e))
        for (std::size_t b = branch; b != 0 && !branches_[b].is_singular; b = branches_[b].parent) branches_[b].is_singular = true;
      for (std::size_t k = 0; k < e.inputs.size(); ++k) read_in(e.inputs[k], moves ? case_of(i, k, branch) : 0);
    }
  }

  /// The equations of each branch that needs to be one, in order.
  void gather() {
    eqns_.resize(branches_.size()), cases_.resize(d_.eqns.size());
    std::fill(var_branch_.begin(), var_branch_.end(), 0);
    for (std::size_t b = 1; b < branches_.size(); ++b)
      if (branches_[b].is_singular) cases_[branches_[b].select].push_back(b);
    for (std::size_t i = 0; i < d_.eqns.size(); ++i) {
      std::size_t b = eqn_branch_[i];
      while (b != 0 && !branches_[b].is_singular) b = branches_[b].parent;
      eqns_[b].push_back(i);
      eqn_branch_[i] = b;
      for (const Var v : d_.eqns[i].outputs) var_branch_[v] = b;
    }
  }

  void emit(std::size_t b) {
    for (const std::size_t i : eqns_[b]) {
      for (const std::size_t nested : cases_[i]) emit(nested);
      const Eqn& e = d_.eqns[i];
      std::vector<Atom> in;
      for (const Atom a : e.inputs) in.push_back(read(a, b));
      copy_.add(e, e.params, std::move(in));
    }
  }

  const Aval& aval(Atom a) const { return a.is_literal() ? d_.literals[a.literal()].aval : d_.avals[a.var()]; }

  /// The value as equations of the branch have it.
  Atom read(Atom a, std::size_t b) {
    if (b == 0 || a.is_literal() || common(var_branch_[a.var()], b) == b) return copy_(a);
    const std::size_t parent = branches_[b].parent;
    const Eqn& select = d_.eqns[branches_[b].select];
    const Aval& which = aval(select.inputs[0]);
    const Aval& x = aval(a);
    if (constant(a) != Constant::no || !x.dtype.is_inexact() || (which.shape != x.shape && which.ndim() != 0)) return read(a, parent);
    if (const auto done = masked_.find({b, a.var()}); done != masked_.end()) return done->second;
    const bool if_true = branches_[b].operand == 2;
    const Jaxpr mask = trace_jaxpr({"stablehlo selection", {which, x}, {}}, [&](std::span<const Array> v) {
      const LocScope scope(select.loc);
      const Array still = stop_gradient_of(v[1]);
      return std::vector<Array>{if_true ? where(v[0], v[1], still) : where(v[0], still, v[1])};
    });
    const Atom operands[] = {read(select.inputs[0], parent), read(a, parent)};
    return masked_.emplace(std::pair(b, a.var()), copy_.add_program(mask, operands)[0]).first->second;
  }

  const JaxprData& d_;
  JaxprCopy copy_;
  std::vector<Branch> branches_{1};
  std::vector<std::size_t> eqn_branch_, var_branch_;
  std::vector<Constant> constants_;
  std::vector<std::vector<std::size_t>> eqns_, cases_;
  std::map<std::pair<std::size_t, Var>, Atom> masked_;
};

}  // namespace

Jaxpr without_untaken_derivatives(const Jaxpr& j) {
  Untaken untaken(j);
  return untaken.is_needed() ? std::move(untaken).rewritten() : j;
}

}  // namespace weft::detail::mlir
