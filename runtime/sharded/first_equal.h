// Finds, for each of many objects, the first one that is equal to it, so that work common to several devices is done once. Takes linear
// time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace weft::detail {

inline std::uint64_t mixed_hash(std::uint64_t h, std::uint64_t value) {
  h = (h ^ value) * 0x9e3779b97f4a7c15u;
  return h ^ (h >> 29);
}

/// first[i]: the least k for which same(i, k). `hash` is equal for equal things.
template <class Hash, class Same>
std::vector<std::size_t> first_equal(std::size_t count, const Hash& hash, const Same& same) {
  std::vector<std::size_t> first(count), next(count, count);  // next: the next different one with the same hash
  constexpr std::size_t kFew = 8;                             // up to here comparing is faster than hashing
  if (count <= kFew) {
    for (std::size_t i = 0; i < count; ++i)
      for (first[i] = 0; first[i] < i && (first[first[i]] != first[i] || !same(i, first[i]));) ++first[i];
    return first;
  }
  std::unordered_map<std::uint64_t, std::size_t> chains;
  chains.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto [chain, is_new] = chains.try_emplace(hash(i), i);
    first[i] = i;
    if (is_new) continue;
    for (std::size_t k = chain->second;; k = next[k]) {
      if (same(i, k)) {
        first[i] = k;
        break;
      }
      if (next[k] == count) {
        next[k] = i;
        break;
      }
    }
  }
  return first;
}

}  // namespace weft::detail
