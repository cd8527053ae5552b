// The decompositions of core/base/lapack.h that JAX programs use and for which weft has no primitive, by LAPACK, on one thread for each
// call.
#include "weft/core/base/lapack.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "weft/backends/cpu/factors/lapack_routines.h"
#include "weft/backends/cpu/openblas.h"
#include "weft/runtime/host/process_end.h"

namespace weft::detail::lapack {
namespace {

std::size_t area(int m, int n) { return static_cast<std::size_t>(m) * static_cast<std::size_t>(n); }

/// LAPACK's iterations may not terminate on infinite elements.
template <class T>
bool all_finite(const T* a, std::size_t count) {
  return std::all_of(a, a + count, [](const T& v) { return std::isfinite(std::abs(v)); });
}

/// Eigenvectors of a real matrix: LAPACK gives those of a pair of complex eigenvalues as their real and their imaginary parts.
template <class R>
void unpack(const std::vector<R>& packed, int n, const R* imaginary, std::complex<R>* vectors) {
  for (int j = 0; j < n; ++j) {
    const bool pair = imaginary[j] != 0 && j + 1 < n;
    for (int i = 0; i < n; ++i) {
      const std::size_t at = area(i, n) + static_cast<std::size_t>(j);
      vectors[at] = {packed[at], pair ? packed[at + 1] : R(0)};
      if (pair) vectors[at + 1] = std::conj(vectors[at]);
    }
    if (pair) ++j;
  }
}

}  // namespace

template <class T>
bool eig(T* a, int n, Complex<T>* values, Complex<T>* left, Complex<T>* right) {
  const LibraryUse use;
  use_one_blas_thread();
  if (n == 0) return true;
  if (!all_finite(a, area(n, n))) return false;
  const char want_left = left ? 'V' : 'N', want_right = right ? 'V' : 'N';
  if constexpr (is_complex<T>) {
    return Routines<T>::geev(LAPACK_ROW_MAJOR, want_left, want_right, n, a, n, values, left, n, right, n) == 0;
  } else {
    std::vector<T> re(static_cast<std::size_t>(n)), im(static_cast<std::size_t>(n)), l(left ? area(n, n) : 0), r(right ? area(n, n) : 0);
    if (Routines<T>::geev(LAPACK_ROW_MAJOR, want_left, want_right, n, a, n, re.data(), im.data(), l.data(), n, r.data(), n) != 0)
      return false;
    for (std::size_t i = 0; i < re.size(); ++i) values[i] = {re[i], im[i]};
    if (left) unpack(l, n, im.data(), left);
    if (right) unpack(r, n, im.data(), right);
    return true;
  }
}

template <class T>
bool schur(T* a, int n, Complex<T>* values, T* q) {
  const LibraryUse use;
  use_one_blas_thread();
  if (n == 0) return true;
  if (!all_finite(a, area(n, n))) return false;
  lapack_int sorted = 0;
  const char want = q ? 'V' : 'N';
  if constexpr (is_complex<T>) {
    return Routines<T>::gees(LAPACK_ROW_MAJOR, want, 'N', nullptr, n, a, n, &sorted, values, q, n) == 0;
  } else {
    std::vector<T> re(static_cast<std::size_t>(n)), im(static_cast<std::size_t>(n));
    if (Routines<T>::gees(LAPACK_ROW_MAJOR, want, 'N', nullptr, n, a, n, &sorted, re.data(), im.data(), q, n) != 0) return false;
    for (std::size_t i = 0; i < re.size(); ++i) values[i] = {re[i], im[i]};
    return true;
  }
}

template <class T>
bool hessenberg(T* a, int n, T* taus) {
  const LibraryUse use;
  use_one_blas_thread();
  if (n == 0) return true;
  return Routines<T>::gehrd(LAPACK_ROW_MAJOR, n, 1, n, a, n, taus) == 0;
}

template <class T>
bool tridiagonal(T* a, int n, bool lower, Real<T>* diagonal, Real<T>* off_diagonal, T* taus) {
  const LibraryUse use;
  use_one_blas_thread();
  if (n == 0) return true;
  return Routines<T>::trd(LAPACK_ROW_MAJOR, lower ? 'L' : 'U', n, a, n, diagonal, off_diagonal, taus) == 0;
}

template <class T>
bool pivoted_qr(T* a, int m, int n, std::int32_t* columns, T* taus) {
  const LibraryUse use;
  use_one_blas_thread();
  if (n == 0) return true;
  if (m == 0) {
    for (int j = 0; j < n; ++j) columns[j] = j + 1;
    return true;
  }
  std::vector<lapack_int> order(columns, columns + n);
  if (Routines<T>::geqp3(LAPACK_ROW_MAJOR, m, n, a, n, order.data(), taus) != 0) return false;
  std::transform(order.begin(), order.end(), columns, [](lapack_int c) { return static_cast<std::int32_t>(c); });
  return true;
}

#define WEFT_DECOMPOSITIONS(T)                                       \
  template bool eig(T*, int, Complex<T>*, Complex<T>*, Complex<T>*); \
  template bool schur(T*, int, Complex<T>*, T*);                     \
  template bool hessenberg(T*, int, T*);                             \
  template bool tridiagonal(T*, int, bool, Real<T>*, Real<T>*, T*);  \
  template bool pivoted_qr(T*, int, int, std::int32_t*, T*);
WEFT_DECOMPOSITIONS(float)
WEFT_DECOMPOSITIONS(double)
WEFT_DECOMPOSITIONS(std::complex<float>)
WEFT_DECOMPOSITIONS(std::complex<double>)
#undef WEFT_DECOMPOSITIONS

}  // namespace weft::detail::lapack
