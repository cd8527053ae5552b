// Which parts of scans and while loops are the same in each step, for loop-invariant code motion, and which of their operands.
#include <algorithm>

#include "weft/core/ir/hoist.h"
#include "weft/core/ir/known_indices.h"
#include "weft/core/ops/control/call.h"
#include "weft/core/ops/control/control.h"

namespace weft::detail {
namespace {

std::optional<HoistedEqn> hoist_scan(const Eqn& e, ElementCost cost) {
  const auto& p = params_as<Scan::Params>(*e.params);
  if (p.length < 2) return {};
  const auto consts = static_cast<std::size_t>(p.num_consts);
  std::vector<bool> invariant(static_cast<std::size_t>(p.jaxpr.data().num_inputs));
  std::fill_n(invariant.begin(), consts, true);
  std::optional<InvariantPart> part = take_invariants(inline_calls(p.jaxpr), invariant, consts, Runs::at_least_once, cost);
  if (!part) return {};
  Scan::Params q = p;
  q.num_consts += static_cast<int>(part->before.data().outputs.size());
  q.jaxpr = std::move(part->rest);
  return HoistedEqn{std::move(part->before), std::move(part->before_inputs), make_params(std::move(q)), consts};
}

// The condition is not hoisted from, as it is usually a comparison. (A loop without steps then computes the hoisted values for nothing.)
std::optional<HoistedEqn> hoist_while(const Eqn& e, ElementCost cost) {
  const auto& p = params_as<While::Params>(*e.params);
  const auto cond_consts = static_cast<std::size_t>(p.cond_nconsts), consts = static_cast<std::size_t>(p.body_nconsts);
  std::vector<bool> invariant(static_cast<std::size_t>(p.body_jaxpr.data().num_inputs));
  std::fill_n(invariant.begin(), consts, true);
  std::optional<InvariantPart> part = take_invariants(inline_calls(p.body_jaxpr), invariant, consts, Runs::perhaps_never, cost);
  if (!part) return {};
  While::Params q = p;
  q.body_nconsts += static_cast<int>(part->before.data().outputs.size());
  q.body_jaxpr = std::move(part->rest);
  for (std::size_t& i : part->before_inputs) i += cond_consts;
  return HoistedEqn{std::move(part->before), std::move(part->before_inputs), make_params(std::move(q)), cond_consts + consts};
}

const HoistRule<Scan> scan_hoist(hoist_scan);
const HoistRule<While> while_hoist(hoist_while);

const Rule<KnownConstantsTransform, Scan> scan_constants([](const ParamsBase& params,
                                                            KnownConstantsTransform::Rewritten rewritten) -> ParamsRef {
  const auto& p = params_as<Scan::Params>(params);
  std::optional<Jaxpr> body = rewritten(p.jaxpr, 0, static_cast<std::size_t>(p.num_consts));
  if (!body) return {};
  Scan::Params q = p;
  q.jaxpr = *std::move(body);
  return make_params(std::move(q));
});
const Rule<KnownConstantsTransform, While> while_constants([](const ParamsBase& params,
                                                              KnownConstantsTransform::Rewritten rewritten) -> ParamsRef {
  const auto& p = params_as<While::Params>(params);
  std::optional<Jaxpr> body = rewritten(p.body_jaxpr, static_cast<std::size_t>(p.cond_nconsts), static_cast<std::size_t>(p.body_nconsts));
  if (!body) return {};
  While::Params q = p;
  q.body_jaxpr = *std::move(body);
  return make_params(std::move(q));
});

}  // namespace
}  // namespace weft::detail
