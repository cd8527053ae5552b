// Dense factorizations of large matrices in blocks, by the threads of the process's pool: what is between the blocks' own factorizations,
// which LAPACK does, are matmuls and triangular solves of independent rows or columns. Blocks and their order follow from the sizes, so
// that results have the same bits for every number of threads. Golub, Van Loan, "Matrix Computations", 4th edition
// (2013), 3.2.11, 4.2.9, 5.2.3.
#pragma once
#include <cstdint>

#include "weft/core/base/lapack.h"

namespace weft::detail::lapack {

/// Whether a matrix of this size is large enough for blocked factorization.
bool is_for_blocks(int m, int n);

/// As lapack::cholesky.
template <class T>
bool blocked_cholesky(T* a, int n);
/// `a` is column-major, m x n with m elements a column, and pivots count rows from 1; else as lapack::lu. False if LAPACK failed.
template <class T>
bool blocked_lu(T* a, int m, int n, std::int32_t* pivots);
/// As lapack::triangular_solve.
template <class T>
void parallel_triangular_solve(const T* a, T* b, int m, int n, TriangularForm form);

}  // namespace weft::detail::lapack
