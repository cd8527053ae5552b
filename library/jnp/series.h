// What functions of real numbers that are computed by series and continued fractions have in common. Internal to library/jnp.
#pragma once
#include <initializer_list>
#include <span>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/library/linalg/linalg_operands.h"
#include "weft/transforms/control/control_flow.h"

namespace weft::detail {

/// Operands with one dtype, of 32 bits at least, and one shape; and the dtype of the result.
struct RealOperands {
  std::vector<Array> xs;
  DType dtype;
  Array result(const Array& x) const { return convert(x, dtype); }
};
/// Throws DTypeError for complex operands, ShapeError for shapes that don't broadcast together.
RealOperands real_operands(const char* operation, std::initializer_list<Arg> args);

/// c[0] + c[1] x + ...
inline Array polynomial(const Array& x, std::span<const double> c) {
  Array sum = full_like(x, c.back());
  for (std::size_t i = c.size() - 1; i-- > 0;) sum = sum * x + c[i];
  return sum;
}

/// The sum of term, next(term, 1), next(., 2), ... until nothing changes; elements that are done stay as they are.
template <class Next>
Array series(const Array& first, Next next) {
  struct State {
    Array term, sum, k;
  };
  const double least = epsilon_of(first.dtype()) / 16;
  return while_loop([=](const State& s) { return any(abs(s.term) > least * abs(s.sum)) & (s.k < 5000); },
                    [=](const State& s) {
                      const Array k = s.k + 1, term = next(s.term, k);
                      return State{term, s.sum + term, k};
                    },
                    State{first, first, zeros({}, first.dtype())}, {.checkpoints = Checkpoints::logarithmic})
      .sum;
}

/// The continued fraction b(0) + a(1) / (b(1) + a(2) / (b(2) + ...)) with b(0) = start, by Lentz's method (W. J. Lentz, Applied Optics 15,
/// 1976). An element that is done stays as it is, whatever its neighbours take. `at_least`: terms that are computed even where the value
/// doesn't change, as the derivative of a fraction that ends may go on.
template <class A, class B>
Array continued_fraction(const Array& start, A a, B b, int at_least = 0) {
  struct State {
    Array f, c, d, change, n;
  };
  const double tiny = start.dtype().real_part() == float64 ? 1e-290 : 1e-30, least = epsilon_of(start.dtype()) * 2;
  const auto away_from_zero = [=](const Array& v) { return where(abs(v) < tiny, tiny, v); };
  const Array f = away_from_zero(start);
  const auto goes_on = [=](const State& s) { return (abs(s.change - 1) > least) | (s.n < at_least); };
  return while_loop([=](const State& s) { return any(goes_on(s)) & (s.n < 5000); },
                    [=](const State& s) {
                      const Array moves = goes_on(s);
                      const Array n = s.n + 1, an = a(n), bn = b(n);
                      const Array d = 1 / away_from_zero(bn + an * s.d), c = away_from_zero(bn + an / s.c);
                      return State{where(moves, s.f * c * d, s.f), c, d, where(moves, c * d, s.change), n};
                    },
                    State{f, f, 0 * f, 0 * f, zeros({}, start.dtype().real_part())}, {.checkpoints = Checkpoints::logarithmic})
      .f;
}

}  // namespace weft::detail
