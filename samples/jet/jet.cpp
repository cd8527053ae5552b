// Runs a program on series: the walk over its equations, and what holds for all operations of a kind.
#include "jet.h"

#include <algorithm>

namespace jet {
namespace {

using namespace weft;

bool moves(const Series& s) {
  return std::any_of(s.begin() + 1, s.end(), [](const Term& t) { return t.has_value(); });
}
Series constant(Array x, std::size_t order) {
  Series s(order + 1);
  s[0] = std::move(x);
  return s;
}

/// Elements are only moved: each coefficient goes the value's way.
Series moved(const JetContext& c) {
  Series out(c.order + 1);
  for (std::size_t k = 0; k <= c.order; ++k) {
    std::vector<Array> in;
    bool any = k == 0;
    for (const Series& s : c.in) any = any || s[k];
    if (!any) continue;
    for (const Series& s : c.in) in.push_back(s[k] ? *s[k] : zeros_like(*s[0]));
    out[k] = c.bind(in);
  }
  return out;
}

}  // namespace

std::vector<Series> run(const Jaxpr& program, std::span<const Series> inputs, std::size_t order) {
  const auto lift = [&](Array x) { return constant(std::move(x), order); };
  return extend::walk_as<Series>(program, inputs, lift, [&](const Eqn& e, std::span<const Series> in) {
    const JetContext c{e, in, order};
    const auto type = [&](std::size_t k) { return program.data().avals[e.outputs[k]]; };
    // What is no floating number has no derivatives.
    const bool stays = e.outputs.size() == 1 && !type(0).dtype.is_inexact();
    std::vector<Series> out;
    if (stays || std::none_of(in.begin(), in.end(), moves)) {
      std::vector<Array> operands;
      for (const Series& s : in) operands.push_back(*s[0]);
      for (const Array& y : extend::bind_primitive(*e.op, e.params, operands, e.loc)) out.push_back(constant(y, order));
    } else if (Jet::Function* const rule = extend::find_rule<Jet>(*e.op)) {
      out.push_back(rule(c));
      // Operands broadcast; where only the smaller one moves, a coefficient has its shape.
      for (Term& t : out[0])
        if (t && t->shape() != type(0).shape) t = broadcast_to(*t, type(0).shape);
    } else if (e.op->kind == extend::Kind::movement || e.op->kind == extend::Kind::concatenate) {
      out.push_back(moved(c));
    } else if (e.op->body && !e.op->has_effects) {
      out = run(e.op->body(*e.params), in, order);
    } else {
      throw Error("jet: no rule for " + std::string(e.op->name) + "; declare one (RuleOf<Jet>)", e.loc);
    }
    return out;
  });
}

}  // namespace jet
