// The solvers of solvers.h and optimize.h for trees: linear functions from trees to trees, and minima over trees.
#pragma once
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/core/base/ref.h"
#include "weft/core/trees/tree.h"
#include "weft/library/scipy/optimize.h"
#include "weft/library/scipy/solvers.h"

namespace weft {

namespace detail {
/// Throws ShapeError or DTypeError unless what the function returned has the types of the right-hand side's leaves.
void check_solver_leaves(const char* solver, const std::vector<Array>& result, const std::vector<Array>& b, SourceLoc loc);
/// A leaf of the right-hand side or of where a search begins: a number with a fractional part.
Array solver_leaf(const Array& x, SourceLoc loc);

/// A function from a tree to a tree of its type, kept by value.
template <class T>
class TreeFunction {
 public:
  template <class F>
    requires(!std::is_same_v<F, TreeFunction> && std::is_invocable_v<F&, const T&>)
  TreeFunction(F f) : function_(make_ref<Kept<F>>(std::move(f))) {}
  T operator()(const T& x) const { return function_->call(x); }

 private:
  struct Function : RefCounted {
    virtual T call(const T& x) const = 0;
  };
  template <class F>
  struct Kept final : Function {
    explicit Kept(F f) : function(std::move(f)) {}
    T call(const T& x) const override {
      static_assert(std::is_same_v<traced_t<decltype(function(x))>, T>, "weft: a linear function returns the type of its argument");
      return to_traced(function(x));
    }
    mutable F function;
  };
  KeptRef<const Function> function_;
};
template <class T>
concept SolverTree = !std::is_convertible_v<const T&, Arg>;
}  // namespace detail

namespace linalg {

/// Options of cg and bicgstab of trees.
template <class T>
struct TreeSolveOptions {
  std::optional<T> x0 = {};                       ///< where to begin, a tree like b; absent: zeros
  double tol = 1e-5, atol = 0;                    ///< as of IterativeOptions, of all leaves together
  std::optional<Int> maxiter = {};                ///< as of IterativeOptions
  std::optional<detail::TreeFunction<T>> M = {};  ///< the preconditioner, a function of trees; absent: none
};
/// Options of gmres of trees.
template <class T>
struct TreeGmresOptions {
  std::optional<T> x0 = {};                       ///< as of TreeSolveOptions
  double tol = 1e-5, atol = 0;                    ///< as of TreeSolveOptions
  Int restart = 20;                               ///< as of GmresOptions
  std::optional<Int> maxiter = {};                ///< as of GmresOptions
  std::optional<detail::TreeFunction<T>> M = {};  ///< as of TreeSolveOptions
};

}  // namespace linalg

namespace detail {
/// The tree x with a(x) = b: `solve` gets the function and b as ones of vectors, and options with x0 and M.
template <class Options, class T, class TreeOptions, class Solve>
T solve_tree(const char* name, const TreeFunction<T>& a, const T& given, const TreeOptions& options, SourceLoc loc, Solve solve) {
  const T b = map_leaves(given, [&](const Array& x) { return solver_leaf(x, loc); });
  const auto [flat, unravel] = tree::ravel(b, loc);
  const std::vector<Array> leaves = leaves_of(b);
  const auto of_vectors = [&](const TreeFunction<T>& f) {
    return linalg::LinearOperator([&, f](const Array& v) {
      const T y = f(unravel(v, loc));
      check_same_structure(name, y, "the function's result", b, "b", loc);
      check_solver_leaves(name, leaves_of(y), leaves, loc);
      return Array(tree::ravel(y, loc).first.astype(v.dtype()));
    });
  };
  Options flat_options;
  flat_options.tol = options.tol;
  flat_options.atol = options.atol;
  flat_options.maxiter = options.maxiter;
  if (options.M) flat_options.M = of_vectors(*options.M);
  if (options.x0) {
    check_same_structure(name, *options.x0, "x0", b, "b", loc);
    check_solver_leaves(name, leaves_of(*options.x0), leaves, loc);
    flat_options.x0 = tree::ravel(*options.x0, loc).first;
  }
  if constexpr (requires { flat_options.restart; }) flat_options.restart = options.restart;
  return unravel(solve(of_vectors(a), Arg(flat, loc), flat_options), loc);
}
}  // namespace detail

namespace linalg {

/// cg for a tree b and a function of such trees, symmetric and positive definite (jax.scipy.sparse.linalg.cg).
template <class F, class B>
  requires detail::SolverTree<B>
detail::traced_t<B> cg(F a, const B& b, TreeSolveOptions<detail::traced_t<B>> options = {}, SourceLoc loc = SourceLoc::here()) {
  using T = detail::traced_t<B>;
  return detail::solve_tree<IterativeOptions, T>("cg", std::move(a), detail::to_traced(b), options, loc,
                                                 [](LinearOperator f, Arg v, const IterativeOptions& o) { return cg(std::move(f), v, o); });
}
/// bicgstab for a tree b and a function of such trees.
template <class F, class B>
  requires detail::SolverTree<B>
detail::traced_t<B> bicgstab(F a, const B& b, TreeSolveOptions<detail::traced_t<B>> options = {}, SourceLoc loc = SourceLoc::here()) {
  using T = detail::traced_t<B>;
  return detail::solve_tree<IterativeOptions, T>(
      "bicgstab", std::move(a), detail::to_traced(b), options, loc,
      [](LinearOperator f, Arg v, const IterativeOptions& o) { return bicgstab(std::move(f), v, o); });
}
/// gmres for a tree b and a function of such trees.
template <class F, class B>
  requires detail::SolverTree<B>
detail::traced_t<B> gmres(F a, const B& b, TreeGmresOptions<detail::traced_t<B>> options = {}, SourceLoc loc = SourceLoc::here()) {
  using T = detail::traced_t<B>;
  return detail::solve_tree<GmresOptions, T>("gmres", std::move(a), detail::to_traced(b), options, loc,
                                             [](LinearOperator f, Arg v, const GmresOptions& o) { return gmres(std::move(f), v, o); });
}

}  // namespace linalg

namespace optimize {

/// Result of minimize of a tree.
template <class T>
struct TreeOptimizeResult {
  T x;             ///< where the function is least
  Array success;   ///< as of OptimizeResult
  Array status;    ///< as of OptimizeResult
  Array fun;       ///< as of OptimizeResult
  T jac;           ///< the function's gradient there
  Array hess_inv;  ///< as of OptimizeResult, of all elements in order
  Array nfev;      ///< as of OptimizeResult
  Array nit;       ///< as of OptimizeResult
};
/// minimize for a function of a tree.
template <class F, class X>
  requires detail::SolverTree<X>
TreeOptimizeResult<detail::traced_t<X>> minimize(F f, const X& x0, MinimizeOptions options = {}, SourceLoc loc = SourceLoc::here()) {
  using T = detail::traced_t<X>;
  static_assert(std::is_invocable_r_v<Array, F&, const T&>, "weft: minimize's function takes a tree like x0 and returns a scalar Array");
  const T start = detail::map_leaves(detail::to_traced(x0), [&](const Array& x) { return detail::solver_leaf(x, loc); });
  const auto [flat, unravel] = tree::ravel(start, loc);
  OptimizeResult r =
      minimize([&f, &unravel, loc](const Array& v) { return Array(f(unravel(v, loc))); }, Arg(flat, loc), std::move(options));
  return {unravel(r.x, loc), r.success, r.status, r.fun, unravel(r.jac, loc), r.hess_inv, r.nfev, r.nit};
}

}  // namespace optimize
}  // namespace weft
