// Rarer functions of jax.scipy.linalg: inverses of Hilbert's and Pascal's matrices, Fiedler's companion matrix, functions of matrices,
// complex Schur forms of real ones, products with an orthogonal factor.
#pragma once
#include <string>
#include <utility>

#include "weft/core/array/array.h"
#include "weft/core/array/array_functions.h"
#include "weft/library/linalg/linalg.h"
#include "weft/library/numpy/numpy.h"
#include "weft/library/scipy/factorizations.h"

namespace weft::detail {
/// The function of a matrix from its complex Schur form and the function's values at the diagonal.
Array from_triangle(const linalg::Schur& form, const Array& values);
}  // namespace weft::detail

namespace weft::linalg {

/// The inverse of hilbert(n), whose elements are integers.
Array invhilbert(Int n, DType dtype = float32, SourceLoc loc = SourceLoc::here());
/// The inverse of pascal(n, kind), whose elements are integers.
Array invpascal(Int n, const std::string& kind = "symmetric", DType dtype = float32, SourceLoc loc = SourceLoc::here());
/// A matrix with five diagonals whose eigenvalues are the roots of the polynomial with the coefficients a, the highest power first: for a
/// of n + 1 elements n x n. Throws ShapeError unless a is a vector with elements.
Array fiedler_companion(Arg a);

/// The complex, upper triangular Schur form of a matrix z t z^H whose t has blocks of 2 x 2 on its diagonal, as schur's of a real matrix.
/// Throws ShapeError unless both are square matrices of one size.
Schur rsf2csf(Arg t, Arg z);
/// f of a square matrix: of its eigenvalues, complex, by the recurrence of B. Parlett; f is called with a vector of complex numbers.
/// NaN where an eigenvalue has fewer eigenvectors than its multiplicity. It has no derivatives, as schur.
template <class F = UnaryFunction>
Array funm(Arg a, F f) {
  const Schur form = schur(std::move(a), "complex");
  return weft::detail::from_triangle(form, Array(f(weft::diag(form.t))));
}

/// Result of qr_multiply.
struct QrProduct {
  Array product;  ///< c q, or q c
  Array r;        ///< the upper triangular factor
};
/// c q and r for the factors of a = q r, by mode "left" q c; c is a matrix, or a vector for one row (column). Throws Error for another
/// mode, ShapeError where c doesn't fit.
QrProduct qr_multiply(Arg a, Arg c, TextArg mode = "right");

}  // namespace weft::linalg
