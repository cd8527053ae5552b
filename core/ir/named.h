// Lookup by name in a list, such as an equation's parameters.
#pragma once
#include <algorithm>
#include <iterator>
#include <string_view>

namespace weft::detail {

/// The first element whose `name` is this, or null.
template <class List>
auto find_named(List& list, std::string_view name) {
  const auto found = std::find_if(std::begin(list), std::end(list), [&](const auto& x) { return x.name == name; });
  return found == std::end(list) ? nullptr : &*found;
}

}  // namespace weft::detail
