// Linear algebra that throws where an algorithm fails.
#pragma once
#include "weft/library/linalg/linalg.h"

namespace weft {

/// Functions like those of linalg that throw Error, instead of returning NaN or infinities, if the algorithm fails. The message names the
/// matrix and the reason. In a compiled program it is thrown when the program runs; under vmap it names the lane.
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
