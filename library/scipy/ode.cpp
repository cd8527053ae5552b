#include "weft/library/scipy/ode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

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
#include "weft/library/linalg/linalg_operands.h"
#include "weft/transforms/autodiff/custom.h"
#include "weft/transforms/control/control_flow.h"

namespace weft::detail {

namespace {

constexpr std::size_t stages = 7;
constexpr double c[stages] = {0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1};
constexpr double a[stages][stages - 1] = {{},
                                          {1. / 5},
                                          {3. / 40, 9. / 40},
                                          {44. / 45, -56. / 15, 32. / 9},
                                          {19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
                                          {9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
                                          {35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84}};
/// The difference of the results of order 5 and 4.
constexpr double error_weights[stages] = {71. / 57600, 0, -71. / 16695, 71. / 1920, -17253. / 339200, 22. / 525, -1. / 40};
/// The weights of the interpolant's term of fourth order (program DOPRI5).
constexpr double dense_weights[stages] = {-12715105075. / 11282082432,  0,
                                          87487479700. / 32700410799,   -10690763975. / 1880347072,
                                          701980252875. / 199316789632, -1453857185. / 822651844,
                                          69997945. / 29380423};

/// Where the solver is: after a step from t - h to t, whose interpolant has the coefficients r.
struct State {
  Array y, f, t;
  Array next;  ///< the length of the next step
  Array h;
  std::array<Array, 5> r;
  Array step;  ///< since the last time that was asked for
};

Array root_mean_square(const Array& x) { return sqrt(mean(square(abs(x)))); }

template <std::size_t N>
Array weighted(const std::array<Array, stages>& k, const double (&weights)[N], std::size_t count) {
  Array sum = weights[0] * k[0];
  for (std::size_t i = 1; i < count; ++i)
    if (weights[i] != 0) sum = sum + weights[i] * k[i];
  return sum;
}

struct Solver {
  OdeFunction f;
  double rtol, atol;
  std::int64_t limit;
  double longest;
  SourceLoc loc;

  Array constant(const Array& x) const { return stop_gradient(x, loc); }

  /// Hairer, Norsett and Wanner, page 169.
  Array first_step(const Array& y, const Array& f0, const Array& t) const {
    const Array scale = atol + rtol * abs(y), d0 = root_mean_square(y / scale), d1 = root_mean_square(f0 / scale);
    const Array known = (d0 >= 1e-5) & (d1 >= 1e-5), h0 = where(known, 0.01 * d0 / where(known, d1, 1), 1e-6);
    const Array d2 = root_mean_square((f(y + h0 * f0, t + h0) - f0) / scale) / h0, most = maximum(d1, d2), small = most <= 1e-15;
    const Array h1 = where(small, maximum(h0 * 1e-3, 1e-6), pow(0.01 / where(small, 1, most), 1. / 5));
    return minimum(minimum(100 * h0, h1), longest);
  }

  State stepped(const State& s) const {
    const Array h = s.next;
    std::array<Array, stages> k;
    k[0] = s.f;
    Array y = s.y;
    for (std::size_t i = 1; i < stages; ++i) {
      y = s.y + h * weighted(k, a[i], i);
      k[i] = f(y, s.t + c[i] * h);
    }
    const Array scale = atol + rtol * maximum(abs(s.y), abs(y));
    const Array ratio = constant(root_mean_square(h * weighted(k, error_weights, stages) / scale));
    // Not `>`: a NaN is no success.
    const Array good = ratio <= 1;
    const Array factor = minimum(10, maximum(0.9 * pow(where(ratio > 0, ratio, 1e-10), -0.2), where(good, 1, 0.2)));
    const Array length = where(isnan(ratio), 0.2 * h, minimum(h * factor, longest));
    const Array change = y - s.y, third = h * k[0] - change;
    const auto chosen = [&](const Array& now, const Array& before) { return where(good, now, before); };
    return {chosen(y, s.y),
            chosen(k[stages - 1], s.f),
            chosen(s.t + h, s.t),
            constant(length),
            chosen(h, s.h),
            {chosen(s.y, s.r[0]), chosen(change, s.r[1]), chosen(third, s.r[2]), chosen(change - h * k[stages - 1] - third, s.r[3]),
             chosen(h * weighted(k, dense_weights, stages), s.r[4])},
            s.step + 1};
  }
};

Array interpolated(const State& s, const Array& t) {
  const Array u = (t - (s.t - s.h)) / s.h, v = 1 - u;
  return s.r[0] + u * (s.r[1] + v * (s.r[2] + u * (s.r[3] + v * s.r[4])));
}

}  // namespace

Array ode_leaf(const Array& x, SourceLoc loc) { return to_inexact(Arg(x, loc)); }

Array ode_derivative(const std::vector<Array>& derivative, const std::vector<Array>& state, const DType& dtype, SourceLoc loc) {
  std::vector<Array> flat;
  for (std::size_t i = 0; i < state.size(); ++i) {
    const Array& d = derivative[i];
    const std::string which = state.size() == 1 ? "" : fmt::format(", in leaf {} of {}", i, state.size());
    if (d.shape() != state[i].shape())
      throw ShapeError(fmt::format("odeint: f(y, t) is {}{}; it must have the shape of the state, {}", to_string(d.aval()), which,
                                   to_string(state[i].aval())),
                       effective_loc(loc));
    if (d.dtype().is_complex() && !state[i].dtype().is_complex())
      throw DTypeError(fmt::format("odeint: f(y, t) is {}{}, and the state {}; begin with a complex state", to_string(d.aval()), which,
                                   to_string(state[i].aval())),
                       effective_loc(loc));
    flat.push_back(convert(Arg(ravel(d), loc), dtype));
  }
  return flat.size() == 1 ? flat[0] : flat.empty() ? zeros({0}, dtype) : concatenate(flat, 0);
}

std::vector<Array> ode_results(const Array& flat, const std::vector<Array>& leaves) {
  std::vector<Array> out;
  std::int64_t begin = 0;
  for (const Array& leaf : leaves) {
    const Array part = flat(slice(), slice(begin, begin + leaf.size()));
    out.push_back(convert(reshape(part, leaf.shape().inserted(0, flat.shape()[0])), leaf.dtype()));
    begin += leaf.size();
  }
  return out;
}

Array solve_ode(OdeFunction f, const Array& y0, const Arg& given, const OdeOptions& options) {
  LocScope scope(given.where());
  const SourceLoc loc = effective_loc(given.where());
  const Array given_times = to_inexact(given);
  if (given_times.ndim() != 1 || given_times.size() == 0)
    throw ShapeError(fmt::format("odeint: the times are {}; they must be a vector, whose first element is the time of y0",
                                 to_string(given_times.aval())),
                     loc);
  if (given_times.dtype().is_complex())
    throw DTypeError(fmt::format("odeint: the times are {}; they must be real", to_string(given_times.aval())), loc);
  if (!(options.rtol >= 0) || !(options.atol >= 0))
    throw Error(fmt::format("odeint: rtol is {} and atol {}; they must not be negative", options.rtol, options.atol), loc);
  // Real numbers of the state's precision.
  const DType real = abs(zeros({}, y0.dtype())).dtype();
  const Array times = convert(Arg(given_times, loc), real.itemsize() < given_times.dtype().itemsize() ? given_times.dtype() : real);
  if (y0.size() == 0) return zeros({times.size(), 0}, y0.dtype());
  // Time runs forwards: that of a descending solution is negated.
  const Array direction = stop_gradient(where(times(-1) < times(0), -1, 1), loc);
  const auto forwards = [&](const Array& y, const Array& t) {
    return Array(convert(direction * f(y, convert(direction * t, times.dtype())), y0.dtype()));
  };
  const auto typed_forwards = [&](const Array& y, const Array& t) { return forwards(convert(y, y0.dtype()), t); };
  const double least = 8 * epsilon_of(y0.dtype());
  const Solver solver{typed_forwards,
                      std::max(options.rtol, least),
                      options.atol,
                      options.mxstep ? std::int64_t{*options.mxstep} : std::numeric_limits<std::int64_t>::max(),
                      options.hmax.value_or(std::numeric_limits<double>::infinity()),
                      loc};
  const Array t0 = direction * times(0), f0 = forwards(y0, t0);
  const Array first = convert(stop_gradient(solver.first_step(y0, f0, t0), loc), times.dtype());
  const Array zero = zeros_like(y0);
  const auto typed = [&](State s) {
    s.y = convert(s.y, y0.dtype());
    s.f = convert(s.f, y0.dtype());
    s.t = convert(s.t, times.dtype());
    s.next = convert(s.next, times.dtype());
    s.h = convert(s.h, times.dtype());
    for (Array& r : s.r) r = convert(r, y0.dtype());
    return s;
  };
  const State begin{y0, f0, t0, first, ones_like(first), {y0, zero, zero, zero, zero}, zeros({}, int64)};
  WhileOptions loop{.checkpoints = options.checkpoints};
  if (options.mxstep) loop.max_steps = solver.limit;
  const auto to_time = [&](const State& s, const Array& t) {
    const Array target = direction * t;
    // A step too short to change the time would be the same for ever.
    State next = while_loop([&](const State& v) { return (v.t < target) & (v.step < solver.limit) & (v.t + v.next > v.t); },
                            [&](const State& v) { return typed(solver.stepped(v)); },
                            State{s.y, s.f, s.t, s.next, s.h, s.r, zeros({}, int64)}, loop, loc);
    const Array y = where(next.t >= target, interpolated(next, target), std::numeric_limits<double>::quiet_NaN());
    return std::pair{next, convert(y, y0.dtype())};
  };
  if (times.size() == 1) return reshape(y0, {1, y0.size()});
  const Array rest = scan(to_time, begin, times(slice(1, none)), {}, loc).second;
  return concatenate({reshape(y0, {1, y0.size()}), rest}, 0);
}

}  // namespace weft::detail
