#include "weft/transforms/autodiff/custom.h"

#include <fmt/format.h>

#include "weft/core/array/array_impl.h"
#include "weft/core/base/nesting.h"
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

struct JvpAdapter final : JvpRule {
  explicit JvpAdapter(Ref<const FlatJvpRule> r) : rule(std::move(r)) {}
  const Ref<const FlatJvpRule> rule;
  std::vector<Array> apply(std::span<const Array> primals, std::span<const Array> tangents, SourceLoc loc) const override {
    std::vector<Array> out = calling_user([&] { return rule->apply(primals, tangents, loc); });
    check_no_result_is_empty(out, "custom_jvp: the rule", loc);
    return out;
  }
};
struct BackwardAdapter final : BackwardRule {
  explicit BackwardAdapter(Ref<const FlatBackward> r) : rule(std::move(r)) {}
  const Ref<const FlatBackward> rule;
  std::vector<Tangent> apply(std::span<const Array> residuals, std::span<const Array> cotangents, SourceLoc loc) const override {
    const std::vector<Array> given = calling_user([&] { return rule->apply(residuals, cotangents); });
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
    FlatForward f = calling_user([&] { return rule->forward(primals, loc); });
    check_no_result_is_empty(f.results, "custom_vjp: fwd", loc);
    return {std::move(f.results), std::move(f.residuals), make_ref<BackwardAdapter>(std::move(f.backward))};
  }
};

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
  return bind_custom_jvp(f.name, traced, {rule_name, make_ref<JvpAdapter>(std::move(rule))}, f.args, f.loc, tracing.constant());
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
  return bind_custom_vjp(f.name, traced, {fwd_name, make_ref<VjpAdapter>(std::move(rule))}, bwd_name, f.args, f.loc);
}

std::vector<Array> flat_checkpoint(FlatFunction& f, const CheckpointPolicy& policy, bool prevent_cse) {
  if (!current_trace()) return run_untraced(f);
  const Jaxpr traced = trace_flat(f, "checkpoint");
  return bind_remat(traced, policy, prevent_cse, f.args, f.loc);
}

Array stop_gradient_leaf(const Array& x, SourceLoc loc) { return stop_gradient_of(x, loc); }

}  // namespace weft::detail
