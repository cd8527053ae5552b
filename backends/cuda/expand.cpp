#include "weft/backends/cuda/expand.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "weft/core/base/environment.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/contraction/conv.h"
#include "weft/core/ops/contraction/conv_expand.h"
#include "weft/core/ops/contraction/dot.h"
#include "weft/core/trace/trace.h"

namespace weft::detail {
namespace {

bool is_empty(const Aval& a) { return a.size() == 0; }

/// The largest size of a matrix of windows (im2col).
double most_window_bytes() { return number_in_environment("WEFT_CUDA_WINDOW_BYTES").value_or(256e6); }

const Rule<GpuExpansionRules, Sort> sort_expansion([](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
  return expansion_of(e, in, [&](std::span<const Array> xs) { return sort_on_gpu(params_as<Sort::Params>(*e.params), xs); });
});
const Rule<GpuExpansionRules, TopKLargest> top_k_expansion([](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
  const auto& p = params_as<TopKLargest::Params>(*e.params);
  if (p.k == 0) return {};
  return expansion_of(e, in, [&](std::span<const Array> xs) { return top_k_on_gpu(p, xs[0]); });
});
const Rule<GpuExpansionRules, Scatter> scatter_expansion([](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
  const auto& p = params_as<Scatter::Params>(*e.params);
  if (!has_scatter_of_last_updates(p, in)) return {};
  return expansion_of(e, in,
                      [&](std::span<const Array> xs) -> std::vector<Array> { return {scatter_of_last_updates(p, xs[0], xs[1], xs[2])}; });
});
const Rule<GpuExpansionRules, ScatterSub> scatter_sub_expansion([](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
  if (in[0].dtype.is_bool()) return {};
  return expansion_of(e, in, [&](std::span<const Array> xs) -> std::vector<Array> {
    return {bind_one<ScatterAdd>(params_as<ScatterParams>(*e.params), {xs[0], xs[1], -xs[2]}, {})};
  });
});
const RuleOf<GpuExpansionRules> convolution_expansion(convolution_primitive(), [](const Eqn& e, std::span<const Aval> in) {
  return expand_convolution(e, in, most_window_bytes());
});
const RuleOf<GpuExpansionRules> dot_expansion(dot_general_primitive(), &expand_unaligned_matmul);
const RuleOf<GpuExpansionRules> fft_expansion(fft_primitive(), [](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
  const auto& p = params_as<FftParams>(*e.params);
  if (!has_fft_by_matmuls(p)) return {};
  return expansion_of(e, in, [&](std::span<const Array> xs) -> std::vector<Array> { return {fft_by_matmuls(p, xs[0])}; });
});
const RuleOf<GpuExpansionRules> fft_along_expansion(fft_along_primitive(),
                                                    [](const Eqn& e, std::span<const Aval> in) -> std::optional<Jaxpr> {
                                                      const auto& p = params_as<FftAlongParams>(*e.params);
                                                      if (!has_fft_by_matmuls({p.fft_lengths, p.fft_type})) return {};
                                                      return expansion_of(e, in, [&](std::span<const Array> xs) -> std::vector<Array> {
                                                        return {fft_between_transposes(p, xs[0], {})};
                                                      });
                                                    });

}  // namespace

Jaxpr expansion_of(const Eqn& e, std::span<const Aval> in, FunctionRef<std::vector<Array>(std::span<const Array>)> body) {
  return trace_jaxpr({std::string(e.op->name), {in.begin(), in.end()}, {}}, body);
}

std::optional<Jaxpr> expand_for_gpu(const Eqn& e, std::span<const Aval> in) {
  if (std::any_of(in.begin(), in.end(), is_empty)) return {};
  GpuExpansionRules::Function* const rule = find_rule<GpuExpansionRules>(*e.op);
  return rule ? rule(e, in) : std::nullopt;
}

}  // namespace weft::detail
