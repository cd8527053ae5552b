// Lists of arrays, as operands and results of equations.
#pragma once
#include <initializer_list>
#include <span>
#include <vector>

#include "weft/core/array/array.h"

namespace weft::detail {

/// The arrays' types.
inline std::vector<Aval> avals_of(std::span<const Array> xs) {
  std::vector<Aval> out;
  out.reserve(xs.size());
  for (const Array& x : xs) out.push_back(x.aval());
  return out;
}

/// One list of all arrays, in the lists' order.
inline std::vector<Array> concat(std::initializer_list<std::span<const Array>> lists) {
  std::vector<Array> out;
  for (const auto& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}
/// The concatenation of lists of any one type.
template <class First, class... Rest>
auto concat(const First& first, const Rest&... rest) {
  std::vector<typename First::value_type> out;
  out.reserve((first.size() + ... + rest.size()));
  out.insert(out.end(), first.begin(), first.end());
  (out.insert(out.end(), rest.begin(), rest.end()), ...);
  return out;
}

}  // namespace weft::detail
