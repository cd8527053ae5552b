// Eigenvalues and singular values of core/base/lapack.h for each of several matrices: small ones side by side in the lanes of vectors,
// others by one call after the other.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "weft/backends/cpu/factors/lane_groups.h"

namespace weft::detail::lapack {
namespace {

// Sizes of matrices that are decomposed side by side; for larger ones LAPACK's reductions to few diagonals are faster.
constexpr Columns kEigenvalues{9, 5, 24}, kComplexEigenvalues{7, 3, 16}, kSingularValues{9, 5, 16};
constexpr std::int64_t kMostElements = 512;  // of singular value decompositions
constexpr int kMostAdded = 2;                // vectors beyond those that have a singular value

/// All pairs of indices below n in rounds of disjoint ones, as in a tournament.
struct Rounds {
  explicit Rounds(int n) {
    const int players = n + n % 2, others = players - 1;
    std::uint8_t* next = pairs;
    const auto add = [&](int p, int q) {
      if (std::max(p, q) >= n) return;
      *next++ = static_cast<std::uint8_t>(std::min(p, q));
      *next++ = static_cast<std::uint8_t>(std::max(p, q));
    };
    for (int round = 0; round < others; ++round) {
      add(round, others);
      for (int i = 1; i < players / 2; ++i) add((round + i) % others, (round - i + others) % others);
    }
  }
  std::uint8_t pairs[kEigenvalues.together * (kEigenvalues.together - 1)];
};

/// `parts`: vectors of a number, of which the first is its real part.
template <class R>
void set_identity(R* v, int n, int parts, int lanes) {
  std::fill_n(v, area(n, n) * parts * lanes, R(0));
  for (int i = 0; i < n; ++i) std::fill_n(v + area(i, n + 1) * parts * lanes, lanes, R(1));
}

template <class T>
void eigh_by_library(const T* a, int n, bool lower, Real<T>* values, T* vectors) {
  const std::int64_t size = area(n, n);
  std::vector<T> copy(static_cast<std::size_t>(vectors ? 0 : size));
  T* const to = vectors ? vectors : copy.data();
  std::copy_n(a, size, to);
  if (eigh(to, n, lower, vectors != nullptr, values)) return;
  if (vectors) fill_nan(vectors, size);
  fill_nan(values, n);
}

template <class T>
void svd_by_library(const T* a, int m, int n, bool full, Real<T>* s, T* u, T* vh) {
  std::vector<T> copy(a, a + area(m, n));
  const int k = std::min(m, n);
  if (svd(copy.data(), m, n, u != nullptr, full, s, u, vh)) return;
  fill_nan(s, k);
  if (u) fill_nan(u, area(m, full ? m : k)), fill_nan(vh, area(full ? n : k, n));
}

template <class T>
void eigh_side_by_side(const T* a, std::int64_t count, int n, bool lower, Real<T>* values, T* vectors) {
  using R = Real<T>;
  constexpr int parts = is_complex_number<T> ? 2 : 1;
  const SideBySide<R>& code = side_by_side<R>();
  const int lanes = code.lanes;
  const std::int64_t size = area(n, n), numbers = size * parts;
  const Rounds rounds(n);
  each_group(count, lanes, 6 * numbers * n * lanes, [&](std::int64_t first, int used) {
    LaneMemory<R> memory((2 * numbers + n + 1) * lanes);
    R *const matrix = memory.take(numbers, lanes), *const v = memory.take(numbers, lanes), *const w = memory.take(n, lanes),
             *const open = memory.take(1, lanes);
    bring(reinterpret_cast<const R*>(a + first * size), numbers, used, matrix);
    const Scales<R> scales(matrix, numbers);
    if (lower)
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < i; ++j) {
          const R* const from = matrix + (area(i, n) + j) * parts * lanes;
          R* const to = matrix + (area(j, n) + i) * parts * lanes;
          std::copy_n(from, parts * lanes, to);
          if (parts == 2) std::transform(from + lanes, from + 2 * lanes, to + lanes, std::negate<>());
        }
    if (vectors) set_identity(v, n, parts, lanes);
    (parts == 2 ? code.eigh_hermitian : code.eigh)(matrix, vectors ? v : nullptr, w, n, rounds.pairs, open);
    for (int i = 0; i < n; ++i)
      for (int l = 0; l < lanes; ++l) w[i * lanes + l] *= scales.unscaled[l];
    take_back(w, n, used, values + first * n);
    if (vectors) take_back(v, numbers, used, reinterpret_cast<R*>(vectors + first * size));
    for (int l = 0; l < used; ++l)
      if (scales.finite[l] == 0 || open[l] != 0)
        eigh_by_library(a + (first + l) * size, n, lower, values + (first + l) * n, vectors ? vectors + (first + l) * size : nullptr);
  });
}

/// Columns of g (m x n, one behind the other, of one lane) from `known` on become such that all are orthonormal.
template <class R>
void complete(R* g, int m, int n, int known, int lanes) {
  const auto at = [&](int i, int j) -> R& { return g[(area(j, m) + i) * lanes]; };
  for (int j = known; j < n; ++j) {
    // The axis of which the columns before hold the least.
    int axis = 0;
    R least = 2;
    for (int i = 0; i < m; ++i) {
      R held = 0;
      for (int k = 0; k < j; ++k) held += at(i, k) * at(i, k);
      if (held < least) least = held, axis = i;
    }
    for (int i = 0; i < m; ++i) at(i, j) = R(i == axis);
    for (int pass = 0; pass < 2; ++pass) {
      for (int k = 0; k < j; ++k) {
        R inner = 0;
        for (int i = 0; i < m; ++i) inner += at(i, k) * at(i, j);
        for (int i = 0; i < m; ++i) at(i, j) -= inner * at(i, k);
      }
      R squares = 0;
      for (int i = 0; i < m; ++i) squares += at(i, j) * at(i, j);
      for (int i = 0; i < m; ++i) at(i, j) /= std::sqrt(squares);
    }
  }
}

/// A matrix with fewer rows than columns is seen as its transpose, whose left vectors are the right ones.
template <class R>
void svd_side_by_side(const R* a, std::int64_t count, int rows, int columns, bool full, R* s, R* u, R* vh) {
  const SideBySide<R>& code = side_by_side<R>();
  const int lanes = code.lanes, m = std::max(rows, columns), n = std::min(rows, columns);
  const std::int64_t size = area(m, n), square = area(n, n);
  const Rounds rounds(n);
  const bool wide = rows < columns;
  const int left = full ? m : n;  // columns of g at the end
  const std::int64_t size_of_u = area(rows, wide ? n : left), size_of_vh = area(wide ? left : n, columns);
  each_group(count, lanes, 12 * size * n * lanes, [&](std::int64_t first, int used) {
    LaneMemory<R> memory((2 * area(m, left) + 2 * square + n + 1) * lanes);
    R *const g = memory.take(area(m, left), lanes), *const other_g = memory.take(area(m, left), lanes),
             *const v = memory.take(square, lanes), *const other_v = memory.take(square, lanes), *const w = memory.take(n, lanes),
             *const open = memory.take(1, lanes);
    bring(a + first * size, size, used, wide ? g : other_g);
    if (!wide) transpose_lanes(other_g, m, n, 1, g);
    const Scales<R> scales(g, size);
    if (u) set_identity(v, n, 1, lanes);
    code.svd(g, u ? v : nullptr, w, m, n, rounds.pairs, open);
    if (u) {
      for (int l = 0; l < used; ++l) {
        int known = 0;
        while (known < n && w[known * lanes + l] > w[l] * std::numeric_limits<R>::epsilon() * R(kLostColumn)) ++known;
        complete(g + l, m, left, known, lanes);
      }
      // Columns of g and v, one behind the other: those of g are the rows of vh where the matrix is wide, those of v where it is not.
      transpose_lanes(wide ? v : g, wide ? n : left, wide ? n : m, 1, wide ? other_v : other_g);
      take_back(wide ? other_v : other_g, size_of_u, used, u + first * size_of_u);
      take_back(wide ? g : v, size_of_vh, used, vh + first * size_of_vh);
    }
    for (int i = 0; i < n; ++i)
      for (int l = 0; l < lanes; ++l) w[i * lanes + l] *= scales.unscaled[l];
    take_back(w, n, used, s + first * n);
    for (int l = 0; l < used; ++l)
      if (scales.finite[l] == 0 || open[l] != 0) {
        const std::int64_t k = first + l;
        svd_by_library(a + k * size, rows, columns, full, s + k * n, u ? u + k * size_of_u : nullptr, u ? vh + k * size_of_vh : nullptr);
      }
  });
}

}  // namespace

template <class T>
void eigh_of_each(const T* a, std::int64_t count, int n, bool lower, Real<T>* values, T* vectors) {
  if (go_side_by_side<Real<T>>(n, count, is_complex_number<T> ? kComplexEigenvalues : kEigenvalues))
    return eigh_side_by_side(a, count, n, lower, values, vectors);
  each_matrix(count, 10 * area(n, n) * n, [&](std::int64_t k) {
    eigh_by_library(a + k * area(n, n), n, lower, values + k * n, vectors ? vectors + k * area(n, n) : nullptr);
  });
}

template <class T>
void svd_of_each(const T* a, std::int64_t count, int m, int n, bool full, Real<T>* s, T* u, T* vh) {
  const int k = std::min(m, n);
  if constexpr (!is_complex_number<T>)
    if (go_side_by_side<T>(k, count, kSingularValues) && area(m, n) <= kMostElements && (!u || !full || std::abs(m - n) <= kMostAdded))
      return svd_side_by_side(a, count, m, n, full, s, u, vh);
  each_matrix(count, 20 * area(m, n) * k, [&](std::int64_t i) {
    svd_by_library(a + i * area(m, n), m, n, full, s + i * k, u ? u + i * area(m, full ? m : k) : nullptr,
                   u ? vh + i * area(full ? n : k, n) : nullptr);
  });
}

#define WEFT_OF_EACH(T)                                                        \
  template void eigh_of_each(const T*, std::int64_t, int, bool, Real<T>*, T*); \
  template void svd_of_each(const T*, std::int64_t, int, int, bool, Real<T>*, T*, T*);
WEFT_OF_EACH(float)
WEFT_OF_EACH(double)
WEFT_OF_EACH(std::complex<float>)
WEFT_OF_EACH(std::complex<double>)
#undef WEFT_OF_EACH

}  // namespace weft::detail::lapack
