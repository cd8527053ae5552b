// The code of a unit's tiles, once for each set of instructions: to be included where the compiler may use them, in an unnamed namespace.

/// U names the vectors, and how they are loaded, multiplied and stored. M rows and N vectors of columns; `panel`: the left operand is in
/// one.
template <class U, int M, int N, bool panel>
void tile(const TileWork& w) {
  typename U::Vector sum[M][N];
  const typename U::Mask last = U::first(w.last);
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 3
    for (int j = 0; j < N; ++j) {
      const char* const at = w.out + i * w.out_row + j * U::kBytes;
      if (!w.add)
        sum[i][j] = U::zero();
      else
        sum[i][j] = j == N - 1 ? U::load_first(last, at) : U::load(at);
      if constexpr (U::kStarts) {
        if (w.start) sum[i][j] = U::plus(sum[i][j], w.start[i]);
      }
    }
  // The operands are in the second cache, and the sums of the tile beside this one, which comes next, farther away.
  constexpr bool prefetches = U::kBytes == 64;
  constexpr int ahead = 8;
  if constexpr (prefetches) {
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i)
#pragma GCC unroll 3
      for (int j = 0; j < N; ++j) _mm_prefetch(w.out + i * w.out_row + (N + j) * U::kBytes, _MM_HINT_T0);
  }
  // Three rows for each pointer: an address is a pointer and once or twice a stride.
  const char* rows[(M + 2) / 3];
#pragma GCC unroll 4
  for (int i = 0; i < M; i += 3) rows[i / 3] = w.left + (panel ? i * U::kWord : i * w.left_row);
  const std::int64_t row = panel ? U::kWord : w.left_row;
  const char *right = w.right, *later = right + ahead * w.right_row;
  for (std::int64_t k = 0; k < w.words; ++k) {
    typename U::Operand b[N];
#pragma GCC unroll 3
    for (int j = 0; j < N; ++j) {
      b[j] = U::operand(right + j * U::kBytes);
      if constexpr (prefetches) _mm_prefetch(later + j * U::kBytes, _MM_HINT_T0);
    }
    if constexpr (prefetches && panel) _mm_prefetch(rows[0] + ahead * M * U::kWord, _MM_HINT_T0);
    right += w.right_row;
    if constexpr (prefetches) later += w.right_row;
#pragma GCC unroll 16
    for (int i = 0; i < M; ++i) {
      const typename U::Operand x = U::broadcast(rows[i / 3] + i % 3 * row);
#pragma GCC unroll 3
      for (int j = 0; j < N; ++j) sum[i][j] = U::multiply_add(x, b[j], sum[i][j]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < M; i += 3) rows[i / 3] += panel ? M * U::kWord : U::kWord;
  }
#pragma GCC unroll 16
  for (int i = 0; i < M; ++i)
#pragma GCC unroll 3
    for (int j = 0; j < N; ++j) {
      char* const at = w.out + i * w.out_row + j * U::kBytes;
      if (j == N - 1 && w.last != U::kLanes)
        U::store_first(last, at, sum[i][j]);
      else
        U::store(at, sum[i][j]);
    }
}

template <class U>
consteval Unit make_unit(DType element, DType sum, int group) {
  Unit u{.element = element, .sum = sum, .group = group, .lanes = U::kLanes, .vectors = U::kVectors, .heights = {}, .tiles = {}};
  const auto add = [&]<int height>(std::size_t at) {
    u.heights[at] = height;
    u.tiles[0][0][at] = tile<U, height, 1, false>, u.tiles[0][1][at] = tile<U, height, 2, false>;
    u.tiles[1][0][at] = tile<U, height, 1, true>, u.tiles[1][1][at] = tile<U, height, 2, true>;
    if constexpr (U::kVectors == 3) u.tiles[0][2][at] = tile<U, height, 3, false>, u.tiles[1][2][at] = tile<U, height, 3, true>;
  };
  std::size_t at = 0;
  if constexpr (U::kBytes == 64) add.template operator()<8>(at++);
  if constexpr (U::kBytes == 32) add.template operator()<6>(at++);
  add.template operator()<4>(at++), add.template operator()<2>(at++), add.template operator()<1>(at++);
  return u;
}
