#include "weft/transforms/autodiff/forward.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/ops/control/composite.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

JvpResult forward_eqn(const Eqn& e, std::span<const Array> in, std::span<const Tangent> tangents, ForwardMode mode) {
  const Primitive& op = *e.op;
  const bool any = std::any_of(tangents.begin(), tangents.end(), [](const Tangent& t) { return t.has_value(); });
  // A composite whose name has no rule of its own is its body, whose equations run here: no program is made in between.
  if (const CompositeParams* const c = any ? as_composite(e) : nullptr) {
    const bool has_rule = mode == ForwardMode::jvp ? find_composite_rule<CompositeJvp>(c->name) != nullptr
                                                   : find_composite_rule<CompositeLinearize>(c->name) != nullptr;
    if (!has_rule) return forward(c->jaxpr, in, tangents, mode);
  }
  if (any && op.jvp_call) return (mode == ForwardMode::jvp ? op.jvp_call : op.linearize_call)({op, e.params, in, {}, tangents, e.loc});
  JvpResult r;
  r.out = bind_primitive(op, e.params, in, e.loc);
  r.tangents.resize(r.out.size());
  if (!any) return r;
  const bool inexact = std::any_of(r.out.begin(), r.out.end(), [](const Array& x) { return x.dtype().is_inexact(); });
  if (!op.not_differentiable.empty() && inexact)
    throw TracerError(fmt::format("{}: not differentiable: {}", op.name, op.not_differentiable), effective_loc(e.loc));
  if (op.jvp && inexact) r.tangents = op.jvp({op, e.params, in, r.out, tangents, e.loc});
  for (std::size_t i = 0; i < r.out.size(); ++i)
    if (!r.out[i].dtype().is_inexact()) r.tangents[i].reset();
  return r;
}

}  // namespace

JvpResult forward(const Jaxpr& j, std::span<const Array> primals, std::span<const Tangent> tangents, ForwardMode mode) {
  const JaxprData& d = j.data();
  std::vector<Array> values(d.avals.size());
  std::vector<Tangent> tangents_out(d.avals.size());
  std::copy(d.consts.begin(), d.consts.end(), values.begin());
  std::copy(primals.begin(), primals.end(), values.begin() + d.num_consts);
  std::copy(tangents.begin(), tangents.end(), tangents_out.begin() + d.num_consts);
  auto value = [&](Atom a) {
    return a.is_literal() ? make_literal(d.literals[a.literal()].aval, d.literals[a.literal()].bits) : values[a.var()];
  };
  auto tangent = [&](Atom a) { return a.is_literal() ? Tangent() : tangents_out[a.var()]; };
  std::vector<Array> in;
  std::vector<Tangent> in_tangents;
  for (const Eqn& e : d.eqns) {
    LocScope scope(e.loc);
    in.clear(), in_tangents.clear();
    for (Atom a : e.inputs) in.push_back(value(a)), in_tangents.push_back(tangent(a));
    JvpResult r = forward_eqn(e, in, in_tangents, mode);
    for (std::size_t k = 0; k < e.outputs.size(); ++k) {
      values[e.outputs[k]] = std::move(r.out[k]);
      tangents_out[e.outputs[k]] = std::move(r.tangents[k]);
    }
  }
  JvpResult result;
  for (Atom a : d.outputs) result.out.push_back(value(a)), result.tangents.push_back(tangent(a));
  return result;
}

}  // namespace weft::detail
