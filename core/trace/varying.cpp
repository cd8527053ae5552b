#include "weft/core/trace/varying.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "weft/core/array/array_lists.h"
#include "weft/core/base/nesting.h"
#include "weft/core/base/thread_object.h"
#include "weft/core/ir/eqn_avals.h"
#include "weft/core/ir/sealed_program.h"
#include "weft/core/ir/sub_programs.h"
#include "weft/core/ops/collective/collective.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/trace/varying_rule.h"

namespace weft::detail {
namespace {

struct ThreadState {
  std::vector<std::string> axes;
  std::optional<std::vector<Varying>> next;  // inputs of the trace to come
};
ThreadState& state() { return of_thread<ThreadState>(); }

/// A trace of a user's function in the body of a checked map.
class NotingTrace final : public Trace {
 public:
  NotingTrace(std::string what, std::vector<Varying> inputs) : Trace(std::move(what)), of_vars_(std::move(inputs)) {}

  Varying of(Var v) const { return v < of_vars_.size() ? of_vars_[v] : 0; }
  void note(Var v, Varying varying) {
    if (v >= of_vars_.size()) of_vars_.resize(v + 1);
    of_vars_[v] = varying;
  }
  /// A value has at most one mark for the same axes, so that its cotangents are added before they are summed over devices.
  std::map<std::tuple<bool, std::uintptr_t, Varying>, Var>
      marked;  // by variable, or by address of another trace's value, which is captured here

 private:
  std::vector<Varying> of_vars_;
};

NotingTrace* noting(Trace* t) { return state().axes.empty() ? nullptr : dynamic_cast<NotingTrace*>(t); }

Varying all_of(const VaryingList& list) {
  Varying v = 0;
  for (Varying x : list) v |= x;
  return v;
}

/// Finds the axes over which the program's equations communicate, and those of its pvary equations.
void find_axes(const Jaxpr& j, Varying& spoken_of, Varying& marked) {
  check_nesting("programs inside programs", nesting_depth(j));
  for (const Eqn& e : j.eqns()) {
    if (e.op->kind == Kind::collective) {
      const Varying v = varying_over(collective_axes(*e.op, *e.params));
      spoken_of |= v;
      if (collective_rules(*e.op).marks) marked |= v;
    }
    for_each_program(e, [&](const Jaxpr& inner) { find_axes(inner, spoken_of, marked); });
  }
}

EqnVarying of_collective(const Primitive& op, const ParamsBase& params, const VaryingList& in) {
  const CollectiveRules& rules = collective_rules(op);
  const Varying axes = varying_over(rules.axes(params));
  if (rules.exchange == Exchange::position) return {{}, {axes}, {}};
  EqnVarying r;
  const bool agrees = rules.agrees(params);
  for (Varying v : in) {
    r.need.push_back(rules.exchange == Exchange::none ? v & ~axes : v | axes);
    r.out.push_back(agrees ? v & ~axes : v | axes);
  }
  return r;
}

/// `strict`: the equation is in a program that is as it is; nothing if that has not the marks it needs.
std::optional<EqnVarying> rule(const Primitive& op, const ParamsBase& params, const VaryingList& in, std::span<const Aval> avals,
                               std::span<const Aval> out_avals, SourceLoc loc, bool strict) {
  if (op.kind == Kind::collective) return of_collective(op, params, in);
  const Varying all = all_of(in);
  if (op.kind == Kind::effect) return EqnVarying{in, VaryingList(out_avals.size(), all), {}};
  if (op.kind == Kind::call || op.kind == Kind::control || op.kind == Kind::spmd) {
    const VaryingContext context{op, params, in, avals};
    if (VaryingTransform::Function* const known = find_rule<VaryingTransform>(op))
      if (std::optional<VaryingList> out = known(context)) return EqnVarying{in, std::move(*out), {}};
    // A program without marks is valid if all of its inputs vary over the same axes: then all of its values do.
    Varying common = all, marked = 0;
    for_each_program(op, params, [&](const Jaxpr& j) { find_axes(j, common, marked); });
    if (common & marked) {
      if (strict) return {};
      if (MarkVaryingTransform::Function* const mark = find_rule<MarkVaryingTransform>(op)) return mark(context);
      throw Error(fmt::format("{}: cannot tell which of its values vary over `{}`; set check_vma = false in the shard_map around it",
                              op.name, fmt::join(names_of(common & marked), "`, `")),
                  loc);
    }
    return EqnVarying{VaryingList(in.size(), common), VaryingList(out_avals.size(), common), {}};
  }
  const bool differentiable = std::any_of(out_avals.begin(), out_avals.end(), [](const Aval& a) { return a.dtype.is_inexact(); });
  return EqnVarying{differentiable ? VaryingList(in.size(), all) : in, VaryingList(out_avals.size(), all), {}};
}

}  // namespace

std::optional<VaryingList> varying_of_program(const Jaxpr& j, const VaryingList& in) {
  check_nesting("programs inside programs", nesting_depth(j));
  const JaxprData& d = j.data();
  VaryingList of(d.avals.size());
  std::copy(in.begin(), in.end(), of.begin() + d.num_consts);
  for (const Eqn& e : d.eqns) {
    VaryingList operands;
    for (Atom a : e.inputs) operands.push_back(a.is_literal() ? 0 : of[a.var()]);
    const std::optional<EqnVarying> r = rule(*e.op, *e.params, operands, operand_avals(d, e), result_avals(d, e), e.loc, true);
    if (!r) return {};
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (!e.inputs[i].is_literal() && operands[i] != r->need[i]) return {};
    for (std::size_t k = 0; k < e.outputs.size(); ++k) of[e.outputs[k]] = r->out[k];
  }
  VaryingList out;
  for (Atom a : d.outputs) out.push_back(a.is_literal() ? 0 : of[a.var()]);
  return out;
}

Jaxpr mark_program(const Jaxpr& j, const VaryingList& in, VaryingList& out, const VaryingList& wanted) {
  const auto avals = j.data().input_avals();
  const InputsVary inputs(in);
  return trace_jaxpr({"shard_map", {avals.begin(), avals.end()}, {}}, [&](std::span<const Array> args) {
    std::vector<Array> results = eval_jaxpr(j, args);
    out = varying_of(results);
    for (std::size_t k = 0; k < wanted.size(); ++k) results[k] = vary_over(results[k], wanted[k], {});
    return results;
  });
}

bool widen(VaryingList& carry, const VaryingList& out, Varying common) {
  bool changed = false;
  for (std::size_t k = 0; k < carry.size(); ++k) {
    const Varying more = out[k] | common;
    changed = changed || (more & ~carry[k]);
    carry[k] |= more;
  }
  return changed;
}

std::optional<VaryingList> varying_of_body(const VaryingContext& c) {
  return varying_of_program(executed_body(c.op, c.params, c.avals), c.in);
}
EqnVarying mark_body(const VaryingContext& c) {
  EqnVarying r{c.in, {}, {}};
  struct Lists {
    const VaryingList& in;
    VaryingList& out;
  } lists{c.in, r.out};
  r.params = c.op.params_map_jaxprs(
      c.params, [](const Jaxpr& j, void* l) { return mark_program(j, static_cast<Lists*>(l)->in, static_cast<Lists*>(l)->out); }, &lists);
  return r;
}

CheckedAxes::CheckedAxes(const std::vector<std::string>& names) : before_(state().axes.size()) {
  std::vector<std::string>& axes = state().axes;
  axes.insert(axes.end(), names.begin(), names.end());
  if (axes.size() > 64) {
    axes.resize(before_);
    throw Error("shard_map: more than 64 mesh axes at once; set check_vma = false");
  }
}
CheckedAxes::~CheckedAxes() { state().axes.resize(before_); }

Varying varying_over(const std::vector<std::string>& names) {
  Varying v = 0;
  const std::vector<std::string>& axes = state().axes;
  for (const std::string& name : names)
    for (std::size_t i = axes.size(); i-- > 0;)
      if (axes[i] == name) {
        v |= Varying{1} << i;
        break;
      }
  return v;
}

std::vector<std::string> names_of(Varying v) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < state().axes.size(); ++i)
    if (v >> i & 1) names.push_back(state().axes[i]);
  return names;
}

bool notes_varying() { return noting(current_trace()) != nullptr; }

Varying varying_of(const Array& x) {
  const TracedArray* t = as_traced(x);
  const NotingTrace* trace = t ? noting(t->trace.get()) : nullptr;
  return trace ? trace->of(t->var) : 0;
}
std::vector<Varying> varying_of(std::span<const Array> xs) {
  std::vector<Varying> out;
  for (const Array& x : xs) out.push_back(varying_of(x));
  return out;
}

Array vary_over(const Array& x, Varying axes, SourceLoc loc) {
  const Varying missing = axes & ~varying_of(x);
  return missing ? bind_pvary(x, names_of(missing), loc) : x;
}

InputsVary::InputsVary(std::span<const Array> like) {
  if (notes_varying()) state().next = varying_of(like);
}
InputsVary::InputsVary(std::vector<Varying> inputs) { state().next = std::move(inputs); }
InputsVary::~InputsVary() { state().next.reset(); }

Ref<Trace> take_noting_trace(const std::string& what) {
  std::optional<std::vector<Varying>>& next = state().next;
  if (!next) return {};
  Ref<Trace> trace(new NotingTrace(what, std::move(*next)));
  next.reset();
  return trace;
}

std::optional<std::vector<Array>> add_noted_eqn(Trace& target, const Primitive& op, const ParamsRef& params, std::span<const Array> inputs,
                                                std::span<const Aval> out_avals, SourceLoc loc) {
  NotingTrace* const trace = noting(&target);
  if (!trace) return {};
  std::vector<Array> in(inputs.begin(), inputs.end());
  const std::vector<Aval> avals = avals_of(in);
  if (op.kind == Kind::collective && collective_rules(op).exchange == Exchange::none) {
    // A value that varies over these axes already needs no pvary.
    const Varying axes = varying_over(collective_axes(op, *params));
    if (in.size() == 1 && axes && (axes & ~varying_of(in[0])) == 0) return in;
  }
  const EqnVarying r = *rule(op, *params, varying_of(in), avals, out_avals, loc, false);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const Varying missing = r.need[i] & ~varying_of(in[i]);
    if (!missing || (as_literal(in[i]) && op.kind != Kind::control)) continue;
    const TracedArray* t = as_traced(in[i]);
    const bool own = t && t->trace.get() == &target;
    const std::tuple key(own, own ? std::uintptr_t{t->var} : reinterpret_cast<std::uintptr_t>(in[i].impl().get()), missing);
    if (const auto known = trace->marked.find(key); known != trace->marked.end()) {
      in[i] = Array(Ref<ArrayImpl>(new TracedArray(avals[i], Ref<Trace>(&target), known->second)));
      continue;
    }
    in[i] = bind_pvary(in[i], names_of(missing), loc);
    trace->marked.emplace(key, as_traced(in[i])->var);
  }
  std::vector<Array> out = target.add_eqn(op, r.params ? r.params : params, in, out_avals, loc);
  for (std::size_t k = 0; k < out.size(); ++k) trace->note(as_traced(out[k])->var, r.out[k]);
  return out;
}

}  // namespace weft::detail
