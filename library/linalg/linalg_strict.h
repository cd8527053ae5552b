#pragma once
#include "weft/library/linalg/linalg.h"

namespace weft {

/// The functions of linalg of the same names, but where the algorithm fails they throw Error instead of giving NaN or infinities. The
/// message says what is wrong with which matrix. In a compiled program it is thrown when the program runs; under vmap it names the lane.
namespace linalg::strict {

/// Throws if the matrix is not positive definite.
Array cholesky(Arg a, CholeskyOptions options = {});
/// Throws if the matrix is singular.
Array solve(Arg a, Arg b);
/// Throws if the matrix is singular.
Array inv(Arg a);
/// Throws if the eigenvalues of the matrix, which must be finite, are not found.
Eigh eigh(Arg a);
/// Throws if the singular values of the matrix, which must be finite, are not found.
Svd svd(Arg a, SvdOptions options = {});

}  // namespace linalg::strict
}  // namespace weft
