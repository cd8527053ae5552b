// Rematerialisation: the derivative of a program computes the program's intermediate values again instead of keeping them.
#include "weft/core/ops/control/remat.h"

#include <algorithm>
#include <map>

#include "weft/core/array/array_impl.h"
#include "weft/core/ir/effects.h"
#include "weft/core/ir/jaxpr_copy.h"
#include "weft/core/ir/kernel_builder.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/control/control_common.h"
#include "weft/core/ops/registry.h"
#include "weft/core/text/text.h"
#include "weft/core/text/text_rules.h"
#include "weft/core/trace/trace.h"
#include "weft/core/trace/varying_rule.h"

namespace weft {
namespace policies {
CheckpointPolicy save_only_these_names(std::initializer_list<const char*> names) {
  return CheckpointPolicy(CheckpointPolicy::Kind::names, {names.begin(), names.end()});
}
CheckpointPolicy save_any_names_but_these(std::initializer_list<const char*> names) {
  return CheckpointPolicy(CheckpointPolicy::Kind::other_names, {names.begin(), names.end()});
}
CheckpointPolicy save_anything_except_these_names(std::initializer_list<const char*> names) {
  return CheckpointPolicy(CheckpointPolicy::Kind::all_but_names, {names.begin(), names.end()});
}
CheckpointPolicy save_from_both_policies(const CheckpointPolicy& a, const CheckpointPolicy& b) { return CheckpointPolicy(a, b); }
}  // namespace policies

std::string print_param(const CheckpointPolicy& v) {
  switch (v.kind()) {
    case CheckpointPolicy::Kind::nothing: return "None";
    case CheckpointPolicy::Kind::everything: return "everything_saveable";
    case CheckpointPolicy::Kind::dots: return "dots_saveable";
    case CheckpointPolicy::Kind::dots_with_no_batch_dims: return "dots_with_no_batch_dims_saveable";
    case CheckpointPolicy::Kind::names: return "save_only_these_names" + detail::print_param(v.names());
    case CheckpointPolicy::Kind::other_names: return "save_any_names_but_these" + detail::print_param(v.names());
    case CheckpointPolicy::Kind::all_but_names: return "save_anything_except_these_names" + detail::print_param(v.names());
    case CheckpointPolicy::Kind::either:
      return "save_from_both_policies(" + print_param(v.parts()[0]) + ", " + print_param(v.parts()[1]) + ")";
  }
  return {};
}
void read_param(detail::ParamReader& r, CheckpointPolicy& v) {
  // As weft writes it, and as JAX's own classes print themselves.
  const std::pair<const char*, CheckpointPolicy> whole[] = {
      {"None", {}},
      {"nothing_saveable", {}},
      {"everything_saveable", policies::everything_saveable},
      {"dots_saveable", policies::dots_saveable},
      {"dots_with_no_batch_dims_saveable", policies::dots_with_no_batch_dims_saveable}};
  for (const auto& [word, policy] : whole)
    if (r.accept(word)) return void(v = policy);
  const std::pair<const char*, CheckpointPolicy::Kind> with_names[] = {
      {"save_only_these_names", CheckpointPolicy::Kind::names},
      {"save_any_names_but_these", CheckpointPolicy::Kind::other_names},
      {"save_anything_except_these_names", CheckpointPolicy::Kind::all_but_names}};
  std::vector<std::string> names;
  for (const auto& [word, kind] : with_names)
    if (r.accept(word)) {
      detail::read_param(r, names);
      return void(v = CheckpointPolicy(kind, names));
    }
  const std::pair<const char*, CheckpointPolicy::Kind> classes[] = {{"SaveOnlyTheseNames", CheckpointPolicy::Kind::names},
                                                                    {"SaveAnyNamesButThese", CheckpointPolicy::Kind::other_names}};
  for (const auto& [word, kind] : classes)
    if (r.accept(word)) {
      r.read_list([&] { r.read_list([&] { names.push_back(r.read_string()); }); });
      return void(v = CheckpointPolicy(kind, names));
    }
  if (r.accept("save_from_both_policies")) {
    std::vector<CheckpointPolicy> both;
    r.read_list([&] { read_param(r, both.emplace_back()); });
    if (both.size() != 2) r.fail("save_from_both_policies takes two policies");
    v = policies::save_from_both_policies(both[0], both[1]);
    return;
  }
  if (r.accept("DotsSaveable")) {
    r.read_list([&] { v = r.read_bool() ? policies::dots_with_no_batch_dims_saveable : policies::dots_saveable; });
    return;
  }
  // A Python function; what it closes over is not written.
  const std::string_view text = r.rest();
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  if (has("everything_saveable") || has("save_anything_except_these_names"))  // JAX's own saves all
    v = policies::everything_saveable;
  else if (has("nothing_saveable"))
    v = {};
  else
    r.fail("unknown checkpoint policy: " + std::string(text));
}

namespace detail {
namespace {

struct NameParams {
  std::string name;
  friend bool operator==(const NameParams&, const NameParams&) = default;
};
struct Name {
  static constexpr int num_operands = 1;
  static constexpr std::string_view name = "name", doc = "The operand itself, under a name that checkpoint policies refer to.";
  static constexpr Kind kind = Kind::elementwise;
  using Params = NameParams;
  static Aval abstract_eval(const OpContext& c) { return c.in[0]; }
  static std::vector<Tangent> jvp(const JvpContext& c) { return {c.tangents[0]}; }
  static std::vector<Tangent> transpose(const TransposeContext& c) { return {c.cotangents[0]}; }
  static BatchResult batch(const BatchContext& c) { return {bind_all<Name>(c.get<Params>(), c.in, c.loc), {c.dims[0]}}; }
  static void reference(const ReferenceContext& c) {
    const auto* from = c.in[0].as<const std::byte>();
    std::copy(from, from + c.in[0].aval.bytes(), c.out[0].as<std::byte>());
  }
  static KernelValue lower(KernelBuilder&, const Params&, std::span<const KernelValue> v) { return v[0]; }
};
const Rule<IdentityTransform, Name> name_is_identity([] {});

/// The names that checkpoint_name gives to a program's values, and to its operands.
std::multimap<Var, std::string> named_values(const JaxprData& d) {
  std::multimap<Var, std::string> names;
  for (const Eqn& e : d.eqns) {
    if (e.op != &primitive_of<Name>) continue;
    const std::string& name = params_as<NameParams>(*e.params).name;
    names.emplace(e.outputs[0], name);
    if (!e.inputs[0].is_literal()) names.emplace(e.inputs[0].var(), name);
  }
  return names;
}

bool saveable(const CheckpointPolicy& policy, const Eqn& e, const std::multimap<Var, std::string>& names) {
  const auto listed = [&](const std::string& name) {
    return std::find(policy.names().begin(), policy.names().end(), name) != policy.names().end();
  };
  const bool is_name = e.op == &primitive_of<Name>;
  switch (policy.kind()) {
    case CheckpointPolicy::Kind::nothing: return false;
    case CheckpointPolicy::Kind::everything: return true;
    case CheckpointPolicy::Kind::dots: return e.op->kind == Kind::dot || e.op->kind == Kind::convolution;
    case CheckpointPolicy::Kind::dots_with_no_batch_dims:
      return e.op->kind == Kind::dot && params_as<DotParams>(*e.params).dimension_numbers.batch[0].empty();
    case CheckpointPolicy::Kind::names: return is_name && listed(params_as<NameParams>(*e.params).name);
    case CheckpointPolicy::Kind::other_names: return is_name && !listed(params_as<NameParams>(*e.params).name);
    case CheckpointPolicy::Kind::all_but_names:
      return std::none_of(e.outputs.begin(), e.outputs.end(), [&](Var v) {
        const auto [first, last] = names.equal_range(v);
        return std::any_of(first, last, [&](const auto& entry) { return listed(entry.second); });
      });
    case CheckpointPolicy::Kind::either:
      return std::any_of(policy.parts().begin(), policy.parts().end(), [&](const CheckpointPolicy& p) { return saveable(p, e, names); });
  }
  return false;
}

// A program's residuals computed again from its inputs and from what the policy saves of its values.
struct Recompute {
  std::vector<Atom> saved;  ///< results of the program's equations
  Jaxpr program;            ///< (inputs, saved) -> residuals
};

Recompute plan_recompute(const Jaxpr& primal, std::size_t num_out, const CheckpointPolicy& policy) {
  const JaxprData& d = primal.data();
  // What the residuals need, going backwards and stopping at what is saved.
  std::vector<bool> needed(d.avals.size()), is_saved(d.avals.size());
  for (std::size_t i = num_out; i < d.outputs.size(); ++i)
    if (!d.outputs[i].is_literal()) needed[d.outputs[i].var()] = true;
  std::vector<bool> again(d.eqns.size());
  const std::multimap<Var, std::string> names = named_values(d);
  Recompute r;
  for (std::size_t i = d.eqns.size(); i-- > 0;) {
    const Eqn& e = d.eqns[i];
    if (std::none_of(e.outputs.begin(), e.outputs.end(), [&](Var v) { return needed[v]; })) continue;
    // Operations with outside effects run once: their results are kept under every policy.
    if (saveable(policy, e, names) || performs_io(e)) {
      for (Var v : e.outputs)
        if (needed[v]) is_saved[v] = true;
      continue;
    }
    again[i] = true;
    for (Atom a : e.inputs)
      if (!a.is_literal()) needed[a.var()] = true;
  }
  JaxprCopy copy(primal);
  copy.add_inputs();
  for (Var v = d.first_result(); v < d.avals.size(); ++v)
    if (is_saved[v]) {
      r.saved.push_back(Atom::var(v));
      copy.add_input(v);
    }
  for (std::size_t i = 0; i < d.eqns.size(); ++i)
    if (again[i]) copy.add(d.eqns[i]);
  r.program = std::move(copy).finish(std::span(d.outputs).subspan(num_out));
  return r;
}

struct Remat {
  static constexpr std::string_view name = "remat2",
                                    doc = "A sub-program whose derivative computes its values again instead of keeping them.";
  static constexpr Kind kind = Kind::call;
  using Params = RematParams;
  static const Jaxpr& body(const Params& p) { return p.jaxpr; }
  static std::vector<Aval> abstract_eval(const OpContext& c) { return call_types(c, c.get<Params>().jaxpr); }
  static std::vector<Array> bind(const ParamsRef& params, Jaxpr body, std::span<const Array> inputs, SourceLoc loc) {
    RematParams p = params_as<Params>(*params);
    p.jaxpr = std::move(body);
    return bind_all<Remat>(std::move(p), inputs, loc);
  }
  static JvpResult jvp_call(const JvpContext& c) { return jvp_of_call(c, c.get<Params>().jaxpr, bind); }
  static std::vector<Tangent> transpose(const TransposeContext& c) { return transpose_of_call(c, c.get<Params>().jaxpr, bind); }
  static BatchResult batch(const BatchContext& c) { return batch_of_call(c, c.get<Params>().jaxpr, bind); }

  // The primal computation runs in place. The linear one is again a remat: of a program that computes the residuals from the inputs
  // and from what was saved, and then applies the linear part to the tangents.
  static JvpResult linearize_call(const JvpContext& c) {
    const Params& p = c.get<Params>();
    const std::vector<bool> nonzero = nonzero_of(c.tangents);
    const LinearizedProgram l = linearize_program(inline_calls(p.jaxpr), nonzero);
    const std::size_t num_out = l.nonzero_out.size();
    const Recompute again = plan_recompute(l.primal, num_out, p.policy);
    const std::vector<Atom>& all = l.primal.data().outputs;
    std::vector<Atom> outputs(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(num_out));
    outputs.insert(outputs.end(), again.saved.begin(), again.saved.end());
    std::vector<Array> values = eval_jaxpr(dce_program(with_outputs(l.primal, outputs)), c.in);

    std::vector<Array> inputs(c.in.begin(), c.in.end());
    inputs.insert(inputs.end(), values.begin() + static_cast<std::ptrdiff_t>(num_out), values.end());
    const std::size_t num_known = inputs.size();
    for (const Tangent& t : c.tangents)
      if (t) inputs.push_back(*t);
    TraceRequest request{"checkpoint", {}, {}};
    for (const Array& x : inputs) request.inputs.push_back(x.aval());
    const Jaxpr linear = trace_jaxpr(request, [&](std::span<const Array> args) {
      std::vector<Array> operands = eval_jaxpr(again.program, args.first(num_known));
      operands.insert(operands.end(), args.begin() + static_cast<std::ptrdiff_t>(num_known), args.end());
      return eval_jaxpr(l.linear, operands);
    });
    values.resize(num_out);
    std::vector<Array> tangents_out;
    if (std::any_of(l.nonzero_out.begin(), l.nonzero_out.end(), [](bool b) { return b; })) {
      const Hoisted h = hoist_consts(dce_program(linear));
      inputs.insert(inputs.begin(), h.consts.begin(), h.consts.end());
      tangents_out = bind_all<Remat>({true, h.jaxpr, p.policy, p.prevent_cse}, inputs, c.loc);
    }
    return {std::move(values), scatter_tangents(tangents_out, l.nonzero_out)};
  }
};

constexpr ParamValue kRematIgnored[] = {{"differentiated", ""}, {"prevent_cse", ""}};
const PruneRule<Remat> remat_prune([](const PruneContext& c) {
  RematParams p = c.get<RematParams>();
  std::optional<PrunedEqn> r = prune_call(c, c.get<RematParams>().jaxpr, p.jaxpr);
  if (r) r->params = make_params(std::move(p));
  return r;
});
const TextRule<Remat> remat_text([] { return TextTraits{.ignored = kRematIgnored}; });

// Sharing equations with the primal computation (CSE) would keep its values alive instead of recomputing them.
const CallRule<Remat> remat_traits([] {
  return CallTraits{.stays_apart = [](const ParamsBase& p) {
    const auto& q = params_as<RematParams>(p);
    return q.differentiated && q.prevent_cse && q.jaxpr.data().num_consts == 0;
  }};
});
const VaryingRule<Remat> remat_varying(varying_of_body);
const MarkVaryingRule<Remat> remat_marks(mark_body);

}  // namespace

std::vector<Array> bind_remat(const Jaxpr& j, const CheckpointPolicy& policy, bool prevent_cse, std::span<const Array> inputs,
                              SourceLoc loc) {
  const Hoisted h = hoist_consts(j);
  std::vector<Array> operands = h.consts;
  operands.insert(operands.end(), inputs.begin(), inputs.end());
  return bind_all<Remat>({false, h.jaxpr, policy, prevent_cse}, operands, loc);
}

PrimitiveList remat_primitives() {
  static constexpr const Primitive* list[] = {&primitive_of<Name>, &primitive_of<Remat>};
  return list;
}

}  // namespace detail

Array checkpoint_name(Arg x, std::string_view name) { return detail::bind_one<detail::Name>({std::string(name)}, {x.array()}, x.where()); }

}  // namespace weft
