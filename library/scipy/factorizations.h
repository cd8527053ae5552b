// Factorisations and equations of jax.scipy.linalg: LU factors to be used again, Schur and Hessenberg forms, square roots, Sylvester's
// equation, tridiagonal systems; norms and tensor equations of jax.numpy.linalg.
#pragma once
#include <optional>
#include <string>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/library/linalg/linalg.h"

namespace weft::linalg {

/// An LU factorisation, for lu_solve.
struct LuFactor {
  Array lu;           ///< both factors in one matrix; the unit diagonal of the lower one is left out
  Array piv;          ///< the row that each row was interchanged with, int32
  Array permutation;  ///< the same as an order of rows: row i of the product is row permutation[i] of the matrix
};
/// The factors of a square matrix with interchanged rows.
LuFactor lu_factor(Arg a);
/// Options of lu_solve and solve_triangular.
struct TransOptions {
  Int trans = 0;               ///< 0: the matrix itself, 1: its transpose, 2: its conjugated transpose
  bool lower = false;          ///< solve_triangular: which triangle is read
  bool unit_diagonal = false;  ///< solve_triangular: the diagonal is taken as ones
};
/// The x with a x = b, for the factors of a; b is a vector or a matrix.
Array lu_solve(const LuFactor& factor, Arg b, TransOptions options = {});
/// The x with a x = b for a triangular matrix (jax.scipy.linalg.solve_triangular); triangular_solve has more options.
Array solve_triangular(Arg a, Arg b, TransOptions options = {});

struct Schur {
  Array t, z;
};
/// z t z^H = a with a unitary z and an upper triangular t, by the host's LAPACK; with output "real" and a real matrix a real t, which has
/// blocks of 2 x 2 for pairs of complex eigenvalues. It has no derivatives, as in JAX.
Schur schur(Arg a, TextArg output = "real");
struct Hessenberg {
  Array h, q;
};
/// q h q^H = a with a unitary q and an h that is zero below its first subdiagonal. It has no derivatives.
Hessenberg hessenberg(Arg a);
/// The principal square root, complex: x x = a. The derivative is that of the equation.
Array sqrtm(Arg a);
struct Polar {
  Array u, p;
};
/// a = u p, of side "left" a = p u: a factor with orthonormal columns (rows) and a positive semidefinite one. Derivatives need singular
/// values that differ.
Polar polar(Arg a, TextArg side = "right");
/// The x with a x + x b = c.
Array solve_sylvester(Arg a, Arg b, Arg c);
/// The derivative of expm at a in the direction e.
Array expm_frechet(Arg a, Arg e);

/// The x of tridiagonal systems (jax.lax.linalg.tridiagonal_solve), by elimination with interchanged rows: dl, d and du are the diagonals,
/// of m elements each, of which the first one of dl and the last one of du are not read; b is (..., m, n).
Array tridiagonal_solve(Arg dl, Arg d, Arg du, Arg b);
/// Eigenvalues and eigenvectors of the symmetric matrix with the diagonal d, and e, shorter by one, beside it.
Eigh eigh_tridiagonal(Arg d, Arg e);

/// Options of vector_norm.
struct VectorNormOptions {
  Axis axis = none;       ///< the vectors' axes; none: all elements are one vector
  bool keepdims = false;  ///< the axes stay, with size 1
  NormOrder ord = 2;      ///< as of norm
};
/// The norm of vectors (jnp.linalg.vector_norm).
Array vector_norm(Arg x, VectorNormOptions options = {});
/// Options of matrix_norm.
struct MatrixNormOptions {
  bool keepdims = false;  ///< the axes stay, with size 1
  NormOrder ord = "fro";  ///< as of norm
};
/// The norm of the matrices in the last two axes.
Array matrix_norm(Arg x, MatrixNormOptions options = {});
/// The x whose product with a over all of x's dimensions, the last ones of a, is b.
Array tensorsolve(Arg a, Arg b);
/// The inverse of a as a linear map from its last dimensions to its first `ind` ones.
Array tensorinv(Arg a, Int ind = 2);

}  // namespace weft::linalg
