#include "weft/frontends/stablehlo/module/module.h"

#include <fmt/format.h>

namespace weft::detail::mlir {

std::string place_text(const std::string& file, const Place& place) {
  return place.byte < 0 ? fmt::format("{}:{}:{}", file, place.line, place.column) : fmt::format("{}:byte {}", file, place.byte);
}

}  // namespace weft::detail::mlir
