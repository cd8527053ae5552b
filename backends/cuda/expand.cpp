#include "backends/cuda/expand.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "core/elementwise.h"
#include "core/ops/conv_expand.h"
#include "core/trace.h"

namespace weft::detail {
namespace {

bool is_empty(const Aval& a) { return a.size() == 0; }

/// How large a matrix of windows may be.
double most_window_bytes() {
  const char* given = std::getenv("WEFT_CUDA_WINDOW_BYTES");
  return given && std::atof(given) > 0 ? std::atof(given) : 256e6;
}

}  // namespace

std::optional<Jaxpr> expand_for_gpu(const Eqn& e, std::span<const Aval> in) {
  if (std::any_of(in.begin(), in.end(), is_empty)) return {};
  const auto traced = [&](const std::function<std::vector<Array>(std::span<const Array>)>& body) {
    return trace_jaxpr({std::string(e.op->name), {in.begin(), in.end()}, {}}, body);
  };
  if (e.op->kind == Kind::convolution) return expand_convolution(e, in, most_window_bytes());
  if (e.op == &primitive_of<Sort>)
    return traced([&](std::span<const Array> xs) { return sort_on_gpu(params_as<Sort::Params>(*e.params), xs); });
  if (e.op == &primitive_of<TopKLargest>) {
    const auto& p = params_as<TopKLargest::Params>(*e.params);
    return p.k == 0 ? std::optional<Jaxpr>() : traced([&](std::span<const Array> xs) { return top_k_on_gpu(p, xs[0]); });
  }
  if (e.op == &primitive_of<Scatter>) {
    const auto& p = params_as<Scatter::Params>(*e.params);
    if (!has_scatter_of_last_updates(p, in)) return {};
    return traced([&](std::span<const Array> xs) -> std::vector<Array> { return {scatter_of_last_updates(p, xs[0], xs[1], xs[2])}; });
  }
  if (e.op == &primitive_of<ScatterSub> && !in[0].dtype.is_bool())
    return traced([&](std::span<const Array> xs) -> std::vector<Array> {
      return {bind_one<ScatterAdd>(params_as<ScatterParams>(*e.params), {xs[0], xs[1], -xs[2]}, {})};
    });
  if (has_algebra(e, in)) return traced([&](std::span<const Array> xs) { return algebra_on_gpu(e, xs); });
  if (e.op->name == "fft") {
    const auto& p = params_as<FftParams>(*e.params);
    if (!has_fft_by_products(p)) return {};
    return traced([&](std::span<const Array> xs) -> std::vector<Array> { return {fft_by_products(p, xs[0])}; });
  }
  if (is_fft_along(*e.op)) {
    const auto& p = params_as<FftAlongParams>(*e.params);
    if (!has_fft_by_products({p.fft_lengths, p.fft_type})) return {};
    return traced([&](std::span<const Array> xs) -> std::vector<Array> { return {fft_between_transposes(p, xs[0], {})}; });
  }
  return {};
}

}  // namespace weft::detail
