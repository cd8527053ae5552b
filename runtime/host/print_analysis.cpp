#include "weft/runtime/host/print_analysis.h"

#include <fmt/format.h>

#include <ostream>

namespace weft {

namespace detail {
std::string text_of(const CostAnalysis& x) { return fmt::format("{:.0f} flops, {:.0f} bytes accessed", x.flops, x.bytes_accessed); }
std::string text_of(const MemoryAnalysis& x) {
  return fmt::format("bytes of arguments: {}, of results: {}, of temporaries: {}, of results in the memory of arguments: {}",
                     x.argument_size_in_bytes, x.output_size_in_bytes, x.temp_size_in_bytes, x.alias_size_in_bytes);
}
}  // namespace detail

std::ostream& operator<<(std::ostream& os, const CostAnalysis& cost) { return os << detail::text_of(cost); }
std::ostream& operator<<(std::ostream& os, const MemoryAnalysis& memory) { return os << detail::text_of(memory); }

}  // namespace weft
