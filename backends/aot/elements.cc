// Functions of single numbers that are not expressions: polygamma, gamma variates and their derivative, running sums of exponentials.
#include <cmath>
#include <limits>

#include "weft/aot.h"
#include "weft/backends/aot/plans.h"
#include "weft/backends/aot/routines.h"
#include "weft/core/array/half.h"
#include "weft/core/ops/elementwise/special_functions.h"
#include "weft/core/ops/random/gamma_sampler.h"

namespace {

using namespace weft::aot;
using namespace weft::detail;

template <class F>
void with_float(Element e, F&& f) {
  switch (e) {
    case Element::float16: return f.template operator()<Float16>();
    case Element::bfloat16: return f.template operator()<BFloat16>();
    case Element::float32: return f.template operator()<float>();
    default: return f.template operator()<double>();
  }
}

}  // namespace

std::int32_t weft_aot_elements(const void* data, void* const* arrays) {
  const auto& plan = *static_cast<const ElementsPlan*>(data);
  const auto f = plan.function == ElementsPlan::polygamma ? polygamma : gamma_derivative;
  with_float(plan.element, [&]<class T>() {
    const auto *const x = static_cast<const T*>(arrays[0]), *const y = static_cast<const T*>(arrays[1]);
    auto* const out = static_cast<T*>(arrays[2]);
    for (std::int64_t i = 0; i < plan.size; ++i)
      out[i] = T(f(static_cast<double>(x[plan.size_x == 1 ? 0 : i]), static_cast<double>(y[plan.size_y == 1 ? 0 : i])));
  });
  return WEFT_AOT_OK;
}

std::int32_t weft_aot_gamma(const void* data, void* const* arrays) {
  const auto& plan = *static_cast<const GammaPlan*>(data);
  const auto* const keys = static_cast<const Words*>(arrays[0]);
  with_float(plan.element, [&]<class T>() {
    const auto* const alpha = static_cast<const T*>(arrays[1]);
    auto* const out = static_cast<T*>(arrays[2]);
    for (std::int64_t i = 0; i < plan.keys * plan.each; ++i) {
      const Words key = threefry_block(keys[i / plan.each], static_cast<std::uint64_t>(i % plan.each));
      out[i] = T(GammaSampler<T>::sample(key, static_cast<double>(alpha[i]), plan.log_space != 0));
    }
  });
  return WEFT_AOT_OK;
}

std::int32_t weft_aot_log_sum(const void* data, void* const* arrays) {
  const auto& plan = *static_cast<const LogSumPlan*>(data);
  const Lines& l = plan.lines;
  with_float(plan.element, [&]<class T>() {
    const auto* const in = static_cast<const T*>(arrays[0]);
    auto* const out = static_cast<T*>(arrays[1]);
    for (std::int64_t line = 0; line < l.count; ++line) {
      const std::int64_t base = line / l.stride * l.stride * l.length + line % l.stride;
      double total = -std::numeric_limits<double>::infinity();
      for (std::int64_t i = 0; i < l.length; ++i) {
        const std::int64_t at = base + (plan.reverse ? l.length - 1 - i : i) * l.stride;
        const double x = static_cast<double>(in[at]), high = x > total ? x : total, low = x > total ? total : x;
        if (x != x || total != total)
          total = x + total;
        else if (!std::isinf(high))
          total = high + std::log1p(std::exp(low - high));
        else
          total = high;
        out[at] = T(total);
      }
    }
  });
  return WEFT_AOT_OK;
}
