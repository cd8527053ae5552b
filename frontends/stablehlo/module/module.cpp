#include "weft/frontends/stablehlo/module/module.h"

#include <fmt/format.h>

#include <bit>

#include "weft/core/array/half.h"

namespace weft::detail::mlir {

std::string place_text(const std::string& file, const Place& place) {
  return place.byte < 0 ? fmt::format("{}:{}:{}", file, place.line, place.column) : fmt::format("{}:byte {}", file, place.byte);
}

double float_of_bits(std::uint64_t bits, DType dtype) {
  if (dtype == float64) return std::bit_cast<double>(bits);
  if (dtype == float32) return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
  const auto half = static_cast<std::uint16_t>(bits);
  return dtype == float16 ? static_cast<double>(Float16::from_bits(half)) : static_cast<double>(BFloat16::from_bits(half));
}

}  // namespace weft::detail::mlir
