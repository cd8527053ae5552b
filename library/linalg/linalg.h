// The user's linear algebra.
#pragma once
#include <concepts>
#include <optional>
#include <string>

#include "weft/core/array/array.h"
#include "weft/core/array/axis.h"

namespace weft {

/// Linear algebra, with the meaning of jax.numpy.linalg. The last two dimensions of an operand are a matrix, those before are batch
/// dimensions. Operands are float32, float64 or complex (integers are converted). Where an algorithm fails (a singular or an indefinite
/// matrix) the results are infinite or NaN; nothing is thrown. A matrix that is not square where it must be is a ShapeError. Everything has
/// derivatives and can be mapped unless said otherwise.
namespace linalg {

struct CholeskyOptions {
  bool upper = false;  ///< the factor is U with U^H U = a
};
/// The lower triangular L with L L^H = (a + a^H) / 2; NaN if that is not positive definite.
Array cholesky(Arg a, CholeskyOptions options);
inline Array cholesky(Arg a) { return cholesky(std::move(a), {}); }
struct ChoFactor {
  Array c;             ///< the factor
  bool lower = false;  ///< c c^H = a, else c^H c = a
};
/// A Cholesky factor for cho_solve (jax.scipy.linalg.cho_factor): an upper one, or a lower one. Only that triangle of a is read.
ChoFactor cho_factor(Arg a, bool lower = false);
/// The x with a x = b, for the factor of a; b as solve has it. `cho_solve({c, true}, b)` takes a lower factor from elsewhere.
Array cho_solve(const ChoFactor& factor, Arg b);

struct Qr {
  Array q, r;
};
struct QrOptions {
  bool full_matrices = false;  ///< q is square; it is then differentiable only if a has no more rows than columns
  std::string mode = {};       ///< NumPy's name for it: "reduced" or "complete"; "r" gives r alone, and a q that holds nothing
};
/// q with orthonormal columns and an upper triangular r with q r = a.
Qr qr(Arg a, QrOptions options = {});
Qr qr(Arg a, std::convertible_to<std::string> auto mode) { return qr(std::move(a), QrOptions{.mode = mode}); }

struct Lu {
  Array p, l, u;
};
/// p l u = a: a permutation matrix, a lower triangle with unit diagonal, an upper triangle (jax.scipy.linalg.lu).
Lu lu(Arg a);

struct Eigh {
  Array eigenvalues, eigenvectors;
};
/// Ascending eigenvalues and orthonormal eigenvectors, one a column, of (a + a^H) / 2. Derivatives need eigenvalues that differ.
Eigh eigh(Arg a);
/// The eigenvalues alone.
Array eigvalsh(Arg a);

struct Eig {
  Array eigenvalues, eigenvectors;
};
/// The eigenvalues of any square matrix, in no order, and eigenvectors of norm 1, one a column; both complex, and computed on the host.
/// They have no derivatives: those of the eigenvalues are eigvals'.
Eig eig(Arg a);
/// The eigenvalues alone, complex. Derivatives need eigenvalues that differ.
Array eigvals(Arg a);

struct Svd {
  Array u, s, vh;
};
struct SvdOptions {
  bool full_matrices = true;  ///< u and vh are square; then they have a derivative only where a is
  bool compute_uv = true;     ///< else u and vh hold nothing
};
/// u diag(s) vh = a with orthonormal columns of u and rows of vh; s descends. Derivatives of u and vh need values that differ.
Svd svd(Arg a, SvdOptions options = {});
Svd svd(Arg a, std::same_as<bool> auto full_matrices, bool compute_uv = true) { return svd(std::move(a), {full_matrices, compute_uv}); }
/// The singular values alone.
Array svdvals(Arg a);

/// The x with a x = b; b is a vector, or a matrix (or several) with a right-hand side in each column. Its derivatives use the same factors.
Array solve(Arg a, Arg b);
/// Options of solve.
struct SolveOptions {
  bool lower = false;            ///< of "pos": which triangle of a is read
  std::string assume_a = "gen";  ///< what a is: "gen", "sym" or "her" any matrix, "pos" positive definite, and solved by Cholesky
};
Array solve(Arg a, Arg b, SolveOptions options);
struct TriangularOptions {
  bool left_side = true;       ///< op(a) x = b; else x op(a) = b
  bool lower = false;          ///< the triangle of a that is read; the other one is ignored
  bool transpose_a = false;    ///< op(a) is the transpose
  bool unit_diagonal = false;  ///< a's diagonal is taken as ones
  bool conjugate_a = false;    ///< op(a) is conjugated
};
/// The solution of a system with a triangular matrix, by substitution (jax.lax.linalg.triangular_solve, but from the left by default).
Array triangular_solve(Arg a, Arg b, TriangularOptions options = {});
/// The inverse.
Array inv(Arg a);
/// The determinant. Its gradient is right for matrices of rank n - 1 too, if their first n - 1 columns are independent.
Array det(Arg a);
struct Slogdet {
  Array sign, logabsdet;
};
/// The determinant's sign (for complex matrices its phase) and the logarithm of its modulus; 0 and -inf for a singular matrix.
Slogdet slogdet(Arg a);

struct PinvOptions {
  std::optional<double> rtol = {};  ///< singular values up to rtol times the largest count as 0; absent: 10 max(m, n) epsilon
};
/// The pseudo-inverse of Moore and Penrose.
Array pinv(Arg a, PinvOptions options);
inline Array pinv(Arg a) { return pinv(std::move(a), {}); }
/// The number of singular values above max(m, n) epsilon times the largest.
Array matrix_rank(Arg a);
/// The quotient of the largest and the smallest singular value.
Array cond(Arg a);
struct Lstsq {
  Array x, residuals, rank, s;
};
/// The x of least norm among those with least |a x - b|, for one matrix; with the squared residual of each column of b. Singular values
/// below rcond times the largest count as zero; by default rcond is max(m, n) epsilon.
Lstsq lstsq(Arg a, Arg b, std::optional<double> rcond = {});

/// The matrix exponential, by Pade approximants, scaling and squaring (Higham 2005); NaN if more than 16 squarings are needed.
Array expm(Arg a);
/// a to an integer power; a negative n takes powers of the inverse.
Array matrix_power(Arg a, Int n);
/// The product of several matrices, in the order that takes the fewest multiplications; the first and the last may be vectors.
Array multi_dot(Args xs);
/// The elements on the main diagonal of the last two dimensions.
Array diagonal(Arg a);
/// Their sum.
Array trace(Arg a);

/// The order of a norm: a number p (also infinity), "fro" (Frobenius) or "nuc" (nuclear); none: the root of the sum of squared moduli.
class NormOrder {
 public:
  NormOrder(detail::NoneValue auto) {}
  NormOrder(ScalarType auto p) : p_(static_cast<double>(p)) {}
  NormOrder(const char* name) : name_(name) {}
  /// The number, if it is one.
  const std::optional<double>& p() const { return p_; }
  /// "fro", "nuc", or null.
  const char* name() const { return name_; }

 private:
  std::optional<double> p_;
  const char* name_ = nullptr;
};
struct NormOptions {
  detail::NamedFields named = detail::NamedFields();
  NormOrder ord = none;   ///< the norm; absent: the 2-norm
  Axis axis = none;       ///< one: of the vectors along it; two: of the matrices; none: of all elements
  bool keepdims = false;  ///< the axes stay, with size 1
};
/// The norm of all elements (none), of the vectors along one axis, or of the matrices of two. An order for none needs one or two
/// dimensions. The parameters are in NumPy's order, `norm(a, ord, axis, keepdims)`, or named: `norm(a, {.axis = 1})`.
Array norm(Arg a, NormOrder ord, Axis axis = none, bool keepdims = false);
inline Array norm(Arg a) { return norm(std::move(a), none); }
Array norm(Arg a, NormOptions options);
Array norm(Arg a, NormOrder ord, NormOptions options);

}  // namespace linalg
}  // namespace weft
