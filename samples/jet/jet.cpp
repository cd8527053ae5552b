// Runs a program on series: the walk over its equations, and what holds for all operations of a kind.
#include "jet.h"

#include <algorithm>

#include "weft/core/array/array_impl.h"

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
  const detail::JaxprData& d = program.data();
  std::vector<Series> values(d.avals.size());
  for (std::size_t i = 0; i < d.consts.size(); ++i) values[i] = constant(d.consts[i], order);
  std::copy(inputs.begin(), inputs.end(), values.begin() + d.num_consts);
  const auto read = [&](detail::Atom a) {
    if (!a.is_literal()) return values[a.var()];
    return constant(detail::make_literal(d.literals[a.literal()].aval, d.literals[a.literal()].bits), order);
  };
  for (const Eqn& e : d.eqns) {
    std::vector<Series> in;
    for (const detail::Atom a : e.inputs) in.push_back(read(a));
    const JetContext c{e, in, order};
    // What is no floating number has no derivatives.
    const bool stays = e.outputs.size() == 1 && !d.avals[e.outputs[0]].dtype.is_inexact();
    if (stays || std::none_of(in.begin(), in.end(), moves)) {
      std::vector<Array> operands;
      for (const Series& s : in) operands.push_back(*s[0]);
      const std::vector<Array> out = detail::bind_primitive(*e.op, e.params, operands, e.loc);
      for (std::size_t k = 0; k < out.size(); ++k) values[e.outputs[k]] = constant(out[k], order);
    } else if (Jet::Function* const rule = detail::find_rule<Jet>(*e.op)) {
      Series out = rule(c);
      // Operands broadcast; where only the smaller one moves, a coefficient has its shape.
      const Shape& shape = d.avals[e.outputs[0]].shape;
      for (Term& t : out)
        if (t && t->shape() != shape) t = broadcast_to(*t, shape);
      values[e.outputs[0]] = std::move(out);
    } else if (e.op->kind == detail::Kind::movement || e.op->kind == detail::Kind::concatenate) {
      values[e.outputs[0]] = moved(c);
    } else if (e.op->body && !e.op->has_effects) {
      const std::vector<Series> out = run(e.op->body(*e.params), in, order);
      std::copy(out.begin(), out.end(), values.begin() + static_cast<std::ptrdiff_t>(e.outputs[0]));
    } else {
      throw Error("jet: no rule for " + std::string(e.op->name) + "; declare one (RuleOf<Jet>)", e.loc);
    }
  }
  std::vector<Series> out;
  for (const detail::Atom a : d.outputs) out.push_back(read(a));
  return out;
}

}  // namespace jet
