#include "weft/backends/cpu/expand.h"

#include "weft/backends/common/native_step.h"
#include "weft/core/ir/primitive.h"
#include "weft/core/ops/contraction/attention_expand.h"
#include "weft/core/ops/contraction/conv.h"
#include "weft/core/ops/contraction/conv_expand.h"

namespace weft::detail {
namespace {

constexpr double kMostWindowBytes = 64e6;

/// Whether oneDNN has code for it, and good code.
bool is_for_library(const Eqn& e, std::span<const Aval> in) {
  const auto& p = params_as<ConvParams>(*e.params);
  const auto& [l, r, o] = p.dimension_numbers;
  const bool one_channel = p.batch_group_count == 1 && in[0].shape[l[1]] == 1 && in[1].shape[r[0]] == 1;
  return in[0].dtype == float32 && !one_channel && make_native_step(*e.op, *e.params, in, infer(*e.op, *e.params, in, {})) != nullptr;
}

const CompositeRule<CpuComposite> attention_rule(kAttention, expand_attention);
const CompositeRule<CpuComposite> attention_gradient_rule(kAttentionGradient, expand_attention_gradient);

}  // namespace

std::optional<Jaxpr> expand_for_cpu(const Eqn& e, std::span<const Aval> in) {
  if (const CompositeParams* const p = as_composite(e)) {
    CpuComposite::Function* const rule = find_composite_rule<CpuComposite>(p->name);
    return rule ? rule(*p, in) : std::nullopt;
  }
  if (e.op->kind == Kind::convolution && !is_for_library(e, in)) return expand_convolution(e, in, kMostWindowBytes);
  return {};
}

}  // namespace weft::detail
