// Matmuls of float32 for processors with registers of 64 bytes, by code of weft's own. Tiles of 12 x 32 elements stay in registers. The
// left operand is read where it is, along either stride; the right one too, or copied into panels of 32 columns. Goto, van de Geijn,
// "Anatomy of high-performance matrix multiplication" (2008).
#include <algorithm>

#include "weft/backends/cpu/dnnl_tools.h"
#include "weft/backends/cpu/instruction_sets.h"
#include "weft/backends/cpu/matmul.h"
#include "weft/runtime/host/thread_pool.h"

#ifdef __x86_64__

#include <immintrin.h>

// With the rest of AVX-512, g++ 12 takes a fifth more time for products of 256 x 256.
WEFT_BEGIN_INSTRUCTIONS("avx512f,avx2,fma")

namespace weft::detail {
namespace {

constexpr std::int64_t kLanes = 16, kRows = 12, kColumns = 2 * kLanes;  // of a register; of a tile
constexpr std::int64_t kDepth = 512;                                    // the longest sums before results go to memory
constexpr std::int64_t kAhead = 32;                                     // rows of a transposed left operand are prefetched this far ahead
constexpr std::int64_t kBlock = 96 << 10;                               // elements of the right operand that stay in the second cache

struct TileOperands {
  const float* a;
  std::int64_t stride;  ///< of `a`, along the dimension whose elements are not neighbours
  const float* panel;
  std::int64_t panel_row, depth;
  float* out;
  std::int64_t out_row;
  bool add;        ///< to what is in `out`
  __mmask16 last;  ///< the lanes of the last vector that are columns
};
using Tile = void (*)(const TileOperands&);

/// A tile of M rows and N vectors. The left operand's neighbours are along k, or (`transposed`) along m.
template <int M, int N, bool transposed>
void tile(const TileOperands& o) {
  const auto [a, stride, panel, panel_row, depth, out, out_row, add, last] = o;
  __m512 sum[M][N];
  const auto mask = [&](int j) -> __mmask16 { return j == N - 1 ? last : 0xffff; };
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) sum[i][j] = add ? _mm512_maskz_loadu_ps(mask(j), out + i * out_row + j * kLanes) : _mm512_setzero_ps();
  for (std::int64_t k = 0; k < depth; ++k) {
    // The next tile's results, which are written only when it ends: their lines come meanwhile.
    if (k < M * N) __builtin_prefetch(out + k / N * out_row + kColumns + k % N * kLanes, 1);
    if (transposed) _mm_prefetch(a + (k + kAhead) * stride + M - 1, _MM_HINT_T0);
    __m512 b[N];
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j) b[j] = _mm512_loadu_ps(panel + k * panel_row + j * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const __m512 x = _mm512_set1_ps(transposed ? a[k * stride + i] : a[i * stride + k]);
#pragma GCC unroll 2
      for (int j = 0; j < N; ++j) sum[i][j] = _mm512_fmadd_ps(x, b[j], sum[i][j]);
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < N; ++j)
      if (j == N - 1 && last != 0xffff)
        _mm512_mask_storeu_ps(out + i * out_row + j * kLanes, last, sum[i][j]);
      else
        _mm512_storeu_ps(out + i * out_row + j * kLanes, sum[i][j]);
}

template <int N, bool transposed>
constexpr Tile kTiles[kRows] = {tile<1, N, transposed>, tile<2, N, transposed>,  tile<3, N, transposed>,  tile<4, N, transposed>,
                                tile<5, N, transposed>, tile<6, N, transposed>,  tile<7, N, transposed>,  tile<8, N, transposed>,
                                tile<9, N, transposed>, tile<10, N, transposed>, tile<11, N, transposed>, tile<12, N, transposed>};

/// For each group of `lanes` elements of x and y: where (in x's, then in y's) its elements come from.
template <int lanes, int... from>
inline __m512 shuffle(__m512 x, __m512 y) {
  constexpr int table[] = {from...};
  constexpr auto at = [](int i) { return table[i % lanes] % lanes + i / lanes * lanes + table[i % lanes] / lanes * 16; };
  return __builtin_shufflevector(x, y, at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8), at(9), at(10), at(11), at(12), at(13),
                                 at(14), at(15));
}
inline __m512 even_quarters(__m512 x, __m512 y) { return shuffle<16, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27>(x, y); }
inline __m512 odd_quarters(__m512 x, __m512 y) { return shuffle<16, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31>(x, y); }

/// Transposes a square of 16 x 16 elements: first within its squares of 4 x 4, then these squares. Each step is one instruction.
inline void transpose_square(__m512 (&r)[kLanes]) {
  __m512 t[kLanes];
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += 2) t[i] = shuffle<4, 0, 4, 1, 5>(r[i], r[i + 1]), t[i + 1] = shuffle<4, 2, 6, 3, 7>(r[i], r[i + 1]);
#pragma GCC unroll 8
  for (int i = 0; i < 16; i += i % 4 == 0 ? 1 : 3) {
    r[i / 4 * 4 + i % 4 * 2] = shuffle<4, 0, 1, 4, 5>(t[i], t[i + 2]);
    r[i / 4 * 4 + i % 4 * 2 + 1] = shuffle<4, 2, 3, 6, 7>(t[i], t[i + 2]);
  }
#pragma GCC unroll 8
  for (int i = 0; i < 12; i += i % 4 == 3 ? 5 : 1) t[i] = even_quarters(r[i], r[i + 4]), t[i + 4] = odd_quarters(r[i], r[i + 4]);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) r[i / 4 * 4 + i % 4] = even_quarters(t[i], t[i + 8]), r[i + 8] = odd_quarters(t[i], t[i + 8]);
}

__mmask16 first_lanes(std::int64_t n) { return static_cast<__mmask16>((1u << std::clamp<std::int64_t>(n, 0, kLanes)) - 1); }

/// Copies `columns` columns of `depth` rows into a panel, padded with zeros.
void fill_panel(const float* b, std::int64_t row, std::int64_t column, std::int64_t depth, std::int64_t columns, float* panel) {
  if (column == 1) {
    const __mmask16 low = first_lanes(columns), high = first_lanes(columns - kLanes);
    for (std::int64_t k = 0; k < depth; ++k) {
      _mm512_storeu_ps(panel + k * kColumns, _mm512_maskz_loadu_ps(low, b + k * row));
      _mm512_storeu_ps(panel + k * kColumns + kLanes, _mm512_maskz_loadu_ps(high, b + k * row + kLanes));
    }
    return;
  }
  for (std::int64_t j = 0; j < kColumns; j += kLanes)
    for (std::int64_t k = 0; k < depth; k += kLanes) {
      const __mmask16 along = first_lanes(depth - k);
      __m512 square[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i)
        square[i] = j + i < columns ? _mm512_maskz_loadu_ps(along, b + (j + i) * column + k) : _mm512_setzero_ps();
      transpose_square(square);
      const std::int64_t rows = std::min(kLanes, depth - k);
#pragma GCC unroll 16
      for (int i = 0; i < 16; ++i)
        if (i < rows) _mm512_storeu_ps(panel + (k + i) * kColumns + j, square[i]);
    }
}

/// One matrix by one matrix.
void multiply(const MatmulStep& p, const float* a, const float* b, float* out, float* panels) {
  const std::int64_t parts = (p.k + kDepth - 1) / kDepth, depth = (p.k + parts - 1) / parts;
  const std::int64_t block = kBlock / depth / kColumns * kColumns;
  const bool transposed = p.a_row == 1;
  // A right operand that fits in the L2 cache is read in place as fast as from a panel.
  const bool in_place = p.b_col == 1 && p.n % kColumns == 0 && p.n * p.k <= kBlock;
  const std::int64_t stride = transposed ? p.a_col : p.a_row;
  for (std::int64_t k = 0; k < p.k; k += depth) {
    const std::int64_t sums = std::min(depth, p.k - k);
    for (std::int64_t n = 0; n < p.n; n += block) {
      const std::int64_t columns = std::min(block, p.n - n);
      for (std::int64_t j = 0; !in_place && j < columns; j += kColumns)
        fill_panel(b + k * p.b_row + (n + j) * p.b_col, p.b_row, p.b_col, sums, std::min(kColumns, columns - j), panels + j * sums);
      for (std::int64_t i = 0; i < p.m; i += kRows) {
        const float* const rows = a + i * p.a_row + k * p.a_col;
        float* const to = out + i * p.out_row + n;
        const float* const right = in_place ? b + k * p.b_row + n : panels;
        const std::int64_t next = in_place ? 1 : sums, right_row = in_place ? p.b_row : kColumns;
        const std::int64_t count = std::min(kRows, p.m - i) - 1;
        for (std::int64_t j = 0; j < columns; j += kColumns) {
          const std::int64_t width = columns - j, vectors = width > kLanes ? 2 : 1;
          const Tile* const tiles =
              vectors == 2 ? (transposed ? kTiles<2, true> : kTiles<2, false>) : (transposed ? kTiles<1, true> : kTiles<1, false>);
          const __mmask16 last = first_lanes(width - (vectors - 1) * kLanes);
          tiles[count]({rows, stride, right + j * next, right_row, sums, to + j, p.out_row, k > 0, last});
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::detail

WEFT_END_INSTRUCTIONS

namespace weft::detail {
namespace {

/// At most one piece for each thread, since each copies its part of the right operand; cut along the longer side, so that the copies are
/// small.
MatmulPieces cut(const MatmulStep& p) {
  MatmulPieces r{p, p};
  const auto wanted = static_cast<std::int64_t>(std::clamp(p.flops() / 4e6, 1.0, 1.0 * num_threads()));
  std::int64_t length = 0;
  const auto divide = [&](std::int64_t whole, std::int64_t unit) {
    length = (whole + wanted * unit - 1) / (wanted * unit) * unit;
    r.pieces = (whole + length - 1) / length;
    return whole - (r.pieces - 1) * length;
  };
  if (p.m >= p.n) {
    r.last.m = divide(p.m, 4), r.piece.m = length;
    r.step_a = p.a_row * length, r.step_out = p.out_row * length;
  } else {
    r.last.n = divide(p.n, kColumns), r.piece.n = length;
    r.step_b = p.b_col * length, r.step_out = length;
  }
  return r;
}

class TiledMatmul final : public Matmul {
 public:
  explicit TiledMatmul(const MatmulStep& p) : a_offset_(p.a_offset), b_offset_(p.b_offset), pieces_(cut(p)) {}

  void run(const void* left, const void* right, void* result) const override {
    const float *const a = static_cast<const float*>(left) + a_offset_, *const b = static_cast<const float*>(right) + b_offset_;
    auto* const out = static_cast<float*>(result);
    const MatmulPieces& c = pieces_;
    parallel_for(c.pieces, [&](std::int64_t i) {
      auto* const panel = static_cast<float*>(library_scratch(kBlock * sizeof(float)));
      multiply(i + 1 == c.pieces ? c.last : c.piece, a + i * c.step_a, b + i * c.step_b, out + i * c.step_out, panel);
    });
  }

 private:
  const std::int64_t a_offset_, b_offset_;
  const MatmulPieces pieces_;
};

}  // namespace

std::unique_ptr<Matmul> make_tiled_matmul(const MatmulStep& p) {
  // oneDNN is as fast for matrices larger than the caches, faster for batches and few rows, and a few percent faster for long rows of
  // suitable lengths.
  if (!uses_avx512() || p.dtype != float32 || !p.batch.empty() || p.m < 4 * kRows || p.flops() > 3e8) return nullptr;
  if (p.a_col == 1 && p.b_col == 1 && p.k >= 256 && p.n % kColumns == 0 && p.flops() > 1.6e7) return nullptr;
  return std::make_unique<TiledMatmul>(p);
}

}  // namespace weft::detail

#else

namespace weft::detail {
std::unique_ptr<Matmul> make_tiled_matmul(const MatmulStep&) { return nullptr; }
}  // namespace weft::detail

#endif
