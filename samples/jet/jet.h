// Taylor mode: derivatives of all orders up to one along a curve, in one pass over a function's program. A transform written outside of the
// library: its rules are those of an open table, Rule<Jet, Op> (<weft/extend.h>), one for each operation that it knows.
#pragma once
#include <weft/extend.h>
#include <weft/weft.h>

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace jet {

/// A value along the curve x(t): its Taylor coefficients, x(t) = s[0] + s[1] t + s[2] t^2 + ...; nothing is a zero. s[0] is always there.
using Term = std::optional<weft::Array>;
using Series = std::vector<Term>;

/// An equation, and its operands along the curve.
struct JetContext {
  const weft::Eqn& eqn;
  std::span<const Series> in;
  std::size_t order;
  /// The equation for other operands.
  weft::Array bind(std::span<const weft::Array> operands) const {
    return weft::extend::bind_primitive(*eqn.op, eqn.params, operands, eqn.loc)[0];
  }
};

/// The transform: what a rule gives is the equation's result along the curve.
struct Jet {
  using Function = Series(const JetContext&);
};

/// The program's results along curves of its inputs. Throws weft::Error, with its name and line, for an operation without a rule whose
/// operands move: loops, and functions with a derivative of their own.
std::vector<Series> run(const weft::Jaxpr& program, std::span<const Series> inputs, std::size_t order);

/// f(x(t), ...) at t = 0, and its derivatives there: first, second, ..., as many as are given of each argument (jax.experimental.jet).
template <class F, std::size_t N>
std::pair<weft::Array, std::vector<weft::Array>> jet(F f, const std::array<weft::Array, N>& primals,
                                                     const std::array<std::vector<weft::Array>, N>& series) {
  const std::size_t order = series[0].size();
  std::vector<Series> inputs;
  for (std::size_t i = 0; i < N; ++i) {
    if (series[i].size() != order) throw weft::Error("jet: series of different lengths; give zeros where a derivative is zero");
    Series& s = inputs.emplace_back(Series{primals[i]});
    double factorial = 1;
    for (std::size_t k = 0; k < order; ++k) s.emplace_back(series[i][k] / (factorial *= static_cast<double>(k + 1)));
  }
  const weft::Jaxpr program = std::apply([&](const auto&... x) { return weft::make_jaxpr(f)(x...); }, primals);
  const Series out = run(program, inputs, order)[0];
  std::vector<weft::Array> derivatives;
  double factorial = 1;
  for (std::size_t k = 1; k <= order; ++k) {
    factorial *= static_cast<double>(k);
    derivatives.push_back(out[k] ? *out[k] * factorial : weft::zeros_like(*out[0]));
  }
  return {*out[0], derivatives};
}
template <class F>
std::pair<weft::Array, std::vector<weft::Array>> jet(F f, const weft::Array& x, const std::vector<weft::Array>& series) {
  return jet(f, std::array{x}, std::array{series});
}

}  // namespace jet
