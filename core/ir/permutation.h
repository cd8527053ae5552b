// Permutations of dimensions.
#pragma once
#include <vector>

namespace weft::detail {

/// The inverse: inverse[permutation[i]] = i.
inline std::vector<int> inverse_permutation(const std::vector<int>& permutation) {
  std::vector<int> inverse(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) inverse[static_cast<std::size_t>(permutation[i])] = static_cast<int>(i);
  return inverse;
}

}  // namespace weft::detail
