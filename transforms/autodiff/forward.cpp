#include "weft/transforms/autodiff/forward.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/ir/walk.h"
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
  ProgramValues<> values(d, primals);
  VarMap<Tangent> tangents_of(d, tangents);
  std::vector<Array> in;
  std::vector<Tangent> in_tangents;
  for (const Eqn& e : d.eqns) {
    LocScope scope(e.loc);
    values.read(e.inputs, in);
    in_tangents.clear();
    for (Atom a : e.inputs) in_tangents.push_back(tangents_of[a]);
    JvpResult r = forward_eqn(e, in, in_tangents, mode);
    values.set(e, std::move(r.out));
    for (std::size_t k = 0; k < e.outputs.size(); ++k) tangents_of[e.outputs[k]] = std::move(r.tangents[k]);
  }
  JvpResult result;
  for (Atom a : d.outputs) result.out.push_back(values[a]), result.tangents.push_back(tangents_of[a]);
  return result;
}

}  // namespace weft::detail
