// What core needs of a numerical library: dense factorisations, as plain functions. Defined in backends/cpu/lapack.cpp, bound at link time.
#pragma once
#include <complex>
#include <cstdint>
#include <type_traits>

namespace weft::detail::lapack {

template <class T>
struct RealPart {
  using type = T;
};
template <class T>
struct RealPart<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealPart<T>::type;

// T is float, double or a complex number of one of them. All matrices are row-major and contiguous, and hold finite numbers or not; where a
// function gives a bool it is false if the algorithm failed, and then the results mean nothing.

/// The lower triangle of a (n x n, Hermitian, read below the diagonal) becomes its Cholesky factor; what is above may be
/// overwritten. False if a is not positive definite.
template <class T>
bool cholesky(T* a, int n);

/// a (m x n) becomes its factors: L below the diagonal, its unit diagonal left out, and U above. `pivots[i]`: the row, from 0, that row i
/// was interchanged with; there are min(m, n).
template <class T>
bool lu(T* a, int m, int n, std::int32_t* pivots);

struct TriangularForm {
  bool left_side = true, lower = false, transpose = false, unit_diagonal = false;
};
/// b (m x n) becomes the solution x of op(a) x = b, or of x op(a) = b; op(a) is a or its transpose. Only a's triangle is read.
template <class T>
void triangular_solve(const T* a, T* b, int m, int n, TriangularForm form);

/// a (n x n, Hermitian, read in the lower or upper triangle) becomes its eigenvectors, one a column, or is destroyed where they are not
/// wanted; the values are ascending.
template <class T>
bool eigh(T* a, int n, bool lower, bool vectors, Real<T>* values);

/// The singular values of a (m x n, destroyed), descending. Without vectors, u and vh are not touched; else u has min(m, n) columns and vh
/// as many rows, or m and n if `full`.
template <class T>
bool svd(T* a, int m, int n, bool vectors, bool full, Real<T>* s, T* u, T* vh);

/// Of a (m x n): q is m x columns, columns = min(m, n) or m, and r is columns x n, upper triangular. Null for q: not wanted.
template <class T>
bool qr(const T* a, int m, int n, int columns, T* q, T* r);

// The same for each of `count` matrices, one behind the other, whose results are NaN where an algorithm fails. What comes of a matrix does
// not depend on the others. Vectors, q, u and vh may be null.

/// `good[k]`: whether matrix k is positive definite.
template <class T>
void cholesky_of_each(T* a, std::int64_t count, int n, std::uint8_t* good);
template <class T>
void lu_of_each(T* a, std::int64_t count, int m, int n, std::int32_t* pivots);
/// `conjugate`: op(a) is conjugated too.
template <class T>
void triangular_solve_of_each(const T* a, T* b, std::int64_t count, int m, int n, TriangularForm form, bool conjugate);
template <class T>
void eigh_of_each(const T* a, std::int64_t count, int n, bool lower, Real<T>* values, T* vectors);
template <class T>
void svd_of_each(const T* a, std::int64_t count, int m, int n, bool full, Real<T>* s, T* u, T* vh);
template <class T>
void qr_of_each(const T* a, std::int64_t count, int m, int n, int columns, T* q, T* r);

template <class T>
using Complex = std::complex<Real<T>>;

/// The eigenvalues of a (n x n, destroyed) in no order, and its left and right eigenvectors of norm 1, one a column; null: not wanted.
template <class T>
bool eig(T* a, int n, Complex<T>* values, Complex<T>* left, Complex<T>* right);

/// a (n x n) becomes its Schur form t, of which a real one has blocks of 2 x 2 for pairs of complex eigenvalues; a = q t q^H. Null for q:
/// not wanted.
template <class T>
bool schur(T* a, int n, Complex<T>* values, T* q);

/// a (n x n) becomes its Hessenberg form, with the reflections' vectors below the first subdiagonal; `taus` are their n - 1 factors.
template <class T>
bool hessenberg(T* a, int n, T* taus);

/// a (n x n, Hermitian, read in the lower or upper triangle) becomes tridiagonal, with the reflections' vectors beyond the off-diagonal;
/// `diagonal` has n elements, `off_diagonal` and `taus` n - 1.
template <class T>
bool tridiagonal(T* a, int n, bool lower, Real<T>* diagonal, Real<T>* off_diagonal, T* taus);

/// a (m x n) becomes r and, below the diagonal, the reflections' vectors of its factorisation with columns interchanged so that those of
/// largest norm come first; `columns`: 0 for one that may move and not 0 for one that goes to the front, becomes where each came from,
/// counted from 1. `taus`: min(m, n) factors.
template <class T>
bool pivoted_qr(T* a, int m, int n, std::int32_t* columns, T* taus);

}  // namespace weft::detail::lapack
