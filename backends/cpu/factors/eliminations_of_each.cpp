// Cholesky's and LU factorisations, triangular systems and QR factorisations of core/base/lapack.h for each of several matrices: small ones
// side by side in the lanes of vectors, others by one call after the other.
#include <numeric>
#include <utility>
#include <vector>

#include "weft/backends/cpu/factors/lane_groups.h"

namespace weft::detail::lapack {
namespace {

// Sizes of matrices that are factored side by side. For larger ones, and for a single matrix of any size, a library is faster, which
// works on blocks that fit registers and caches.
constexpr Columns kFactored{0, 0, 32}, kReflected{16, 0, 32};

template <class T>
constexpr int kParts = is_complex_number<T> ? 2 : 1;
template <class T>
const Eliminations<Real<T>>& eliminations() {
  return is_complex_number<T> ? side_by_side<Real<T>>().of_complex : side_by_side<Real<T>>().of_real;
}

/// The parts of numbers, one behind the other.
template <class T>
const Real<T>* parts_of(const T* a) {
  return reinterpret_cast<const Real<T>*>(a);
}
template <class T>
Real<T>* parts_of(T* a) {
  return reinterpret_cast<Real<T>*>(a);
}

}  // namespace

template <class T>
void cholesky_of_each(T* a, std::int64_t count, int n, std::uint8_t* good) {
  using R = Real<T>;
  const std::int64_t size = area(n, n);
  if (!go_side_by_side<R>(n, count, kFactored))
    return each_matrix(count, size * n / 6, [&](std::int64_t k) { good[k] = cholesky(a + k * size, n); });
  const int lanes = side_by_side<R>().lanes;
  const std::int64_t numbers = size * kParts<T>;
  each_group(count, lanes, lanes * size * (n + 6) / 6, [&](std::int64_t first, int used) {
    LaneMemory<R> memory((numbers + 1) * lanes);
    R *const matrix = memory.take(numbers, lanes), *const positive = memory.take(1, lanes);
    bring(parts_of(a + first * size), numbers, used, matrix);
    eliminations<T>().cholesky(matrix, n, positive);
    take_back(matrix, numbers, used, parts_of(a + first * size));
    for (int l = 0; l < used; ++l) good[first + l] = positive[l] != 0;
  });
}

template <class T>
void lu_of_each(T* a, std::int64_t count, int m, int n, std::int32_t* pivots) {
  using R = Real<T>;
  const std::int64_t size = area(m, n);
  const int steps = std::min(m, n);
  if (steps == 0 || !go_side_by_side<R>(std::max(m, n), count, kFactored))
    return each_matrix(count, size * steps / 2, [&](std::int64_t k) {
      if (lu(a + k * size, m, n, pivots + k * steps)) return;
      fill_nan(a + k * size, size);
      std::iota(pivots + k * steps, pivots + (k + 1) * steps, 0);
    });
  const int lanes = side_by_side<R>().lanes;
  const std::int64_t numbers = size * kParts<T>;
  each_group(count, lanes, lanes * size * (steps + 2) / 2, [&](std::int64_t first, int used) {
    LaneMemory<R> memory((numbers + steps) * lanes);
    R *const matrix = memory.take(numbers, lanes), *const rows = memory.take(steps, lanes);
    bring(parts_of(a + first * size), numbers, used, matrix);
    eliminations<T>().lu(matrix, m, n, rows);
    take_back(matrix, numbers, used, parts_of(a + first * size));
    for (int l = 0; l < used; ++l)
      for (int i = 0; i < steps; ++i) pivots[(first + l) * steps + i] = static_cast<std::int32_t>(rows[i * lanes + l]);
  });
}

template <class T>
void triangular_solve_of_each(const T* a, T* b, std::int64_t count, int m, int n, TriangularForm form, bool conjugate) {
  using R = Real<T>;
  const int order = form.left_side ? m : n, others = form.left_side ? n : m;
  const std::int64_t size = area(order, order), size_of_b = area(m, n);
  if (!go_side_by_side<R>(order, count, kFactored) || !go_side_by_side<R>(std::max(others, 1), count, kFactored))
    return each_matrix(count, size * others / 2, [&](std::int64_t k) {
      const T* matrix = a + k * size;
      std::vector<T> conjugated;
      if constexpr (is_complex_number<T>)
        if (conjugate) {
          conjugated.resize(static_cast<std::size_t>(size));
          std::transform(matrix, matrix + size, conjugated.begin(), [](const T& x) { return std::conj(x); });
          matrix = conjugated.data();
        }
      triangular_solve(matrix, b + k * size_of_b, m, n, form);
    });
  constexpr int parts = kParts<T>;
  const int lanes = side_by_side<R>().lanes;
  const std::int64_t numbers = size * parts, numbers_of_b = size_of_b * parts;
  // x op(a) = b is op(a)^T x^T = b^T.
  const bool transpose = form.transpose == form.left_side;
  each_group(count, lanes, lanes * size * (others + 2) / 2, [&](std::int64_t first, int used) {
    LaneMemory<R> memory(2 * (numbers + numbers_of_b) * lanes);
    R *matrix = memory.take(numbers, lanes), *x = memory.take(numbers_of_b, lanes), *other_matrix = memory.take(numbers, lanes),
      *other_x = memory.take(numbers_of_b, lanes);
    bring(parts_of(a + first * size), numbers, used, matrix);
    bring(parts_of(b + first * size_of_b), numbers_of_b, used, x);
    if (parts == 2 && conjugate)
      for (std::int64_t e = 0; e < size; ++e)
        for (int l = 0; l < lanes; ++l) matrix[(2 * e + 1) * lanes + l] *= -1;
    if (transpose) {
      transpose_lanes(matrix, order, order, parts, other_matrix);
      matrix = other_matrix;
    }
    if (!form.left_side) {
      transpose_lanes(x, m, n, parts, other_x);
      std::swap(x, other_x);
    }
    eliminations<T>().substitute(matrix, x, order, others, form.lower != transpose, form.unit_diagonal);
    if (!form.left_side) {
      transpose_lanes(x, n, m, parts, other_x);
      std::swap(x, other_x);
    }
    take_back(x, numbers_of_b, used, parts_of(b + first * size_of_b));
  });
}

template <class T>
void qr_of_each(const T* a, std::int64_t count, int m, int n, int columns, T* q, T* r) {
  using R = Real<T>;
  constexpr int parts = kParts<T>;
  const std::int64_t size = area(m, n), size_of_q = area(m, columns), size_of_r = area(columns, n);
  const auto by_library = [&](std::int64_t k) {
    T *const to_q = q ? q + k * size_of_q : nullptr, *const to_r = r + k * size_of_r;
    if (qr(a + k * size, m, n, columns, to_q, to_r)) return;
    if (q) fill_nan(to_q, size_of_q);
    fill_nan(to_r, size_of_r);
  };
  const int steps = std::min(m, n);
  if (steps == 0 || !go_side_by_side<R>(std::max(m, n), count, kReflected))
    return each_matrix(count, 2 * size * (steps + columns), by_library);
  const int lanes = side_by_side<R>().lanes;
  each_group(count, lanes, lanes * size * 2 * (steps + columns), [&](std::int64_t first, int used) {
    LaneMemory<R> memory((size * parts + size_of_q * parts + steps * parts + 1) * lanes);
    R *const matrix = memory.take(size * parts, lanes), *const vectors = memory.take(size_of_q * parts, lanes),
             *const taus = memory.take(steps * parts, lanes), *const open = memory.take(1, lanes);
    bring(parts_of(a + first * size), size * parts, used, matrix);
    const Scales<R> scales(matrix, size * parts);
    eliminations<T>().qr(matrix, q ? vectors : nullptr, m, n, columns, taus, open);
    if (q) take_back(vectors, size_of_q * parts, used, parts_of(q + first * size_of_q));
    for (int l = 0; l < used; ++l) {
      R* to = parts_of(r + (first + l) * size_of_r);
      for (int i = 0; i < columns; ++i)
        for (int j = 0; j < n * parts; ++j)
          *to++ = i <= j / parts ? matrix[(area(i, n) * parts + j) * lanes + l] * scales.unscaled[l] : R(0);
      if (scales.finite[l] == 0 || open[l] != 0) by_library(first + l);
    }
  });
}

#define WEFT_OF_EACH(T)                                                                               \
  template void cholesky_of_each(T*, std::int64_t, int, std::uint8_t*);                               \
  template void lu_of_each(T*, std::int64_t, int, int, std::int32_t*);                                \
  template void triangular_solve_of_each(const T*, T*, std::int64_t, int, int, TriangularForm, bool); \
  template void qr_of_each(const T*, std::int64_t, int, int, int, T*, T*);
WEFT_OF_EACH(float)
WEFT_OF_EACH(double)
WEFT_OF_EACH(std::complex<float>)
WEFT_OF_EACH(std::complex<double>)
#undef WEFT_OF_EACH

}  // namespace weft::detail::lapack
