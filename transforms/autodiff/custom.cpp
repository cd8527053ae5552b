#include "weft/transforms/autodiff/custom.h"

#include <fmt/format.h>

#include <algorithm>
#include <typeinfo>

#include "weft/core/array/array_impl.h"
#include "weft/core/array/array_lists.h"
#include "weft/core/base/nesting.h"
#include "weft/core/base/thread_object.h"
#include "weft/core/errors/error_context.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/control/custom_derivatives.h"
#include "weft/core/ops/control/remat.h"
#include "weft/core/ops/elementwise/stop_gradient.h"
#include "weft/core/trace/captures.h"
#include "weft/core/trace/results.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/differentiate.h"

namespace weft::detail {
namespace {

/// Calls a rule of the user's. If it fails, or gives a value of a trace that is over, for lack of what RulesGetValues gives, that is noted.
template <class Rule, class Returned>
auto calling_rule(const char* what, SourceLoc loc, Rule&& rule, Returned&& returned) {
  try {
    auto r = calling_user(rule);
    for (const Array& x : returned(r))
      if (!x.is_empty_handle()) check_not_leaked(value_in_scope(x), what, loc);
    return r;
  } catch (const ConcretizationError&) {
    note_rule_lacks_value();
    throw;
  } catch (const LeakedTracerError&) {
    note_rule_lacks_value();
    throw;
  }
}
const auto all_of_it = [](const std::vector<Array>& returned) { return returned; };

struct JvpAdapter final : JvpRule {
  explicit JvpAdapter(Ref<const FlatJvpRule> r) : rule(std::move(r)) {}
  const Ref<const FlatJvpRule> rule;
  std::vector<Array> apply(std::span<const Array> primals, std::span<const Array> tangents, SourceLoc loc) const override {
    std::vector<Array> out = calling_rule("custom_jvp: the rule", loc, [&] { return rule->apply(primals, tangents, loc); }, all_of_it);
    check_no_result_is_empty(out, "custom_jvp: the rule", loc);
    return out;
  }
};
struct BackwardAdapter final : BackwardRule {
  explicit BackwardAdapter(Ref<const FlatBackward> r) : rule(std::move(r)) {}
  const Ref<const FlatBackward> rule;
  std::vector<Tangent> apply(std::span<const Array> residuals, std::span<const Array> cotangents, SourceLoc loc) const override {
    const std::vector<Array> given = calling_rule("custom_vjp: bwd", loc, [&] { return rule->apply(residuals, cotangents); }, all_of_it);
    std::vector<Tangent> out(given.begin(), given.end());
    std::vector<Array> checked = given;
    for (std::size_t i = 0; i < given.size(); ++i)
      if (rule->is_zero[i]) {
        checked[i] = 0;
        out[i] = {};
      }
    check_no_result_is_empty(checked, "custom_vjp: bwd", loc);
    return out;
  }
};
struct VjpAdapter final : VjpRule {
  explicit VjpAdapter(Ref<const FlatVjpRule> r) : rule(std::move(r)) {}
  const Ref<const FlatVjpRule> rule;
  Forward forward(std::span<const Array> primals, SourceLoc loc) const override {
    FlatForward f = calling_rule(
        "custom_vjp: fwd", loc, [&] { return rule->forward(primals, loc); },
        [](const FlatForward& r) { return concat(r.results, r.residuals); });
    check_no_result_is_empty(f.results, "custom_vjp: fwd", loc);
    return {std::move(f.results), std::move(f.residuals), make_ref<BackwardAdapter>(std::move(f.backward))};
  }
};

/// Rules that are being tried on this thread: one that calls its own function is tried once.
struct TriedRules {
  std::vector<const std::type_info*> types;
};

/// The traced values that a rule captured, found by trying it. Nothing where that fails: so will the rule, where it is needed.
template <class Rule, class Try>
std::vector<Array> captured_by(const Rule& rule, const std::string& name, std::span<const Array> args, Try&& attempt) {
  const std::type_info& type = typeid(rule);
  std::vector<const std::type_info*>& tried = of_thread<TriedRules>().types;
  if (!RulesGetValues::active() || std::any_of(tried.begin(), tried.end(), [&](const std::type_info* t) { return *t == type; })) return {};
  std::vector<Array> held;
  tried.push_back(&type);
  try {
    for (const Array& x : hoist_consts(trace_jaxpr({"rule of " + name, avals_of(args), {args.begin(), args.end()}}, attempt)).consts)
      if (as_traced(x)) held.push_back(x);
  } catch (...) {
    held.clear();
  }
  tried.pop_back();
  return held;
}
/// Zeros like the tangents of arrays; of integers those are of dtype bool.
std::vector<Array> zero_tangents(std::span<const Array> xs, SourceLoc loc) {
  std::vector<Array> out;
  for (const Array& x : xs) out.push_back(zero_tangent(x.aval(), loc));
  return out;
}

/// Without a trace the function is called directly.
std::vector<Array> run_untraced(FlatFunction& f) {
  check_nesting("functions inside functions");
  return f.run(f.args);
}

}  // namespace

std::vector<Array> flat_custom_jvp(FlatFunction& f, Ref<const FlatJvpRule> rule, const std::string& rule_name) {
  if (!current_trace()) return run_untraced(f);
  const RuleTracing tracing;
  const Jaxpr traced = trace_flat(f, "custom_jvp", {.tracks_varying = false});
  const std::vector<Array> of_rule = captured_by(
      *rule, f.name, f.args, [&](std::span<const Array> primals) { return rule->apply(primals, zero_tangents(primals, f.loc), f.loc); });
  return bind_custom_jvp(f.name, traced, {rule_name, make_ref<JvpAdapter>(std::move(rule))}, f.args, f.loc, tracing.constant(), of_rule);
}

std::vector<Array> sum_of_tangents(const std::vector<Array>& results, const std::vector<std::vector<Array>>& tangents) {
  std::vector<Array> sums;
  for (std::size_t k = 0; k < results.size(); ++k) {
    std::optional<Array> sum;
    for (const std::vector<Array>& one : tangents) {
      if (one.size() != results.size() || one[k].shape() != results[k].shape() || one[k].dtype() != results[k].dtype())
        throw ShapeError(
            fmt::format("custom_jvp: a rule of defjvps gives {}, and the result is {}; a tangent is like the result",
                        k < one.size() ? to_string(one[k].aval()) : fmt::format("{} arrays", one.size()), to_string(results[k].aval())),
            effective_loc({}));
      sum = sum ? *sum + one[k] : one[k];
    }
    sums.push_back(sum ? *sum : zeros_of(results[k].aval(), {}));
  }
  return sums;
}

std::vector<Array> flat_custom_vjp(FlatFunction& f, Ref<const FlatVjpRule> rule, const std::string& fwd_name, const std::string& bwd_name) {
  if (!current_trace()) return run_untraced(f);
  const Jaxpr traced = trace_flat(f, "custom_vjp", {.tracks_varying = false});
  const std::vector<Array> of_rule = captured_by(*rule, f.name, f.args, [&](std::span<const Array> primals) {
    const FlatForward forward = rule->forward(primals, f.loc);
    std::vector<Array> back = forward.backward->apply(forward.residuals, zero_tangents(forward.results, f.loc));
    std::erase_if(back, [](const Array& x) { return x.is_empty_handle(); });
    return concat(concat(forward.results, forward.residuals), back);
  });
  return bind_custom_vjp(f.name, traced, {fwd_name, make_ref<VjpAdapter>(std::move(rule))}, bwd_name, f.args, f.loc, of_rule);
}

std::vector<Array> flat_checkpoint(FlatFunction& f, const CheckpointPolicy& policy, bool prevent_cse) {
  if (!current_trace()) return run_untraced(f);
  const Jaxpr traced = trace_flat(f, "checkpoint");
  return bind_remat(traced, policy, prevent_cse, f.args, f.loc);
}

Array stop_gradient_leaf(const Array& x, SourceLoc loc) { return stop_gradient_of(x, loc); }

}  // namespace weft::detail
