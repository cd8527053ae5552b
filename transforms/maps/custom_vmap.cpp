#include "weft/transforms/maps/custom_vmap.h"

#include "weft/core/base/nesting.h"
#include "weft/core/errors/boundary.h"
#include "weft/core/ops/control/custom_vmap.h"
#include "weft/core/trace/captures.h"
#include "weft/core/trace/results.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/differentiate.h"

namespace weft::detail {
namespace {

struct VmapAdapter final : VmapRule {
  explicit VmapAdapter(Ref<const FlatVmapRule> r) : rule(std::move(r)) {}
  const Ref<const FlatVmapRule> rule;
  Batched apply(std::int64_t axis_size, const std::vector<bool>& batched, std::span<const Array> args, SourceLoc loc) const override {
    FlatVmapRule::Batched given = calling_user([&] { return rule->apply(axis_size, batched, args); });
    check_no_result_is_empty(given.results, "custom_vmap: the rule", loc);
    for (const Array& x : given.results) check_not_leaked(value_in_scope(x), "custom_vmap: the rule", loc);
    return {std::move(given.results), std::move(given.batched)};
  }
};

}  // namespace

std::vector<Array> flat_custom_vmap(FlatFunction& f, Ref<const FlatVmapRule> rule, const std::string& rule_name) {
  if (!current_trace()) {
    check_nesting("functions inside functions");
    return f.run(f.args);
  }
  const Jaxpr traced = trace_flat(f, "custom_vmap", {.tracks_varying = false});
  return bind_custom_vmap(f.name, traced, {rule_name, make_ref<VmapAdapter>(std::move(rule))}, f.args, f.loc);
}

}  // namespace weft::detail
