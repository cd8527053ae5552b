// The generator: Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw, Parallel Random Numbers: As Easy as 1, 2, 3, SC 2011),
// counted as JAX counts with jax_threefry_partitionable: element i of a draw is the cipher of the 64-bit number i, whatever the draw's
// size.
#pragma once
#include <bit>
#include <cstdint>

namespace weft::detail {

/// Two words: a key, a counter, or a block of output.
struct Words {
  std::uint32_t a = 0, b = 0;
  friend bool operator==(const Words&, const Words&) = default;
};

/// The round constants: four rotations in turn from one of two groups, and the key schedule's parity.
inline constexpr int kThreefryRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
inline constexpr std::uint32_t kThreefryParity = 0x1BD11BDA;

/// The cipher, of anything that adds, xors and rotates as std::uint32_t does.
template <class Word, class Rotate>
constexpr void threefry(const Word& key_a, const Word& key_b, const Word& parity, Word& x, Word& y, Rotate&& rotate) {
  const Word keys[3] = {key_a, key_b, parity};
  x = x + key_a, y = y + key_b;
  for (int group = 0; group < 5; ++group) {
    for (int amount : kThreefryRotations[group % 2]) {
      x = x + y;
      y = x ^ rotate(y, amount);
    }
    x = x + keys[(group + 1) % 3];
    y = y + keys[(group + 2) % 3] + static_cast<std::uint32_t>(group + 1);
  }
}
constexpr Words threefry2x32(Words key, Words counter) {
  threefry(key.a, key.b, key.a ^ key.b ^ kThreefryParity, counter.a, counter.b, [](std::uint32_t v, int n) { return std::rotl(v, n); });
  return counter;
}
// Random123's known answers.
static_assert(threefry2x32({0, 0}, {0, 0}) == Words{0x6b200159, 0x99ba4efe});
static_assert(threefry2x32({0x13198a2e, 0x03707344}, {0x243f6a88, 0x85a308d3}) == Words{0xc4923a9c, 0x483df7a0});

/// Block i of a key's output: the key of number i of a split, or the bits of element i.
constexpr Words threefry_block(Words key, std::uint64_t i) {
  return threefry2x32(key, {static_cast<std::uint32_t>(i >> 32), static_cast<std::uint32_t>(i)});
}
/// An element of `bit_width` bits out of its block.
constexpr std::uint64_t bits_of_block(Words block, int bit_width) {
  if (bit_width == 64) return std::uint64_t{block.a} << 32 | block.b;
  return (block.a ^ block.b) & (bit_width == 32 ? 0xffffffffu : (1u << bit_width) - 1);
}

}  // namespace weft::detail
