// The inner loops of Fourier transforms, compiled for several sets of vector instructions.
#pragma once
#include <cstdint>

namespace weft::detail {

/// One step of Stockham's algorithm. Before it, a block holds transforms of length `done` of interleaved sequences, element k of sequence s
/// at k * radix * left + s; the step combines `radix` sequences at a time, so that `left` remain.
struct FftPass {
  std::int64_t radix = 1, done = 1, left = 1;
};

/// The largest odd radix of a pass.
constexpr int kLargestOddRadix = 127;

/// Loops over numbers of type T = float or double. A block holds the same positions of several lines (a line a lane): at 2 * lanes * j the
/// real parts of element j of all lines, behind them the imaginary ones; blocks are aligned to vectors. Complex numbers elsewhere are
/// pairs, as users have them; strides count numbers, not pairs. `count` is the number of lines that are there, at most `lanes`; the lanes
/// behind them are never stored. Where `swapped`, real and imaginary parts change places: a forward transform between two swaps is an
/// inverse one.
template <class T>
struct FftLoops {
  int lanes = 1;
  /// n elements of each line: adjacent elements of lines that are `stride` apart.
  void (*load_lines)(T* block, const T* from, std::int64_t n, std::int64_t stride, int count, bool swapped) = nullptr;
  void (*store_lines)(const T* block, T* to, std::int64_t n, std::int64_t stride, int count, bool swapped, T scale) = nullptr;
  /// The same of adjacent lines whose elements are `stride` apart.
  void (*load_columns)(T* block, const T* from, std::int64_t n, std::int64_t stride, int count, bool swapped) = nullptr;
  void (*store_columns)(const T* block, T* to, std::int64_t n, std::int64_t stride, int count, bool swapped, T scale) = nullptr;
  /// Twiddles: radix - 1 pairs for each k < done. Roots: the radix-th roots of unity, which odd radices use.
  void (*pass)(const FftPass& pass, const T* from, T* to, const T* twiddles, const T* roots) = nullptr;
  /// block[j] = block[j] * table[j], where swapped of swapped elements.
  void (*multiply)(T* block, const T* table, std::int64_t n, bool swapped) = nullptr;
  /// The spectrum of 2 half real numbers, half + 1 elements, from the transform of them taken as pairs; and back (twice the pairs,
  /// swapped). roots[k] = exp(-pi i k / half) for k <= half / 2.
  void (*split_real)(T* block, std::int64_t half, const T* roots) = nullptr;
  void (*join_real)(T* block, std::int64_t half, const T* roots) = nullptr;
  /// A block of n elements from `lanes` rows of blocks that are one after another, `distance` numbers apart; row r of block c was to be
  /// multiplied by turns[r] (of its own for each lane) and steps[c * step_distance + 2 r].
  void (*transpose)(T* block, const T* blocks, std::int64_t n, std::int64_t distance, const T* turns, const T* steps,
                    std::int64_t step_distance) = nullptr;
  // Loops over one line as pairs.
  /// to[j] = a[j] * b[j] * scale, where swapped of swapped elements of a.
  void (*multiply_line)(T* to, const T* a, const T* b, std::int64_t n, bool swapped, T scale) = nullptr;
  /// split_real in place, and join_real (not swapped) from one line to another, of the elements k and half - k for begin <= k < end, 0 <
  /// begin, end <= half / 2 + 1.
  void (*split_real_line)(T* line, std::int64_t half, const T* roots, std::int64_t begin, std::int64_t end) = nullptr;
  void (*join_real_line)(T* to, const T* from, std::int64_t half, const T* roots, std::int64_t begin, std::int64_t end) = nullptr;
  // For real signals of odd length. Two of them could be one complex signal, but then the errors of each would be as large as those of the
  // larger one.
  void (*load_real_lines)(T* block, const T* from, std::int64_t n, std::int64_t stride, int count) = nullptr;
  void (*store_swapped_real_lines)(const T* block, T* to, std::int64_t n, std::int64_t stride, int count, T scale) = nullptr;
  /// The spectrum of a real signal of odd length n, swapped, from its first n / 2 + 1 elements. The imaginary part of the first doesn't
  /// count.
  void (*complete_swapped)(T* block, std::int64_t n) = nullptr;
};

// nullptr where the processor has no such instructions.
template <class T>
const FftLoops<T>* fft_loops_512();
template <class T>
const FftLoops<T>* fft_loops_256();
template <class T>
const FftLoops<T>& fft_loops_baseline();

/// The best for this processor.
template <class T>
const FftLoops<T>& fft_loops() {
  if (const auto* p = fft_loops_512<T>()) return *p;
  if (const auto* p = fft_loops_256<T>()) return *p;
  return fft_loops_baseline<T>();
}

}  // namespace weft::detail
