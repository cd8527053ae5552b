// Arguments that NumPy's programs give by name to functions of jax.numpy.linalg, and that few programs need.
#pragma once
#include <optional>
#include <string>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"
#include "weft/core/array/optional_shape.h"
#include "weft/library/linalg/linalg.h"
#include "weft/library/scipy/factorizations.h"

namespace weft::linalg {
struct CholeskyArguments;
struct SvdArguments;
struct PinvArguments;
}  // namespace weft::linalg
namespace weft::detail {
Array cholesky_of(const Arg& a, const linalg::CholeskyArguments& options);
linalg::Svd svd_of(const Arg& a, const linalg::SvdArguments& options);
Array pinv_of(const Arg& a, const linalg::PinvArguments& options);
}  // namespace weft::detail

namespace weft::linalg {

/// Options of eigh and eigvalsh.
struct EighOptions {
  detail::NamedFields named = detail::NamedFields();
  std::string UPLO = "L";        ///< without symmetrize_input: the triangle that is read, "L" the lower or "U" the upper one
  bool symmetrize_input = true;  ///< of (a + a^H) / 2; else of the matrix whose triangle a has
};
/// Eigenvalues and eigenvectors of the matrix of which a holds a triangle: `eigh(a, {.UPLO = "U", .symmetrize_input = false})`. Throws
/// Error for another UPLO.
Eigh eigh(Arg a, EighOptions options);
Array eigvalsh(Arg a, EighOptions options);
/// Options of cholesky with those of CholeskyOptions.
struct CholeskyArguments {
  bool upper = false;            ///< as of CholeskyOptions
  bool symmetrize_input = true;  ///< of (a + a^H) / 2; else only the lower triangle of a is read
};
/// The Cholesky factor of the matrix of which a holds the lower triangle: `cholesky(a, {.symmetrize_input = false})`.
Array cholesky(Arg a, CholeskyArguments options, weft::detail::Nothing auto...) { return weft::detail::cholesky_of(a, options); }
/// Options of svd with those of SvdOptions.
struct SvdArguments {
  bool full_matrices = true;  ///< as of SvdOptions
  bool compute_uv = true;     ///< as of SvdOptions
  bool hermitian = false;     ///< of (a + a^H) / 2, whose singular values are the moduli of its eigenvalues
};
/// svd of a Hermitian matrix: `svd(a, {.hermitian = true})`.
Svd svd(Arg a, SvdArguments options, weft::detail::Nothing auto...) { return weft::detail::svd_of(a, options); }
/// Options of pinv with those of PinvOptions.
struct PinvArguments {
  std::optional<double> rtol = {};   ///< as of PinvOptions
  bool hermitian = false;            ///< of (a + a^H) / 2
  std::optional<double> rcond = {};  ///< rtol, by its older name
};
/// pinv of a Hermitian matrix: `pinv(a, {.hermitian = true})`. Throws Error for rtol beside rcond.
Array pinv(Arg a, PinvArguments options, weft::detail::Nothing auto...) { return weft::detail::pinv_of(a, options); }
/// Options of matrix_rank.
struct RankOptions {
  detail::NamedFields named = detail::NamedFields();
  bool hermitian = false;          ///< of (a + a^H) / 2
  std::optional<double> tol = {};  ///< singular values up to this count as 0; absent: max(m, n) epsilon times the largest
};
/// The number of singular values above a limit: `matrix_rank(a, {.tol = 1e-3})`.
Array matrix_rank(Arg a, RankOptions options);
/// The condition number in a norm: p is an order of norm, 2 or none the quotient of the largest and the smallest singular value, -2 its
/// inverse; others are norm(a, p) norm(inv(a), p) of a square matrix, infinite for a singular one. Throws ShapeError for what is not
/// square.
Array cond(Arg a, NormOrder p);
/// Options of slogdet.
struct SlogdetOptions {
  std::string method = "lu";  ///< "lu" or "qr", with the same result
};
/// slogdet by a method. Throws Error for others than "lu" and "qr".
Slogdet slogdet(Arg a, SlogdetOptions options);
/// Options of tensorsolve.
struct TensorsolveOptions {
  Axis axes = none;  ///< of a, which are moved behind the others first; none: no axes
};
/// tensorsolve with axes of a moved to the end: `tensorsolve(a, b, {.axes = {0, 2}})`.
Array tensorsolve(Arg a, Arg b, TensorsolveOptions options);

}  // namespace weft::linalg
