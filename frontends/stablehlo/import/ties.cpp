// See ties.h.
#include "weft/frontends/stablehlo/import/ties.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "weft/core/functions/elementwise.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/jaxpr_copy.h"
#include "weft/core/ir/same_operation.h"
#include "weft/core/ops/elementwise/branches.h"
#include "weft/core/ops/elementwise/stop_gradient.h"
#include "weft/core/trace/trace.h"

namespace weft::detail::mlir {
namespace {

class Ties {
 public:
  explicit Ties(const Jaxpr& j) : d_(j.data()), maker_(d_.avals.size(), nullptr) {
    for (const Eqn& e : d_.eqns) {
      for (const Var v : e.outputs) maker_[v] = &e;
      if (find_rule<ExtremumTransform>(*e.op)) extrema_.push_back(&e);
    }
  }

  /// Whether the equation is the modulus of the difference of two values whose extremum is computed.
  bool has_shared_tie(const Eqn& e) const {
    if (extrema_.empty() || !find_rule<KinkTransform>(*e.op) || e.inputs[0].is_literal()) return false;
    const Eqn* const difference = maker_[e.inputs[0].var()];
    if (!difference || !find_rule<DifferenceTransform>(*difference->op) || !d_.avals[e.inputs[0].var()].dtype.is_floating()) return false;
    const Atom a = difference->inputs[0], b = difference->inputs[1];
    return std::any_of(extrema_.begin(), extrema_.end(), [&](const Eqn* m) {
      const Atom x = m->inputs[0], y = m->inputs[1];
      return (is_same(a, x) && is_same(b, y)) || (is_same(a, y) && is_same(b, x));
    });
  }

 private:
  const Literal& literal(Atom a) const { return d_.literals[a.literal()]; }

  /// The same value, or the same constant written down twice.
  bool is_same(Atom a, Atom b) const {
    if (a.is_literal() || b.is_literal()) return a.is_literal() && b.is_literal() && literal(a) == literal(b);
    if (a.var() == b.var()) return true;
    const Eqn *x = maker_[a.var()], *y = maker_[b.var()];
    if (!x || !y || has_effects(*x) || x->outputs.size() != 1 || d_.avals[a.var()] != d_.avals[b.var()]) return false;
    const auto same_literal = [&](Atom p, Atom q) { return p.is_literal() && q.is_literal() && literal(p) == literal(q); };
    return same_operation(*x, *y) && std::ranges::equal(x->inputs, y->inputs, same_literal);
  }

  const JaxprData& d_;
  std::vector<const Eqn*> maker_, extrema_;
};

}  // namespace

Jaxpr with_shared_ties(const Jaxpr& j) {
  const JaxprData& d = j.data();
  const Ties ties(j);
  if (std::none_of(d.eqns.begin(), d.eqns.end(), [&](const Eqn& e) { return ties.has_shared_tie(e); })) return j;
  JaxprCopy copy(j);
  copy.add_inputs();
  for (const Eqn& e : d.eqns) {
    if (!ties.has_shared_tie(e)) {
      copy.add(e);
      continue;
    }
    const Jaxpr still = trace_jaxpr({"stablehlo tie", {d.avals[e.inputs[0].var()]}, {}}, [&](std::span<const Array> v) {
      const LocScope scope(e.loc);
      return std::vector<Array>{where(v[0] == 0, stop_gradient_of(v[0]), v[0])};
    });
    const Atom operand = copy(e.inputs[0]);
    copy.add(e, e.params, copy.add_program(still, std::span(&operand, 1)));
  }
  return std::move(copy).finish(d.outputs);
}

}  // namespace weft::detail::mlir
