// Matrices of a certain form (jax.scipy.linalg): Toeplitz, Hankel and companion matrices, Hilbert's and Pascal's, and blocks on a diagonal.
#pragma once
#include <optional>
#include <string>

#include "weft/core/array/array.h"

namespace weft::linalg {

/// Matrices, vectors as rows and scalars, one after the other on the diagonal, zeros elsewhere.
Array block_diag(Args xs, SourceLoc loc = SourceLoc::here());
Array block_diag(const Array& x, const Array& y, const std::same_as<Array> auto&... more) { return block_diag({x, y, more...}); }
// The last dimension of an operand is the vector; those before are batch dimensions.
/// The matrix with constant diagonals: c is its first column, r its first row, whose first element is not read; absent: conj(c).
Array toeplitz(Arg c);
Array toeplitz(Arg c, Arg r);
/// The matrix with constant antidiagonals: c is its first column, r its last row, whose first element is not read; absent: zeros.
Array hankel(Arg c);
Array hankel(Arg c, Arg r);
/// The matrix whose columns are c, moved on by one place each.
Array circulant(Arg c);
/// The matrix whose product with a vector of n elements is its convolution with a, by mode "full", "same" or "valid".
Array convolution_matrix(Arg a, Int n, TextArg mode = "full");
// The arguments of these are vectors, without batch dimensions.
/// The companion matrix of the polynomial with the coefficients a, the highest power first.
Array companion(Arg a);
/// Leslie's matrix of a population: birth rates f in the first row, survival rates s, one fewer, below the diagonal.
Array leslie(Arg f, Arg s);
/// The matrix of |a[i] - a[j]|.
Array fiedler(Arg a);

/// The matrix of the discrete Fourier transform of n points, complex64; scale "sqrtn" or "n" divides it.
Array dft(Int n, const std::string& scale = {}, SourceLoc loc = SourceLoc::here());
/// The n x n matrix of 1 / (i + j + 1).
Array hilbert(Int n, DType dtype = float32, SourceLoc loc = SourceLoc::here());
/// The n x n matrix of +1 and -1 with orthogonal rows; n is a power of 2.
Array hadamard(Int n, DType dtype = int32, SourceLoc loc = SourceLoc::here());
/// Helmert's matrix of n - 1 orthonormal rows, each orthogonal to ones; `full`: with the row 1 / sqrt(n) in front (jax.scipy.linalg).
Array helmert(Int n, bool full = false, DType dtype = float32, SourceLoc loc = SourceLoc::here());
/// Pascal's triangle as an n x n matrix: "symmetric", "lower" or "upper".
Array pascal(Int n, const std::string& kind = "symmetric", DType dtype = float32, SourceLoc loc = SourceLoc::here());

}  // namespace weft::linalg
