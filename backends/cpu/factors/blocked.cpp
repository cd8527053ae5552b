#include "weft/backends/cpu/factors/blocked.h"

#include <algorithm>

#include "weft/backends/cpu/factors/lapack_routines.h"
#include "weft/backends/cpu/packed/packed_matmul.h"
#include "weft/runtime/host/process_end.h"
#include "weft/runtime/host/thread_pool.h"

namespace weft::detail::lapack {
namespace {

constexpr int kBlock = 64;        // columns that LAPACK factors at once
constexpr int kStrip = 96;        // rows or columns of a task
constexpr int kBlocksFrom = 192;  // below it a call of LAPACK is as fast

/// BLAS takes complex scalars by address.
template <class T>
auto factor(const T& one) {
  if constexpr (is_complex<T>)
    return static_cast<const void*>(&one);
  else
    return one;
}

/// Part of a row-major matrix: `row` elements from one row to the next.
template <class T>
struct Part {
  T* data;
  int rows, columns, row;
};

/// out -= a b, or a b^T (b^H of complex numbers) where b is `transposed`.
template <class T>
void subtract(Part<const T> a, Part<const T> b, bool transposed, Part<T> out) {
  const int m = out.rows, n = out.columns, k = a.columns;
  if constexpr (is_complex<T>) {
    const T minus(-1), one(1);
    Routines<T>::gemm(CblasRowMajor, CblasNoTrans, transposed ? CblasConjTrans : CblasNoTrans, m, n, k, &minus, a.data, a.row, b.data,
                      b.row, &one, out.data, out.row);
  } else {
    const MatmulOperand<T> left{a.data, m, k, a.row, 1};
    const MatmulOperand<T> right = transposed ? MatmulOperand<T>{b.data, k, n, 1, b.row} : MatmulOperand<T>{b.data, k, n, b.row, 1};
    if (subtract_matmul(left, right, out.data, out.row)) return;
    const CBLAS_TRANSPOSE how = transposed ? CblasTrans : CblasNoTrans;
    if constexpr (std::is_same_v<T, double>)
      cblas_dgemm(CblasRowMajor, CblasNoTrans, how, m, n, k, -1, a.data, a.row, b.data, b.row, 1, out.data, out.row);
    else
      cblas_sgemm(CblasRowMajor, CblasNoTrans, how, m, n, k, -1, a.data, a.row, b.data, b.row, 1, out.data, out.row);
  }
}

/// Calls f(first, size) for strips of a range, by several threads.
template <class F>
void each_strip(int n, F&& f) {
  parallel_for((n + kStrip - 1) / kStrip, [&](std::int64_t i) {
    const LibraryUse use;
    const int first = static_cast<int>(i) * kStrip;
    f(first, std::min(kStrip, n - first));
  });
}
/// The address of element (i, j) of a matrix with the given leading dimension.
template <class T>
T* at(T* a, int row, int i, int j) {
  return a + std::int64_t{i} * row + j;
}

}  // namespace

bool is_for_blocks(int m, int n) { return std::min(m, n) >= kBlocksFrom; }

template <class T>
bool blocked_cholesky(T* a, int n) {
  const T one(1);
  for (int k = 0; k < n; k += kBlock) {
    const int width = std::min(kBlock, n - k), below = k + width, rest = n - below;
    // As in lapack::cholesky: the lower triangle of rows is the upper one of columns.
    if (Routines<T>::potrf_work(LAPACK_COL_MAJOR, 'U', width, at(a, n, k, k), n) != 0) return false;
    each_strip(rest, [&](int first, int rows) {
      Routines<T>::trsm(CblasRowMajor, CblasRight, CblasLower, is_complex<T> ? CblasConjTrans : CblasTrans, CblasNonUnit, rows, width,
                        factor(one), at(a, n, k, k), n, at(a, n, below + first, k), n);
    });
    // Left of the diagonal, and the strip's own square.
    each_strip(rest, [&](int first, int rows) {
      subtract<T>({at(a, n, below + first, k), rows, width, n}, {at(a, n, below, k), first + rows, width, n}, true,
                  {at(a, n, below + first, below), rows, first + rows, n});
    });
  }
  return true;
}

template <class T>
bool blocked_lu(T* a, int m, int n, std::int32_t* pivots) {
  const T one(1);
  const int steps = std::min(m, n);
  for (int k = 0; k < steps; k += kBlock) {
    const int width = std::min(kBlock, steps - k), below = k + width;
    T* const panel = at(a, m, k, k);
    if (Routines<T>::getrf_work(LAPACK_COL_MAJOR, m - k, width, panel, m, pivots + k) < 0) return false;
    // The columns left of the panel are permuted, those right of it are permuted and updated.
    each_strip(n - width, [&](int first, int columns) {
      for (int c = first; c < first + columns; ++c) {
        T* const column = at(a, m, c < k ? c : c + width, k);
        for (int i = 0; i < width; ++i) std::swap(column[i], column[pivots[k + i] - 1]);
      }
      const int from = std::max(first, k) + width, count = first + columns + width - from;
      if (count <= 0) return;
      Routines<T>::trsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, width, count, factor(one), panel, m,
                        at(a, m, from, k), m);
      // Everything here is row-major, so a column-major matrix is passed as its transpose.
      subtract<T>({at(a, m, from, k), count, width, m}, {at(a, m, k, below), width, m - below, m}, false,
                  {at(a, m, from, below), count, m - below, m});
    });
    for (int i = 0; i < width; ++i) pivots[k + i] += k;
  }
  return true;
}

template <class T>
void parallel_triangular_solve(const T* a, T* b, int m, int n, TriangularForm form) {
  const T one(1);
  const int order = form.left_side ? m : n;
  // The columns of b (rows, for a right side solve) are independent systems.
  each_strip(form.left_side ? n : m, [&](int first, int size) {
    Routines<T>::trsm(CblasRowMajor, form.left_side ? CblasLeft : CblasRight, form.lower ? CblasLower : CblasUpper,
                      form.transpose ? CblasTrans : CblasNoTrans, form.unit_diagonal ? CblasUnit : CblasNonUnit, form.left_side ? m : size,
                      form.left_side ? size : n, factor(one), a, order, form.left_side ? b + first : at(b, n, first, 0), n);
  });
}

template bool blocked_cholesky(float*, int);
template bool blocked_cholesky(double*, int);
template bool blocked_cholesky(std::complex<float>*, int);
template bool blocked_cholesky(std::complex<double>*, int);
template bool blocked_lu(float*, int, int, std::int32_t*);
template bool blocked_lu(double*, int, int, std::int32_t*);
template bool blocked_lu(std::complex<float>*, int, int, std::int32_t*);
template bool blocked_lu(std::complex<double>*, int, int, std::int32_t*);
template void parallel_triangular_solve(const float*, float*, int, int, TriangularForm);
template void parallel_triangular_solve(const double*, double*, int, int, TriangularForm);
template void parallel_triangular_solve(const std::complex<float>*, std::complex<float>*, int, int, TriangularForm);
template void parallel_triangular_solve(const std::complex<double>*, std::complex<double>*, int, int, TriangularForm);

}  // namespace weft::detail::lapack
