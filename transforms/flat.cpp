#include "weft/transforms/flat.h"

namespace weft::detail {

std::string function_name(std::string_view spelled) {
  if (spelled.find("lambda") != std::string_view::npos) return "<lambda>";
  // g++: `... [with T = weft::Layer; ...]`, clang: `... [T = weft::Layer]`.
  const std::size_t begin = spelled.find("T = ");
  if (begin == std::string_view::npos) return "<function>";
  std::string_view name = spelled.substr(begin + 4);
  name = name.substr(0, name.find_first_of(";]"));
  // A pointer to a function says nothing of which.
  if (const std::size_t bracket = name.find_first_of("(<"); bracket != std::string_view::npos && name[bracket] == '(') return "<function>";
  name = name.substr(0, name.find('<'));
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos) name.remove_prefix(colon + 1);
  return std::string(name);
}

}  // namespace weft::detail
