#include "weft/library/scipy/optimize.h"

#include <fmt/format.h>

#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/contractions.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/transforms/autodiff/grad.h"
#include "weft/transforms/control/control_flow.h"

namespace weft::optimize {

using detail::LocScope;

namespace {

constexpr double enough_decrease = 1e-4, enough_curvature = 0.9;

/// The function along a line: at a step from where the search begins.
struct Point {
  Array step, value, derivative;
};
struct Search {
  Array zooming, done, evaluations;
  Point low;       ///< before zooming the point before, then the best one
  Point high;      ///< the interval's other end
  Array trial;     ///< where the function is evaluated next
  Point found;     ///< the point that fulfils the conditions
  Array gradient;  ///< there
};
struct Evaluated {
  Point at;
  Array gradient;
};

Point choose(const Array& condition, const Point& a, const Point& b) {
  return {where(condition, a.step, b.step), where(condition, a.value, b.value), where(condition, a.derivative, b.derivative)};
}
/// The minimizer of the cubic that interpolates the values and derivatives of two points; the midpoint if it is NaN or near an end.
Array between(const Point& a, const Point& b) {
  const Array width = b.step - a.step, d1 = a.derivative + b.derivative - 3 * (b.value - a.value) / width;
  const Array d2 = sign(width) * sqrt(maximum(d1 * d1 - a.derivative * b.derivative, 0));
  const Array t = 1 - (b.derivative + d2 - d1) / (b.derivative - a.derivative + 2 * d2);
  return a.step + width * where((t > 0.1) & (t < 0.9), t, 0.5);
}

/// A step along the line that fulfils the strong Wolfe conditions; `evaluate` gives the function there.
template <class F>
Search search_line(const Point& start, const Array& gradient, const Array& first, std::int64_t limit, F evaluate, SourceLoc loc) {
  const Array no = zeros({}, bool_);
  const Search begin{no, no, zeros({}, int32), start, start, first, start, gradient};
  return while_loop([&](const Search& s) { return ~s.done & (s.evaluations < limit); },
                    [&](const Search& s) {
                      const Evaluated e = evaluate(s.trial);
                      const Point& p = e.at;
                      // Not `>`: so that a NaN counts as too large.
                      const Array decreases = p.value <= start.value + enough_decrease * p.step * start.derivative;
                      const Array is_first = s.evaluations == 0;
                      const Array worse = ~decreases | ((p.value >= s.low.value) & (s.zooming | ~is_first));
                      const Array good = ~worse & (abs(p.derivative) <= -enough_curvature * start.derivative);
                      // Before zooming: an interval is found, or the next point lies twice as far.
                      const Array encloses = worse | (p.derivative >= 0);
                      const Array beyond = p.derivative * (s.high.step - s.low.step) >= 0;
                      const Point low = choose(worse, s.low, p);
                      const Point high = choose(worse, p, choose(s.zooming, choose(beyond, s.low, s.high), s.low));
                      const Array zooming = s.zooming | encloses;
                      // The best point so far is the result where no better one is found.
                      const Array better = ~worse & (good | (p.value < s.found.value) | is_first);
                      return Search{zooming,
                                    good,
                                    s.evaluations + 1,
                                    low,
                                    high,
                                    where(zooming, between(low, high), 2 * p.step),
                                    choose(better, p, s.found),
                                    where(better, e.gradient, s.gradient)};
                    },
                    begin, {}, loc);
}

struct State {
  Array x, value, gradient, inverse, value_before, evaluations, step, failed;
};

}  // namespace

OptimizeResult minimize(ArrayFunction f, Arg x0, MinimizeOptions options) {
  LocScope scope(x0.where());
  const SourceLoc loc = detail::effective_loc(x0.where());
  if (options.method != "BFGS" && options.method != "bfgs")
    throw Error(fmt::format("minimize: unknown method `{}`; available: BFGS", options.method), loc);
  const Array start = detail::to_inexact(x0);
  if (start.dtype().is_complex())
    throw DTypeError(fmt::format("minimize: {} is complex; take the real and imaginary parts as variables", detail::to_string(x0.aval())),
                     loc);
  const double gtol = options.tol.value_or(options.gtol);
  const Shape shape = start.shape();
  const std::int64_t n = start.size(), limit = options.maxiter ? std::int64_t{*options.maxiter} : 200 * n;
  const std::int64_t search_limit = options.line_search_maxiter;
  const auto both = [&](const Array& x) {
    const auto scalar = [&](const Array& v) {
      const Array y = f(reshape(v, shape));
      if (y.ndim() != 0)
        throw ShapeError(
            fmt::format("minimize: the function's result is {}; it must be a scalar: reduce it (sum, mean)", detail::to_string(y.aval())),
            loc);
      if (!y.dtype().is_floating())
        throw DTypeError(fmt::format("minimize: the function's result is {}; it must be real and floating-point: convert it",
                                     detail::to_string(y.aval())),
                         loc);
      return y;
    };
    const auto [value, gradient] = value_and_grad(scalar)(x, loc);
    return std::pair<Array, Array>{convert(value, x.dtype()), gradient};
  };
  const auto converged = [&](const State& s) { return max(abs(s.gradient), none, {.initial = Array(0)}) < gtol; };
  const Array flat = reshape(start, {n}), one = eye(n, n, 0, start.dtype());
  const auto [value, gradient] = both(flat);
  const Array norm = sqrt(sum(gradient * gradient));
  const State end =
      while_loop([&](const State& s) { return ~converged(s) & ~s.failed & (s.step < limit); },
                 [&](const State& s) {
                   const Array direction = -matmul(s.inverse, s.gradient), derivative = dot(s.gradient, direction);
                   const Point here{zeros({}, s.x.dtype()), s.value, derivative};
                   // As far as the step before gained, if the function is quadratic; 1 in the end.
                   const Array guess = 1.01 * 2 * (s.value - s.value_before) / derivative;
                   const Array first = where((guess > 0) & (guess < 1), guess, 1);
                   const Search found = search_line(
                       here, s.gradient, first, search_limit,
                       [&](const Array& t) {
                         const auto [v, g] = both(s.x + t * direction);
                         return Evaluated{{t, v, dot(g, direction)}, g};
                       },
                       loc);
                   const Array moved = found.found.step * direction, gradient_change = found.gradient - s.gradient;
                   const Array curvature = dot(gradient_change, moved), usable = curvature > 0, rho = 1 / where(usable, curvature, 1);
                   const Array w = one - rho * outer(moved, gradient_change);
                   const Array inverse = matmul(matmul(w, s.inverse), transpose(w)) + rho * outer(moved, moved);
                   return State{s.x + moved,    found.found.value,
                                found.gradient, where(usable, inverse, s.inverse),
                                s.value,        s.evaluations + found.evaluations,
                                s.step + 1,     ~found.done & ~(found.found.value < s.value)};
                 },
                 State{flat, value, gradient, one, value + norm / 2, ones({}, int32), zeros({}, int32), zeros({}, bool_)}, {}, loc);
  const Array good = converged(end);
  return {reshape(end.x, shape), good,    where(good, 0, where(end.failed, 2, 1)), end.value, reshape(end.gradient, shape), end.inverse,
          end.evaluations,       end.step};
}

}  // namespace weft::optimize
