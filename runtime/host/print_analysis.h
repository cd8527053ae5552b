// What a compiled function costs, as text, for fmt and streams.
#pragma once
#include <iosfwd>
#include <string>

#include "weft/core/base/fmt_formatter.h"
#include "weft/runtime/host/executable.h"

namespace weft {

/// `2048 flops, 16384 bytes accessed`.
std::ostream& operator<<(std::ostream& os, const CostAnalysis& cost);
/// `bytes of arguments: 8192, of results: 4096, of temporaries: 0, of results in the memory of arguments: 0`.
std::ostream& operator<<(std::ostream& os, const MemoryAnalysis& memory);

namespace detail {
std::string text_of(const CostAnalysis& x);
std::string text_of(const MemoryAnalysis& x);
}  // namespace detail

}  // namespace weft

/// fmt prints the same text as `<<`; width, fill and alignment may be given, as for a string.
template <>
struct fmt::formatter<weft::CostAnalysis, char, void> : weft::detail::TextFormatter {
  auto format(const weft::CostAnalysis& cost, auto& ctx) const { return write(weft::detail::text_of(cost), ctx.out()); }
};
template <>
struct fmt::formatter<weft::MemoryAnalysis, char, void> : weft::detail::TextFormatter {
  auto format(const weft::MemoryAnalysis& memory, auto& ctx) const { return write(weft::detail::text_of(memory), ctx.out()); }
};
