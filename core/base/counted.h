// Numbers of things in messages: `1 device`, `3 devices`.
#pragma once
#include <string>
#include <string_view>
#include <type_traits>

namespace weft::detail {

/// The number and the word, in the plural where it isn't 1: `counted(2, "device")`, `counted(2, "axis", "axes")`.
template <class N>
  requires std::is_integral_v<N>
std::string counted(N n, std::string_view one, std::string_view several = {}) {
  std::string text = std::to_string(n) + " ";
  if (n == 1 || several.empty())
    text += one;
  else
    text += several;
  if (n != 1 && several.empty()) text += "s";
  return text;
}

}  // namespace weft::detail
