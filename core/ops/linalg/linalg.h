// Factorisations of matrices. The last two dimensions are the matrix, the ones before count matrices. Dtypes: floats and complex numbers of
// 32 or 64 bits a part. Where an algorithm fails the results are NaN. The user's functions are in library/linalg/linalg.h.
#pragma once
#include <vector>

#include "weft/core/ir/primitive.h"

namespace weft::detail {

struct TriangularSolveParams {
  bool conjugate_a = false;
  bool left_side = false;  ///< op(a) x = b; else x op(a) = b
  bool lower = false;
  bool transpose_a = false;
  bool unit_diagonal = false;
  friend bool operator==(const TriangularSolveParams&, const TriangularSolveParams&) = default;
};
struct EighParams {
  bool lower = true;         ///< the triangle that is read
  bool only_values = false;  ///< the eigenvalues are the only result
  friend bool operator==(const EighParams&, const EighParams&) = default;
};
struct SvdParams {
  bool compute_uv = true;
  bool full_matrices = true;
  friend bool operator==(const SvdParams&, const SvdParams&) = default;
};
struct QrParams {
  bool full_matrices = true;
  bool only_r = false;  ///< r is the only result
  friend bool operator==(const QrParams&, const QrParams&) = default;
};

// The primitives.
const Primitive& cholesky_primitive();
const Primitive& lu_primitive();
const Primitive& triangular_solve_primitive();
const Primitive& eigh_primitive();
const Primitive& svd_primitive();
const Primitive& qr_primitive();

/// The lower factor of a Hermitian matrix, read below the diagonal; zeros above.
Array cholesky_factor(const Array& a, SourceLoc loc);
struct LuFactors {
  Array lu;           ///< both factors in one matrix, L's unit diagonal left out
  Array pivots;       ///< int32: the row that each row was interchanged with
  Array permutation;  ///< int32: row i of L U is row permutation[i] of a
};
LuFactors lu_factors(const Array& a, SourceLoc loc);
/// b has as many leading dimensions as a, of the same sizes.
Array solve_triangular(const Array& a, const Array& b, TriangularSolveParams params, SourceLoc loc);
struct Eigen {
  Array vectors, values;
};
Eigen eigh_of(const Array& a, SourceLoc loc);
/// (s), or (s, u, vh).
std::vector<Array> svd_of(const Array& a, SvdParams params, SourceLoc loc);
/// (q, r).
std::vector<Array> qr_of(const Array& a, QrParams params, SourceLoc loc);

// Functions of matrices that rules are written with.

Array transposed(const Array& x);
/// Conjugated and transposed.
Array adjoint(const Array& x);
Array conjugate(const Array& x);
/// The n x n identity in x's dtype.
Array identity_like(const Array& x, std::int64_t n);
/// The main diagonal.
Array diagonal_of(const Array& x, SourceLoc loc);
/// The sum of the diagonal.
Array trace_of(const Array& x, SourceLoc loc);
/// Row i of the result is row permutation[i] of x.
Array permute_rows(const Array& x, const Array& permutation, SourceLoc loc);

}  // namespace weft::detail
