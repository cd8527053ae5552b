// A stable radix sort of unsigned numbers, or of records by a number in them, by bytes, least significant first.
//
// Each pass counts the values of a byte, piece by piece of the array, and moves the records to their places. The pieces are cut by the
// length alone and are tasks of the process's thread pool. Bytes that are equal everywhere cost a count and no move.
#pragma once
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "weft/runtime/host/thread_pool.h"

namespace weft::detail {

/// Sorts by bits [first_bit, first_bit + bits) of `key(record)`; a multiple of 8. `a` and `spare` hold n records each; returns the one of
/// them in which the result is.
template <class R, class Key>
R* radix_sort(R* a, R* spare, std::int64_t n, int first_bit, int bits, Key key) {
  constexpr std::int64_t kPiece = 1 << 16;
  constexpr int kBins = 256;
  using Counts = std::array<std::uint32_t, kBins>;
  const std::int64_t pieces = n < 2 * kPiece ? 1 : n / kPiece;
  const auto begin_of = [&](std::int64_t p) { return p * n / pieces; };
  std::vector<Counts> counts(static_cast<std::size_t>(pieces));
  for (int bit = first_bit; bit < first_bit + bits; bit += 8) {
    const auto digit = [&](const R& r) { return static_cast<std::size_t>(key(r) >> bit & 0xff); };
    const auto count = [&](std::int64_t p) {
      Counts& c = counts[static_cast<std::size_t>(p)];
      c.fill(0);
      for (std::int64_t i = begin_of(p), end = begin_of(p + 1); i < end; ++i) ++c[digit(a[i])];
    };
    const auto move = [&](std::int64_t p) {
      Counts& at = counts[static_cast<std::size_t>(p)];
      for (std::int64_t i = begin_of(p), end = begin_of(p + 1); i < end; ++i) spare[at[digit(a[i])]++] = a[i];
    };
    if (pieces == 1)
      count(0);
    else
      parallel_for(pieces, count);
    std::uint32_t sum = 0;
    bool all_equal = false;
    for (std::size_t b = 0; b < kBins; ++b) {
      const std::uint32_t before = sum;
      for (Counts& c : counts) sum += std::exchange(c[b], sum);
      all_equal |= sum - before == n;
    }
    if (all_equal) continue;
    if (pieces == 1)
      move(0);
    else
      parallel_for(pieces, move);
    std::swap(a, spare);
  }
  return a;
}

}  // namespace weft::detail
