#include "weft/transforms/flat.h"

#include <fmt/format.h>

#include "weft/core/errors/error.h"

namespace weft::detail {

std::string function_name(std::string_view spelled) {
  if (spelled.find("lambda") != std::string_view::npos) return "<lambda>";
  // g++: `... [with T = weft::Layer; ...]`, clang: `... [T = weft::Layer]`.
  const std::size_t begin = spelled.find("T = ");
  if (begin == std::string_view::npos) return "<function>";
  std::string_view name = spelled.substr(begin + 4);
  name = name.substr(0, name.find_first_of(";]"));
  // The type of a function pointer does not name the function.
  if (const std::size_t bracket = name.find_first_of("(<"); bracket != std::string_view::npos && name[bracket] == '(') return "<function>";
  name = name.substr(0, name.find('<'));
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos) name.remove_prefix(colon + 1);
  return std::string(name);
}

void check_no_array_is_empty(const FlatFunction& f) {
  for (std::size_t i = 0; i < f.args.size(); ++i)
    if (f.args[i].is_empty_handle())
      throw Error(fmt::format("{}: {} is an Array that was default-constructed or moved from and holds nothing; assign a value to it first",
                              f.name, leaf_paths(f.arguments())[i]),
                  f.loc);
}

}  // namespace weft::detail
