// Random bits: the generators Threefry-2x32 and Philox-4x32, with the bits that XLA gives on the CPU, where DEFAULT is Philox.
#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/core/ops/random/threefry.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {
namespace {

Array word64(unsigned long long x) { return make_literal(Number(x), uint64); }
Array low_of(const Array& x, SourceLoc loc) { return convert(Arg(x, loc), uint32); }
Array high_of(const Array& x, SourceLoc loc) { return convert(Arg(shift_right_logical(x, word64(32)), loc), uint32); }
Array element(const Array& x, int i, SourceLoc loc) { return reshape_to(slice_axis(x, 0, i, i + 1, loc), {}, loc); }

/// What a generator makes of a state: the words of each block of bits in order, and the state behind them.
struct Bits {
  Arrays words;
  Array next;
};

/// Blocks of two words, those of the counter's successors under the key.
Bits threefry_bits(const Array& state, std::int64_t num_blocks, SourceLoc loc) {
  const Array key = element(state, 0, loc), counter = element(state, 1, loc);
  const Array at = iota_array(uint64, {num_blocks}, 0, loc) + counter;
  Array x = low_of(at, loc), y = high_of(at, loc);
  const Array a = low_of(key, loc), b = high_of(key, loc);
  threefry(a, b, a ^ b ^ make_literal(Number(kThreefryParity), uint32), x, y, [](const Array& v, int by) {
    return (v << make_literal(Number(by), uint32)) | shift_right_logical(v, make_literal(Number(32 - by), uint32));
  });
  const Array next[] = {key, counter + word64(static_cast<unsigned long long>(num_blocks))};
  return {{x, y}, stack_along(next, 0, loc)};
}

/// Blocks of four words, those of a counter of 128 bits under the key. Where the state has two words, the counter's upper half is the key.
Bits philox_bits(const Array& state, std::int64_t num_blocks, SourceLoc loc) {
  const bool has_upper = state.shape()[0] == 3;
  const Array key = element(state, 0, loc), lower = element(state, 1, loc), upper = has_upper ? element(state, 2, loc) : key;
  const auto behind = [&](const Array& steps) {
    const Array low = lower + steps;
    return std::pair{low, upper + convert(Arg(low < lower, loc), uint64)};
  };
  const auto [low, high] = behind(iota_array(uint64, {num_blocks}, 0, loc));
  Arrays words{low_of(low, loc), high_of(low, loc), low_of(high, loc), high_of(high, loc)};
  Array k0 = low_of(key, loc), k1 = high_of(key, loc);
  const auto times = [&](unsigned long long factor, const Array& x) { return word64(factor) * convert(Arg(x, loc), uint64); };
  for (int round = 0; round < 10; ++round) {
    const Array p = times(0xD2511F53u, words[0]), q = times(0xCD9E8D57u, words[2]);
    words = {high_of(q, loc) ^ words[1] ^ k0, low_of(q, loc), high_of(p, loc) ^ words[3] ^ k1, low_of(p, loc)};
    k0 = k0 + make_literal(Number(0x9E3779B9u), uint32), k1 = k1 + make_literal(Number(0xBB67AE85u), uint32);
  }
  const auto [next_low, next_high] = behind(word64(static_cast<unsigned long long>(num_blocks)));
  Arrays next{key, next_low};
  if (has_upper) next.push_back(next_high);
  return {words, stack_along(next, 0, loc)};
}

struct Generator {
  std::int64_t words_per_block;
  Bits (*bits)(const Array& state, std::int64_t num_blocks, SourceLoc loc);
  bool by_pairs;  ///< words of 32 bits are laid out by pairs of positions along a dimension; otherwise block after block
};

/// The dimension along which a block's two words are neighbours: the first even one, or else the longest, of which the last pair is not
/// whole.
int paired_dimension(const Shape& s) {
  int longest = 0;
  for (int d = 0; d < s.size(); ++d) {
    if (s[d] % 2 == 0) return d;
    if (s[d] > s[longest]) longest = d;
  }
  return longest;
}

/// Bits of 32-bit words in pairs, as XLA lays Threefry's out, and the state behind them.
std::pair<Array, Array> bits_by_pairs(const Generator& generator, const Array& state, const Shape& shape, SourceLoc loc) {
  const Shape dims = shape.empty() ? Shape{1} : shape;
  const int along = paired_dimension(dims);
  Shape pairs = dims, whole = dims;
  pairs[along] = (dims[along] + 1) / 2, whole[along] = 2 * pairs[along];
  auto [words, next] = generator.bits(state, pairs.num_elements(), loc);
  for (Array& w : words) w = reshape_to(w, pairs, loc);
  const Array all = reshape_to(stack_along(words, along + 1, loc), whole, loc);
  return {reshape_to(slice_axis(all, along, 0, dims[along], loc), shape, loc), next};
}

Generator generator_of(const OpCall& c, std::int64_t state_words) {
  const std::string algorithm = c.need("rng_algorithm", "algorithm").text;
  if (algorithm == "THREE_FRY") {
    if (state_words != 2) c.fail("the state of THREE_FRY is two ui64");
    return {2, threefry_bits, true};
  }
  if (algorithm != "PHILOX" && algorithm != "DEFAULT") c.fail("the algorithm " + algorithm + " is not known; THREE_FRY and PHILOX are");
  if (state_words != 2 && state_words != 3) c.fail("the state of " + algorithm + " is two or three ui64");
  return {4, philox_bits, false};
}

const Import rng_bit_generator_import("stablehlo.rng_bit_generator", [](OpCall& c) -> Values {
  const Array& state = c.in(0);
  if (state.dtype() != uint64 || state.ndim() != 1) c.fail("its state is a list of ui64");
  const Generator generator = generator_of(c, state.shape()[0]);
  const ShapeDtypeStruct& out = c.result(1);
  if (!out.dtype.is_integer()) c.fail("bits are given as integers");
  const std::int64_t elements = out.shape.num_elements(), words_per_element = out.dtype.itemsize() == 8 ? 2 : 1;
  const auto result = [&](const Array& bits, const Array& next) -> Values {
    return {next, bits.dtype() == out.dtype ? bits : convert(bits, out.dtype)};
  };
  if (generator.by_pairs && words_per_element == 1) {
    const auto [bits, next] = bits_by_pairs(generator, state, out.shape, c.loc);
    return result(bits, next);
  }
  const std::int64_t elements_per_block = generator.words_per_block / words_per_element;
  const std::int64_t num_blocks = (elements + elements_per_block - 1) / elements_per_block;
  auto [words, next] = generator.bits(state, num_blocks, c.loc);
  if (words_per_element == 2) {
    Arrays wide;
    for (std::size_t i = 0; i < words.size(); i += 2)
      wide.push_back(convert(words[i], uint64) | (convert(words[i + 1], uint64) << word64(32)));
    words = wide;
  }
  const Array all = words.size() == 1 ? words[0] : stack_along(words, 1, c.loc);
  const Array bits = slice_axis(reshape_to(all, {num_blocks * elements_per_block}, c.loc), 0, 0, elements, c.loc);
  return result(reshape_to(bits, out.shape, c.loc), next);
});

}  // namespace
}  // namespace weft::detail::mlir
