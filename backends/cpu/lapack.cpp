// core/base/lapack.h by LAPACK and BLAS, one thread a call. Large matrices are factored in blocks, by several threads; small ones side by
// side. Routines want column-major matrices; a row-major one is the transpose of what they see.
#include "weft/core/base/lapack.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <new>
#include <vector>

#include "weft/backends/cpu/factors/blocked.h"
#include "weft/backends/cpu/factors/lapack_routines.h"
#include "weft/backends/cpu/openblas.h"
#include "weft/backends/cpu/scratch.h"
#include "weft/runtime/host/process_end.h"

namespace weft::detail::lapack {
namespace {

/// The m x n matrix `from`, row-major, as n x m. Eight rows at a time: the elements of a column may be a power of two apart, and then the
/// lines of a long piece of it evict one another from the cache.
template <class T>
void transpose(const T* from, int m, int n, T* to) {
  const std::int64_t rows = m, columns = n;
  std::int64_t top = 0;
  for (; top + 8 <= rows; top += 8) {
    const T *const a = from + top * columns, *const b = a + 4 * columns;
    for (std::int64_t j = 0; j < columns; ++j) {
      T* const out = to + j * rows + top;
      out[0] = a[j], out[1] = a[columns + j], out[2] = a[2 * columns + j], out[3] = a[3 * columns + j];
      out[4] = b[j], out[5] = b[columns + j], out[6] = b[2 * columns + j], out[7] = b[3 * columns + j];
    }
  }
  for (std::int64_t i = top; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
}
/// Whether a routine succeeded. Throws std::bad_alloc if it could not allocate its own memory, which is not a failure of the matrix.
bool succeeded(lapack_int info) {
  if (info == LAPACK_WORK_MEMORY_ERROR || info == LAPACK_TRANSPOSE_MEMORY_ERROR) throw std::bad_alloc();
  return info == 0;
}
/// The size of a routine's workspace, from a workspace query, which is repeated only when the shapes change.
/// `ask` calls it with a first element and the length -1. The routines' usual forms ask, allocate and look for NaNs in each call, which
/// takes as long as a small matrix.
template <class T, class F>
lapack_int work_length(const std::array<int, 3>& what, F&& ask) {
  struct Known {
    std::array<int, 3> what{-1, -1, -1};
    lapack_int length = 0;
  };
  static thread_local Known known;
  if (known.what == what) return known.length;
  T first{};
  if (ask(&first) != 0) return std::max({1, what[0], what[1], what[2]});
  known = {what, std::max<lapack_int>(1, static_cast<lapack_int>(std::real(first)))};
  return known.length;
}
std::size_t area(int m, int n) { return static_cast<std::size_t>(m) * static_cast<std::size_t>(n); }

/// Eliminates with a pivot that isn't a number: OpenBLAS, for some sizes and dtypes, leaves rows as they are below such a pivot as it does
/// below a zero, and their solutions would be numbers.
template <class T>
void eliminate_with_nan(T* a, int m, int n) {
  const auto at = [&](int i, int j) { return a + area(i, n) + j; };
  for (int k = 0; k < std::min(m, n); ++k) {
    const T pivot = *at(k, k);
    if (pivot == pivot) continue;
    for (int i = k + 1; i < m; ++i) std::fill(at(i, k), at(i, 0) + n, pivot);
    return;
  }
}

/// The first reflection of the column-major factors that isn't made of numbers, or min(m, n). What it and later ones reflect is made NaN:
/// the single precision routines of OpenBLAS take 0 for elements divided by NaN.
template <class T>
int reflect_with_nan(T* factors, int m, int n) {
  for (int k = 0; k < std::min(m - 1, n); ++k) {
    const T pivot = factors[area(k, m) + static_cast<std::size_t>(k)];
    if (pivot == pivot) continue;
    for (int j = k; j < n; ++j) std::fill_n(factors + area(j, m) + k, m - k, pivot);
    return k;
  }
  return std::min(m, n);
}

}  // namespace

// LAPACK sees conj(a), whose upper factor u has u^T u = a; u^T is then in memory.
template <class T>
bool cholesky(T* a, int n) {
  const LibraryUse use;
  use_one_blas_thread();
  if (is_for_blocks(n, n)) return blocked_cholesky(a, n);
  return n == 0 || succeeded(Routines<T>::potrf(LAPACK_COL_MAJOR, 'U', n, a, n));
}

template <class T>
bool lu(T* a, int m, int n, std::int32_t* pivots) {
  const LibraryUse use;
  use_one_blas_thread();
  if (m == 0 || n == 0) return true;
  std::vector<T> columns(area(m, n));
  transpose(a, m, n, columns.data());
  std::vector<lapack_int> from_one(static_cast<std::size_t>(std::min(m, n)));
  // A positive code reports a zero on the diagonal of U: the factors are right all the same. The form without a check for NaN: as in JAX
  // a NaN goes where elimination takes it.
  if (is_for_blocks(m, n)) {
    if (!blocked_lu(columns.data(), m, n, from_one.data())) return false;
  } else if (Routines<T>::getrf_work(LAPACK_COL_MAJOR, m, n, columns.data(), m, from_one.data()) < 0) {
    return false;
  }
  transpose(columns.data(), n, m, a);
  eliminate_with_nan(a, m, n);
  std::transform(from_one.begin(), from_one.end(), pivots, [](lapack_int p) { return static_cast<std::int32_t>(p - 1); });
  return true;
}

template <class T>
void triangular_solve(const T* a, T* b, int m, int n, TriangularForm form) {
  const LibraryUse use;
  use_one_blas_thread();
  if (m == 0 || n == 0) return;
  parallel_triangular_solve(a, b, m, n, form);
}

/// LAPACK's iterations may not terminate if elements or their moduli are infinite.
template <class T>
bool all_finite(const T* a, std::size_t count) {
  return std::all_of(a, a + count, [](const T& v) { return std::isfinite(std::abs(v)); });
}

// The matrix is given to LAPACK by columns, not as its transpose: which sign a vector gets depends on it, and this is what JAX does.
template <class T>
bool eigh(T* a, int n, bool lower, bool vectors, Real<T>* values) {
  const LibraryUse use;
  use_one_blas_thread();
  if (n == 0) return true;
  if (!all_finite(a, area(n, n))) return false;
  const char triangle = lower ? 'L' : 'U', job = vectors ? 'V' : 'N';
  const lapack_int size = n, integers = vectors ? 3 + 5 * size : 1, reals = vectors ? 1 + 5 * size + 2 * size * size : size;
  const Scratch<lapack_int> counts(integers);
  const Scratch<Real<T>> real_work(is_complex<T> ? reals : 1);
  const Scratch<T> by_columns(static_cast<std::int64_t>(area(n, n)));
  transpose(a, n, n, by_columns.get());
  const auto routine = [&](T* work, lapack_int length) {
    const bool asks = length < 0;
    if constexpr (is_complex<T>)
      return Routines<T>::syevd_work(LAPACK_COL_MAJOR, job, triangle, n, by_columns.get(), n, values, work, length, real_work.get(),
                                     asks ? -1 : reals, counts.get(), asks ? -1 : integers);
    else
      return Routines<T>::syevd_work(LAPACK_COL_MAJOR, job, triangle, n, by_columns.get(), n, values, work, length, counts.get(),
                                     asks ? -1 : integers);
  };
  const lapack_int length = work_length<T>({n, triangle, job}, [&](T* first) { return routine(first, -1); });
  const Scratch<T> work(length);
  if (!succeeded(routine(work.get(), length))) return false;
  if (vectors) transpose(by_columns.get(), n, n, a);
  return true;
}

/// LAPACK's decomposition of the column-major m x n matrix a.
template <class T>
bool svd_by_columns(T* a, int m, int n, char job, Real<T>* s, T* u, T* vh, int rows_of_vh) {
  const auto less = static_cast<std::int64_t>(std::min(m, n)), more = static_cast<std::int64_t>(std::max(m, n));
  const Scratch<lapack_int> counts(8 * less);
  // Enough for every job of the complex routine.
  const Scratch<Real<T>> real_work(is_complex<T> ? less * std::max(5 * less + 7, 2 * more + 2 * less + 1) : 1);
  const auto routine = [&](T* work, lapack_int length) {
    if constexpr (is_complex<T>)
      return Routines<T>::gesdd_work(LAPACK_COL_MAJOR, job, m, n, a, m, s, u, m, vh, rows_of_vh, work, length, real_work.get(),
                                     counts.get());
    else
      return Routines<T>::gesdd_work(LAPACK_COL_MAJOR, job, m, n, a, m, s, u, m, vh, rows_of_vh, work, length, counts.get());
  };
  const lapack_int length = work_length<T>({m, n, job}, [&](T* first) { return routine(first, -1); });
  const Scratch<T> work(length);
  return succeeded(routine(work.get(), length));
}

// A matrix with fewer rows than columns is seen as a^T = conj(vh)^H s u^T: LAPACK gives u^T's rows where it thinks of vh, and so u is in
// memory. Others are given by columns: LAPACK first factors what it sees as wide by reflections of its rows, whose elements are strided,
// and of square ones the vectors get the signs that they have in JAX.
template <class T>
bool svd(T* a, int m, int n, bool vectors, bool full, Real<T>* s, T* u, T* vh) {
  const LibraryUse use;
  use_one_blas_thread();
  if (m == 0 || n == 0) return true;
  if (!all_finite(a, area(m, n))) return false;
  const int less = std::min(m, n), columns = full ? m : less;
  const char job = !vectors ? 'N' : full ? 'A' : 'S';
  if (m < n) return svd_by_columns(a, n, m, job, s, vh, u, columns);
  const Scratch<T> by_columns(static_cast<std::int64_t>(area(m, n))), left(static_cast<std::int64_t>(vectors ? area(m, columns) : 1));
  transpose(a, m, n, by_columns.get());
  if (!svd_by_columns(by_columns.get(), m, n, job, s, left.get(), vh, n)) return false;
  if (!vectors) return true;
  transpose(left.get(), columns, m, u);
  transpose(vh, n, n, by_columns.get());
  std::copy_n(by_columns.get(), area(n, n), vh);
  return true;
}

template <class T>
bool qr(const T* a, int m, int n, int columns, T* q, T* r) {
  if (m == 0) return true;  // nothing is to be written, and the routines complain on stdout of matrices without rows
  const LibraryUse use;
  use_one_blas_thread();
  const int k = std::min(m, n);
  std::vector<T> factors(area(m, q ? std::max(n, columns) : n)), taus(static_cast<std::size_t>(std::max(k, 1)));
  transpose(a, m, n, factors.data());
  const auto factor = [&](T* work, lapack_int length) {
    return Routines<T>::geqrf_work(LAPACK_COL_MAJOR, m, n, factors.data(), m, taus.data(), work, length);
  };
  const auto form = [&](T* work, lapack_int length) {
    return Routines<T>::orgqr_work(LAPACK_COL_MAJOR, m, columns, k, factors.data(), m, taus.data(), work, length);
  };
  const lapack_int length = work_length<T>({m, n, q ? columns : -1}, [&](T* first) {
    if (const lapack_int failed = factor(first, -1); failed != 0 || !q) return failed;
    const T of_factor = *first;
    const lapack_int failed = form(first, -1);
    if (std::real(of_factor) > std::real(*first)) *first = of_factor;
    return failed;
  });
  const Scratch<T> work(length);
  if (k > 0 && !succeeded(factor(work.get(), length))) return false;
  const int numbers = reflect_with_nan(factors.data(), m, n);
  for (int i = 0; i < columns; ++i)
    for (int j = 0; j < n; ++j)
      r[area(i, n) + static_cast<std::size_t>(j)] = i <= j ? factors[area(j, m) + static_cast<std::size_t>(i)] : T(0);
  if (!q) return true;
  const T last = numbers < k ? factors[area(numbers, m) + static_cast<std::size_t>(numbers)] : T(0);
  if (columns > 0 && !succeeded(form(work.get(), length))) return false;
  if (numbers < k) std::fill(factors.begin() + static_cast<std::ptrdiff_t>(area(numbers, m)), factors.end(), last);
  transpose(factors.data(), columns, m, q);
  return true;
}

template bool cholesky(float*, int);
template bool lu(float*, int, int, std::int32_t*);
template void triangular_solve(const float*, float*, int, int, TriangularForm);
template bool eigh(float*, int, bool, bool, Real<float>*);
template bool svd(float*, int, int, bool, bool, Real<float>*, float*, float*);
template bool qr(const float*, int, int, int, float*, float*);
template bool cholesky(double*, int);
template bool lu(double*, int, int, std::int32_t*);
template void triangular_solve(const double*, double*, int, int, TriangularForm);
template bool eigh(double*, int, bool, bool, Real<double>*);
template bool svd(double*, int, int, bool, bool, Real<double>*, double*, double*);
template bool qr(const double*, int, int, int, double*, double*);
template bool cholesky(std::complex<float>*, int);
template bool lu(std::complex<float>*, int, int, std::int32_t*);
template void triangular_solve(const std::complex<float>*, std::complex<float>*, int, int, TriangularForm);
template bool eigh(std::complex<float>*, int, bool, bool, Real<std::complex<float>>*);
template bool svd(std::complex<float>*, int, int, bool, bool, Real<std::complex<float>>*, std::complex<float>*, std::complex<float>*);
template bool qr(const std::complex<float>*, int, int, int, std::complex<float>*, std::complex<float>*);
template bool cholesky(std::complex<double>*, int);
template bool lu(std::complex<double>*, int, int, std::int32_t*);
template void triangular_solve(const std::complex<double>*, std::complex<double>*, int, int, TriangularForm);
template bool eigh(std::complex<double>*, int, bool, bool, Real<std::complex<double>>*);
template bool svd(std::complex<double>*, int, int, bool, bool, Real<std::complex<double>>*, std::complex<double>*, std::complex<double>*);
template bool qr(const std::complex<double>*, int, int, int, std::complex<double>*, std::complex<double>*);

}  // namespace weft::detail::lapack
