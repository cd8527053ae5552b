#include "weft/core/ops/control/call.h"

#include <algorithm>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/base/nesting.h"
#include "weft/core/ir/liveness.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ir/walk.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/trace.h"
#include "weft/core/trace/varying_rule.h"

namespace weft::detail {

std::vector<Tangent> scatter_tangents(std::span<const Array> some, const std::vector<bool>& which) {
  std::vector<Tangent> out(which.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < which.size(); ++i)
    if (which[i]) out[i] = some[next++];
  return out;
}

std::vector<Aval> call_types(const OpContext& c, const Jaxpr& body) {
  const auto want = body.data().input_avals();
  if (body.data().num_consts != 0) c.fail<Error>("its sub-program has constants; they must be operands");
  if (want.size() != c.in.size()) c.fail<ShapeError>("the sub-program has " + std::to_string(want.size()) + " inputs");
  for (std::size_t i = 0; i < want.size(); ++i)
    if (want[i].shape != c.in[i].shape || want[i].dtype != c.in[i].dtype)
      c.fail<ShapeError>("operand " + std::to_string(i) + " is " + to_string(c.in[i]) + ", the sub-program's input is " +
                         to_string(want[i]));
  return body.data().output_avals();
}

Jaxpr executed_body(const Primitive& op, const ParamsBase& params, std::span<const Aval> in) {
  return op.body ? op.body(params) : op.call_body(params, in);
}

CallTraits call_traits(const Primitive& op) {
  CallTransform::Function* const rule = find_rule<CallTransform>(op);
  return rule ? rule() : CallTraits();
}

Jaxpr with_outputs(const Jaxpr& j, std::vector<Atom> outputs) {
  const JaxprData& d = j.data();
  const Ref<JaxprData> data = new_program();
  data->avals = d.avals;
  data->num_consts = d.num_consts;
  data->num_inputs = d.num_inputs;
  data->eqns = d.eqns;
  data->literals = d.literals;
  data->consts = d.consts;
  data->outputs = std::move(outputs);
  return seal_program(data);
}

namespace {

// Binds a body that may have constants: they become leading operands.
std::vector<Array> bind_hoisted(BindBody bind, const ParamsRef& params, const Jaxpr& body, std::span<const Array> inputs, SourceLoc loc) {
  Hoisted h = hoist_consts(dce_program(body));
  return bind(params, std::move(h.jaxpr), concat(h.consts, inputs), loc);
}

}  // namespace

JvpResult jvp_of_call(const JvpContext& c, const Jaxpr& body, BindBody bind) {
  const JvpProgram p = jvp_program(body, nonzero_of(c.tangents));
  const std::vector<Array> values = bind_hoisted(bind, c.params, p.jaxpr, concat(c.in, nonzero_tangents(c.tangents)), c.loc);
  const auto n = p.nonzero_out.size();
  return {{values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n)}, scatter_tangents(std::span(values).subspan(n), p.nonzero_out)};
}

JvpResult linearize_of_call(const JvpContext& c, const Jaxpr& body, BindBody bind) {
  const LinearizedProgram p = linearize_program(body, nonzero_of(c.tangents));
  const std::size_t num_out = p.nonzero_out.size();
  // A residual that is an input, a literal or one of the results is not passed out of the call again.
  const JaxprData& d = p.primal.data();
  const std::vector<Atom> results(d.outputs.begin(), d.outputs.begin() + static_cast<std::ptrdiff_t>(num_out));
  std::vector<Atom> outputs = results;
  auto is_operand = [&](Atom a) { return a.is_literal() || a.var() < d.first_result(); };
  for (std::size_t i = num_out; i < d.outputs.size(); ++i)
    if (!is_operand(d.outputs[i]) && std::find(outputs.begin(), outputs.end(), d.outputs[i]) == outputs.end())
      outputs.push_back(d.outputs[i]);
  std::vector<Array> values = bind_hoisted(bind, c.params, with_outputs(p.primal, outputs), c.in, c.loc);
  std::vector<Array> residuals;
  for (std::size_t i = num_out; i < d.outputs.size(); ++i) {
    const Atom a = d.outputs[i];
    if (a.is_literal())
      residuals.push_back(literal_array(d, a));
    else if (a.var() < d.first_input())
      residuals.push_back(d.consts[a.var()]);
    else if (a.var() < d.first_result())
      residuals.push_back(c.in[a.var() - d.first_input()]);
    else
      residuals.push_back(values[static_cast<std::size_t>(std::find(outputs.begin(), outputs.end(), a) - outputs.begin())]);
  }
  values.resize(num_out);
  const bool any = std::any_of(p.nonzero_out.begin(), p.nonzero_out.end(), [](bool b) { return b; });
  std::vector<Array> tangents_out;
  if (any) tangents_out = bind_hoisted(bind, c.params, p.linear, concat(residuals, nonzero_tangents(c.tangents)), c.loc);
  return {std::move(values), scatter_tangents(tangents_out, p.nonzero_out)};
}

std::vector<Tangent> transpose_of_call(const TransposeContext& c, const Jaxpr& body, BindBody bind) {
  std::vector<bool> linear;
  std::vector<Array> inputs;
  for (const Operand& o : c.in) {
    linear.push_back(o.is_linear());
    if (!o.is_linear()) inputs.push_back(o.known());
  }
  const TransposedProgram t = transpose_program(body, linear, nonzero_of(c.cotangents));
  std::vector<Tangent> some =
      scatter_tangents(bind_hoisted(bind, c.params, t.jaxpr, concat(inputs, nonzero_tangents(c.cotangents)), c.loc), t.nonzero);
  std::vector<Tangent> out(c.in.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (linear[i]) out[i] = std::move(some[next++]);
  return out;
}

BatchResult batch_of_call(const BatchContext& c, const Jaxpr& body, BindBody bind) {
  const BatchedProgram b = batch_program(body, c.axis, {c.dims.begin(), c.dims.end()});
  return {bind_hoisted(bind, c.params, b.jaxpr, c.in, c.loc), b.out_dims};
}

namespace {

// Op has Params with a name, or not, and a body.
template <class Op>
struct CallRules {
  static constexpr Kind kind = Kind::call;
  static std::vector<Aval> abstract_eval(const OpContext& c) { return call_types(c, Op::body(c.get<typename Op::Params>())); }
  static std::vector<Array> bind(const ParamsRef& params, Jaxpr body, std::span<const Array> inputs, SourceLoc loc) {
    return bind_all<Op>(Op::with_body(params_as<typename Op::Params>(*params), std::move(body)), inputs, loc);
  }
  static JvpResult jvp_call(const JvpContext& c) { return jvp_of_call(c, Op::body(c.get<typename Op::Params>()), bind); }
  static JvpResult linearize_call(const JvpContext& c) { return linearize_of_call(c, Op::body(c.get<typename Op::Params>()), bind); }
  static std::vector<Tangent> transpose(const TransposeContext& c) {
    return transpose_of_call(c, Op::body(c.get<typename Op::Params>()), bind);
  }
  static BatchResult batch(const BatchContext& c) { return batch_of_call(c, Op::body(c.get<typename Op::Params>()), bind); }
};

struct Jit : CallRules<Jit> {
  static constexpr std::string_view name = "jit", doc = "A function that is compiled as a whole.";
  using Params = JitParams;
  static const Jaxpr& body(const Params& p) { return p.jaxpr; }
  static Params with_body(const Params& p, Jaxpr j) { return {p.name, {}, std::move(j)}; }
};

struct ClosedCall : CallRules<ClosedCall> {
  static constexpr std::string_view name = "closed_call", doc = "A sub-program run in place.";
  using Params = ClosedCallParams;
  static const Jaxpr& body(const Params& p) { return p.call_jaxpr; }
  static Params with_body(const Params&, Jaxpr j) { return {std::move(j)}; }
};

const CallRule<Jit> jit_traits([] {
  return CallTraits{.compiled_as = [](const ParamsBase& p) -> const std::string& { return params_as<JitParams>(p).name; }};
});
constexpr ParamValue kLeftOut[] = {{"donated_invars", "()"}};
constexpr ParamValue kIgnored[] = {{"compiler_options_kvs", ""}, {"donated_invars", ""}, {"inline", ""}, {"keep_unused", ""}};
std::optional<PrunedEqn> prune_jit(const PruneContext& c) {
  JitParams p = c.get<JitParams>();
  std::optional<PrunedEqn> r = prune_call(c, c.get<JitParams>().jaxpr, p.jaxpr);
  if (!r) return r;
  if (!p.donated_invars.empty()) {
    p.donated_invars.clear();
    for (std::size_t i : r->inputs) p.donated_invars.push_back(c.get<JitParams>().donated_invars[i]);
  }
  r->params = make_params(std::move(p));
  return r;
}
const PruneRule<Jit> jit_prune(prune_jit);
const PruneRule<ClosedCall> closed_call_prune([](const PruneContext& c) {
  ClosedCallParams p;
  std::optional<PrunedEqn> r = prune_call(c, c.get<ClosedCallParams>().call_jaxpr, p.call_jaxpr);
  if (r) r->params = make_params(std::move(p));
  return r;
});
const TextRule<Jit> jit_text([] { return TextTraits{.left_out = kLeftOut, .ignored = kIgnored, .is_function = true}; });
const VaryingRule<Jit> jit_varying(varying_of_body);
const MarkVaryingRule<Jit> jit_marks(mark_body);
const VaryingRule<ClosedCall> closed_call_varying(varying_of_body);
const MarkVaryingRule<ClosedCall> closed_call_marks(mark_body);

std::vector<Array> eval_inlined(const Jaxpr& j, std::span<const Array> args) {
  return walk(j, args, [](const Eqn& e, std::span<const Array> in) {
    if (e.op == &primitive_of<Jit>) return eval_inlined(params_as<JitParams>(*e.params).jaxpr, in);
    if (e.op == &primitive_of<ClosedCall>) return eval_inlined(params_as<ClosedCallParams>(*e.params).call_jaxpr, in);
    return bind_primitive(*e.op, e.params, in, e.loc);
  });
}

}  // namespace

std::optional<PrunedEqn> prune_call(const PruneContext& c, const Jaxpr& body, Jaxpr& to) {
  const LiveSet set = pruned_live_set_of(body, c.live);
  PrunedEqn r{{}, {}, {}, std::vector<PrunedResult>(c.out.size())};
  for (std::size_t i = 0; i < c.in.size(); ++i)
    if (set.input(body, i)) r.inputs.push_back(i);
  for (std::size_t k = 0; k < c.out.size(); ++k) {
    if (!c.live[k]) continue;
    r.results[k] = {PrunedResult::From::result, r.outputs.size()};
    r.outputs.push_back(k);
  }
  if (r.inputs.size() == c.in.size() && r.outputs.size() == c.out.size()) {
    to = dce_program(body);
    if (&to.data() == &body.data()) return {};
  } else {
    to = live_part(body, r.inputs, r.outputs);
  }
  return r;
}

std::vector<Array> run_in_place(const ParamsRef&, Jaxpr body, std::span<const Array> inputs, SourceLoc) { return eval_jaxpr(body, inputs); }

std::vector<Array> bind_closed_call(const ParamsRef&, Jaxpr body, std::span<const Array> inputs, SourceLoc loc) {
  return bind_all<ClosedCall>({std::move(body)}, inputs, loc);
}

Jaxpr inline_calls(const Jaxpr& j) {
  const auto& eqns = j.eqns();
  if (std::none_of(eqns.begin(), eqns.end(), [](const Eqn& e) { return e.op == &primitive_of<Jit> || e.op == &primitive_of<ClosedCall>; }))
    return j;
  const auto in = j.data().input_avals();
  return trace_jaxpr({"inline", {in.begin(), in.end()}, {}}, [&](std::span<const Array> args) { return eval_inlined(j, args); });
}

const JitParams* jit_params(const Eqn& e) { return e.op == &primitive_of<Jit> ? &params_as<JitParams>(*e.params) : nullptr; }

std::vector<Array> bind_jit(const std::string& name, const Jaxpr& j, std::vector<bool> donated, std::span<const Array> inputs,
                            SourceLoc loc) {
  const Hoisted h = hoist_consts(j);
  if (std::none_of(donated.begin(), donated.end(), [](bool b) { return b; }))
    donated.clear();
  else
    donated.insert(donated.begin(), h.consts.size(), false);
  return bind_all<Jit>({name, std::move(donated), h.jaxpr}, concat(h.consts, inputs), loc);
}

PrimitiveList call_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<ClosedCall>, &primitive_of<Jit>};
  return list;
}

}  // namespace weft::detail
