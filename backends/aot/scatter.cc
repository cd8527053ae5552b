// Windows written into an array at computed places, one after the other: where two meet, the later one stays.
#include <cstring>

#include "weft/aot.h"
#include "weft/backends/aot/plans.h"
#include "weft/backends/aot/routines.h"
#include "weft/core/ops/linalg/fourier_plan.h"

namespace {

using namespace weft::aot;
using weft::detail::CBlock;

/// An integer of any width; an unsigned one that is too large is the largest.
std::int64_t index_at(const void* indices, std::int64_t at, Element e) {
  const auto read = [&]<class T>(T) { return static_cast<std::int64_t>(static_cast<const T*>(indices)[at]); };
  switch (e) {
    case Element::int8: return read(std::int8_t{});
    case Element::int16: return read(std::int16_t{});
    case Element::int32: return read(std::int32_t{});
    case Element::uint8: return read(std::uint8_t{});
    case Element::uint16: return read(std::uint16_t{});
    case Element::uint32: return read(std::uint32_t{});
    case Element::uint64: {
      const std::int64_t v = read(std::uint64_t{});
      return v < 0 ? INT64_MAX : v;
    }
    default: return read(std::int64_t{});
  }
}

}  // namespace

std::int32_t weft_aot_scatter(const void* data, void* const* arrays) {
  const auto& plan = *static_cast<const ScatterPlan*>(data);
  const auto* const places = reinterpret_cast<const Place*>(&plan + 1);
  const auto* const counts = reinterpret_cast<const Count*>(places + plan.dimensions);
  const auto bytes = static_cast<std::size_t>(plan.element_bytes);
  auto* const out = static_cast<char*>(arrays[3]);
  const auto* const updates = static_cast<const char*>(arrays[2]);
  if (arrays[3] != arrays[0]) std::memcpy(out, arrays[0], static_cast<std::size_t>(plan.elements) * bytes);
  CBlock<std::int64_t> number(plan.counts), within(plan.dimensions);
  if (!number || !within) return WEFT_AOT_NO_MEMORY;
  for (std::int64_t w = 0; w < plan.windows; ++w) {
    std::int64_t update = 0, index = 0, rest = w;
    for (std::int32_t c = plan.counts; c-- > 0; rest /= counts[c].size) {
      number[c] = rest % counts[c].size;
      update += number[c] * counts[c].update_stride, index += number[c] * counts[c].index_stride;
    }
    std::int64_t to = 0, elements = 1;
    bool inside = true;
    for (std::int32_t d = 0; d < plan.dimensions; ++d) {
      const Place& p = places[d];
      const std::int64_t last = p.size - p.window;
      std::int64_t start = p.component >= 0 ? index_at(arrays[1], index + p.component * plan.component_stride, plan.index)
                           : p.count >= 0   ? number[p.count]
                                            : 0;
      if (plan.clip) start = start < 0 ? 0 : start > last ? last : start;
      inside = inside && start >= 0 && start <= last;
      to += inside ? start * p.stride : 0;
      elements *= p.window;
    }
    if (!inside) continue;
    for (std::int64_t e = 0; e < elements; ++e) {
      std::int64_t from = update, at = to, left = e;
      for (std::int32_t d = plan.dimensions; d-- > 0; left /= places[d].window) {
        const std::int64_t k = left % places[d].window;
        from += k * places[d].update_stride, at += k * places[d].stride;
      }
      std::memcpy(out + at * plan.element_bytes, updates + from * plan.element_bytes, bytes);
    }
  }
  return WEFT_AOT_OK;
}
