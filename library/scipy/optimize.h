// Minima of functions (jax.scipy.optimize).
#pragma once
#include <optional>
#include <string>

#include "weft/core/array/array.h"
#include "weft/library/jnp/array_function.h"

namespace weft::optimize {

/// Options of minimize.
struct MinimizeOptions {
  std::string method = "BFGS";      ///< the only one
  std::optional<double> tol = {};   ///< takes the place of gtol where it is given
  double gtol = 1e-5;               ///< the greatest modulus of the gradient's elements at the end
  std::optional<Int> maxiter = {};  ///< the most steps; absent: 200 times the number of variables
  Int line_search_maxiter = 30;     ///< how often a line search evaluates the function at most
};
/// Result of minimize.
struct OptimizeResult {
  Array x;         ///< where the function is least
  Array success;   ///< whether the gradient is small enough there
  Array status;    ///< 0: it is; 1: after maxiter steps it isn't; 2: a line search failed, as where rounding hides what is gained
  Array fun;       ///< the function's value at x
  Array jac;       ///< its gradient
  Array hess_inv;  ///< an approximation to the inverse of its second derivative, of shape (n, n) for n variables
  Array nfev;      ///< how often the function and its gradient were evaluated
  Array nit;       ///< the number of steps
};
/// A local minimum of a function from an array to a scalar, from x0 on, by the method of Broyden, Fletcher, Goldfarb and Shanno with line
/// searches for the strong Wolfe conditions (J. Nocedal, S. Wright, Numerical Optimization, 2006, algorithms 6.1, 3.5 and 3.6). It can be
/// compiled, mapped and differentiated forwards. Throws Error for another method, DTypeError for complex variables.
OptimizeResult minimize(ArrayFunction f, Arg x0, MinimizeOptions options = {});

}  // namespace weft::optimize
