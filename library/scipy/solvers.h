// Iterative solvers of linear systems, for matrices that are given as functions (jax.scipy.sparse.linalg).
#pragma once
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/core/array/array.h"
#include "weft/library/jnp/array_function.h"

namespace weft::linalg {

/// A square matrix, or a linear function that takes and returns arrays of one shape.
class LinearOperator {
 public:
  LinearOperator(const Array& matrix, SourceLoc loc = SourceLoc::here());
  template <class F>
    requires(!std::is_convertible_v<F, Array> && std::is_invocable_r_v<Array, F&, const Array&>)
  LinearOperator(F f) : function_(std::move(f)) {}
  Array operator()(const Array& x) const { return function_(x); }
  /// The dtype of the matrix, if it is one.
  std::optional<DType> dtype() const { return dtype_; }

 private:
  ArrayFunction function_;
  std::optional<DType> dtype_;
};

/// Options of cg, bicgstab and gmres.
struct IterativeOptions {
  std::optional<Array> x0 = {};          ///< where to begin, of b's shape; absent: zeros
  double tol = 1e-5, atol = 0;           ///< the residual's norm at the end: at most max(tol * norm(b), atol)
  std::optional<Int> maxiter = {};       ///< the most steps, of gmres the most restarts; absent: 10 times b's size
  std::optional<LinearOperator> M = {};  ///< the preconditioner, which approximates the inverse of a; absent: none
};
// They stop at maxiter without saying so: where that matters, look at norm(b - a(x)). Derivatives are those of the equation, by another
// such solve. Throws ShapeError or DTypeError where a(x) has another shape or dtype than x.

/// The x with a(x) = b, for a symmetric (Hermitian) and positive definite a, by conjugate gradients.
Array cg(LinearOperator a, Arg b, IterativeOptions options = {});
/// The same for any a, by stabilised biconjugate gradients (H. van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992).
Array bicgstab(LinearOperator a, Arg b, IterativeOptions options = {});
/// Options of gmres.
struct GmresOptions {
  std::optional<Array> x0 = {};          ///< as of IterativeOptions
  double tol = 1e-5, atol = 0;           ///< as of IterativeOptions
  Int restart = 20;                      ///< the size of the Krylov space, at most b's
  std::optional<Int> maxiter = {};       ///< the most restarts; absent: 10 times b's size
  std::optional<LinearOperator> M = {};  ///< as of IterativeOptions
};
/// The same for any a, by generalised minimal residuals with restarts (Y. Saad, M. Schultz, SIAM J. Sci. Stat. Comput. 7, 1986).
Array gmres(LinearOperator a, Arg b, GmresOptions options = {});

}  // namespace weft::linalg
