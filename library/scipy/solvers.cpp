#include "weft/library/scipy/solvers.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "weft/core/array/constructors.h"
#include "weft/core/array/indexing.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/linalg/linalg.h"
#include "weft/library/linalg/linalg_operands.h"
#include "weft/transforms/autodiff/linear_solve.h"
#include "weft/transforms/control/control_flow.h"

namespace weft::linalg {

using detail::LocScope;
using detail::to_string;

namespace {

using Function = std::function<Array(const Array&)>;

/// The real part of the inner product.
Array real_dot(const Array& x, const Array& y) {
  if (!x.dtype().is_complex()) return sum(x * y);
  return sum(real(x) * real(y) + imag(x) * imag(y));
}
Array inner_product(const Array& x, const Array& y) { return x.dtype().is_complex() ? sum(conj(x) * y) : sum(x * y); }
Array like(const Array& number, const Array& x) { return convert(number, x.dtype()); }
/// x as long as the norm is more than a limit, scaled to norm 1, and the norm; else zeros and 0.
std::pair<Array, Array> normalized(const Array& x, const Array& limit) {
  const Array norm = sqrt(real_dot(x, x)), used = norm > limit;
  return {where(used, x / like(where(used, norm, 1), x), 0), where(used, norm, 0)};
}

/// What is solved, and how far.
struct Problem {
  Array b;
  Function preconditioner;
  bool has_preconditioner = false;
  Array start;
  double tol, atol;
  std::int64_t maxiter;
  SourceLoc loc;

  /// The squared norm at which a solution for a right-hand side is good.
  Array squared_limit(const Array& rhs) const { return maximum(tol * tol * real_dot(rhs, rhs), atol * atol); }
};
template <class Options>
Problem problem_of(const char* name, const LinearOperator& a, const Arg& b, const Options& options) {
  Problem p{detail::to_inexact(b), {}, false, {}, options.tol, options.atol, 0, b.where()};
  if (a.dtype()) p.b = convert(p.b, promote_types(p.b.dtype(), *a.dtype()));
  if (options.M && options.M->dtype()) p.b = convert(p.b, promote_types(p.b.dtype(), *options.M->dtype()));
  p.maxiter = options.maxiter ? std::int64_t{*options.maxiter} : 10 * p.b.size();
  p.has_preconditioner = options.M.has_value();
  p.preconditioner = p.has_preconditioner ? Function(*options.M) : Function([](const Array& x) { return x; });
  if (options.x0 && options.x0->shape() != p.b.shape())
    throw ShapeError(fmt::format("{}: x0 is {}; it must have the shape of the right-hand side {}", name, to_string(options.x0->aval()),
                                 to_string(p.b.aval())),
                     detail::effective_loc(b.where()));
  p.start = options.x0 ? convert(Arg(*options.x0, b.where()), p.b.dtype()) : zeros_like(p.b);
  return p;
}

/// The system solved by `iterate(function, right-hand side)`, with the derivatives of the equation.
template <class Iterate>
Array solved(const LinearOperator& a, const Problem& p, bool symmetric, Iterate iterate) {
  if (p.b.size() == 0) return p.b;
  const auto solve = [iterate](const auto& f, const Array& rhs) {
    return iterate(Function([&f](const Array& x) { return Array(f(x)); }), rhs);
  };
  const auto matvec = [a](const Array& x) { return a(x); };
  if (symmetric) return custom_linear_solve(matvec, p.b, solve, {.symmetric = true}, p.loc);
  return custom_linear_solve(matvec, p.b, solve, solve, p.loc);
}

Array conjugate_gradients(const Problem& p, const Function& a, const Array& b) {
  struct State {
    Array x, r, gamma, direction, step;
  };
  const Array limit = p.squared_limit(b), r = b - a(p.start), z = p.preconditioner(r);
  return while_loop(
             [&](const State& s) {
               const Array size = p.has_preconditioner ? real_dot(s.r, s.r) : s.gamma;
               return (size > limit) & (s.step < p.maxiter);
             },
             [&](const State& s) {
               const Array image = a(s.direction), alpha = like(s.gamma / real_dot(s.direction, image), b);
               const Array x = s.x + alpha * s.direction, rest = s.r - alpha * image, next = p.preconditioner(rest);
               const Array gamma = real_dot(rest, next);
               return State{x, rest, gamma, next + like(gamma / s.gamma, b) * s.direction, s.step + 1};
             },
             State{p.start, r, real_dot(r, z), z, zeros({}, int32)}, {}, p.loc)
      .x;
}

Array stabilised_gradients(const Problem& p, const Function& a, const Array& b) {
  struct State {
    Array x, r, alpha, omega, rho, direction, image, step;
  };
  const Array limit = p.squared_limit(b), r0 = b - a(p.start), one = ones({}, b.dtype());
  // A negative number of steps says that the recurrence broke down.
  return while_loop([&](const State& s) { return (real_dot(s.r, s.r) > limit) & (s.step < p.maxiter) & (s.step >= 0); },
                    [&](const State& s) {
                      const Array rho = inner_product(r0, s.r), beta = rho / s.rho * s.alpha / s.omega;
                      const Array direction = s.r + beta * (s.direction - s.omega * s.image), good = p.preconditioner(direction);
                      const Array image = a(good), alpha = rho / inner_product(r0, image), half = s.r - alpha * image;
                      const Array early = real_dot(half, half) < limit, better = p.preconditioner(half), t = a(better);
                      const Array omega = inner_product(t, half) / inner_product(t, t), x = s.x + alpha * good;
                      const Array broken = (omega == 0) | (alpha == 0) | (rho == 0);
                      return State{
                          where(early, x, x + omega * better),   where(early, half, half - omega * t), alpha, omega, rho, direction, image,
                          where(broken & ~early, -1, s.step + 1)};
                    },
                    State{p.start, r0, one, one, one, r0, r0, zeros({}, int32)}, {}, p.loc)
      .x;
}

/// One cycle: the x that is best in the Krylov space of the preconditioned residual. All vectors are flat.
Array best_in_krylov_space(const Problem& p, const Function& a, const Array& x, const Array& direction, const Array& norm,
                           std::int64_t size) {
  struct State {
    Array basis;  ///< a row for each vector
    Array h;      ///< column k: the coordinates of the image of vector k
    Array broke, k;
  };
  const double epsilon = detail::epsilon_of(direction.dtype());
  const Array first = zeros({size + 1, direction.size()}, direction.dtype()).at(0).set(ravel(direction));
  // Columns that are not reached are those of the identity: their coordinates become 0.
  const State s =
      while_loop([&](const State& v) { return (v.k < size) & ~v.broke; },
                 [&](const State& v) {
                   Array w = ravel(p.preconditioner(a(reshape(v.basis(v.k), x.shape()))));
                   const Array before = sqrt(real_dot(w, w));
                   Array column = zeros({size + 1}, w.dtype());
                   for (int pass = 0; pass < 2; ++pass) {  // once more, for what rounding left
                     const Array parts = matmul(conj(v.basis), w);
                     w = w - matmul(parts, v.basis);
                     column = column + parts;
                   }
                   const auto [unit, rest] = normalized(w, epsilon * before);
                   const Array next = v.k + 1;
                   return State{v.basis.at(next).set(unit), v.h.at(slice(), v.k).set(column.at(next).set(like(rest, w))), rest == 0, next};
                 },
                 State{first, eye(size + 1, size, 0, direction.dtype()), zeros({}, bool_), zeros({}, int32)}, {}, p.loc);
  const Qr f = qr(s.h);
  const Array y = triangular_solve(f.r, conj(f.q(0)) * like(norm, x));
  return x + reshape(matmul(y, s.basis(slice(0, size))), x.shape());
}
Array minimal_residuals(const Problem& p, const Function& a, const Array& b, std::int64_t size) {
  struct State {
    Array x, direction, norm, step;
  };
  const double epsilon = detail::epsilon_of(b.dtype());
  const auto residual = [&](const Array& x) { return normalized(p.preconditioner(b - a(x)), Array(epsilon)); };
  const Array limit = sqrt(p.squared_limit(b));
  const auto [direction, norm] = residual(p.start);
  return while_loop([&](const State& s) { return (s.norm > limit) & (s.step < p.maxiter); },
                    [&](const State& s) {
                      const Array x = best_in_krylov_space(p, a, s.x, s.direction, s.norm, size);
                      const auto [next, left] = residual(x);
                      return State{x, next, left, s.step + 1};
                    },
                    State{p.start, direction, norm, zeros({}, int32)}, {}, p.loc)
      .x;
}

}  // namespace

LinearOperator::LinearOperator(const Array& matrix, SourceLoc loc) : function_([](const Array& x) { return x; }) {
  const Array m = detail::square_matrix_operand(Arg(matrix, loc), "linear system");
  if (m.ndim() != 2)
    throw ShapeError(fmt::format("linear system: {} must be one square matrix; map the solver over several", to_string(matrix.aval())),
                     detail::effective_loc(loc));
  dtype_ = m.dtype();
  function_ = ArrayFunction([m](const Array& x) {
    const std::int64_t n = m.shape()[0];
    if (x.ndim() == 0 || x.shape()[0] != n)
      throw ShapeError(fmt::format("linear system: the matrix is {}, the right-hand side {}; it must have {} rows", to_string(m.aval()),
                                   to_string(x.aval()), n),
                       detail::effective_loc({}));
    return matmul(m, x);
  });
}

Array cg(LinearOperator a, Arg b, IterativeOptions options) {
  LocScope scope(b.where());
  const Problem p = problem_of("cg", a, b, options);
  return solved(a, p, !p.b.dtype().is_complex(), [p](const Function& f, const Array& rhs) { return conjugate_gradients(p, f, rhs); });
}
Array bicgstab(LinearOperator a, Arg b, IterativeOptions options) {
  LocScope scope(b.where());
  const Problem p = problem_of("bicgstab", a, b, options);
  return solved(a, p, false, [p](const Function& f, const Array& rhs) { return stabilised_gradients(p, f, rhs); });
}
Array gmres(LinearOperator a, Arg b, GmresOptions options) {
  LocScope scope(b.where());
  const Problem p = problem_of("gmres", a, b, options);
  const std::int64_t size = std::min<std::int64_t>(options.restart, p.b.size());
  if (size < 1 && p.b.size() > 0)
    throw Error(fmt::format("gmres: restart is {}; it must be 1 at least", size), detail::effective_loc(b.where()));
  return solved(a, p, false, [p, size](const Function& f, const Array& rhs) { return minimal_residuals(p, f, rhs, size); });
}

}  // namespace weft::linalg
