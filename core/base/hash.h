// Hashes of 64 bits that are the same in every process.
#pragma once
#include <cstdint>
#include <string_view>

namespace weft::detail {

/// FNV-1a (G. Fowler, L. Noll, P. Vo): its start, and the hash with one more byte or small number.
inline constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325u;
constexpr std::uint64_t fnv_with(std::uint64_t h, std::uint64_t v) { return (h ^ v) * 0x100000001b3u; }
/// Of a text's bytes.
constexpr std::uint64_t fnv_of(std::string_view text, std::uint64_t h = kFnvStart) {
  for (const char c : text) h = fnv_with(h, static_cast<unsigned char>(c));
  return h;
}

/// The hash with one more number of any size: for tables of expressions, which are hashed often.
constexpr std::uint64_t mix(std::uint64_t h, std::uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15u + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdu;
}

}  // namespace weft::detail
