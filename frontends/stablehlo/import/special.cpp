// Special functions of chlo that are no primitives of weft, by series (M. Abramowitz and I. Stegun, Handbook of Mathematical Functions).
// 16-bit floats are computed in float32.
#include <cmath>
#include <limits>
#include <numbers>

#include "weft/core/functions/elementwise.h"
#include "weft/core/ops/movement/movement.h"
#include "weft/frontends/stablehlo/import/functions.h"
#include "weft/frontends/stablehlo/import/importer.h"

namespace weft::detail::mlir {
namespace {

Array widened(const Array& x) { return x.dtype().itemsize() == 2 ? convert(x, float32) : x; }
Array narrowed(const Array& x, DType as) { return x.dtype() == as ? x : convert(x, as); }

/// c[0] + c[1] x + ...
Array polynomial(const Array& x, const std::vector<double>& c) {
  Array sum = fill_shape(scalar(x, c.back()), x.shape(), {});
  for (std::size_t i = c.size() - 1; i-- > 0;) sum = sum * x + scalar(x, c[i]);
  return sum;
}

/// exp(-|x|) times the modified Bessel function of order 0 or 1: up to 20 the power series (9.6.10), whose terms are all positive, beyond
/// the asymptotic one (9.7.1).
Array scaled_bessel_i(const Array& x, int order) {
  constexpr double kBoundary = 20;
  const Array size = abs(x);
  std::vector<double> near{1}, far{1};
  for (int k = 1; k <= 60; ++k) near.push_back(near.back() / (static_cast<double>(k) * (k + order)));
  const double mu = 4.0 * order * order;
  for (int k = 1; k <= 20; ++k) far.push_back(-far.back() * (mu - (2.0 * k - 1) * (2.0 * k - 1)) / (8.0 * k));
  const Array inner = minimum(size, scalar(x, kBoundary)), outer = maximum(size, scalar(x, kBoundary));
  const Array half = inner * scalar(x, 0.5);
  Array of_inner = polynomial(half * half, near) * exp(-inner);
  if (order == 1) of_inner = of_inner * half;
  const Array of_outer = polynomial(scalar(x, 1) / outer, far) / sqrt(outer * scalar(x, 2 * std::numbers::pi));
  const Array value = where(size <= scalar(x, kBoundary), of_inner, where(size == size, of_outer, x));
  return order == 1 ? where(x < scalar(x, 0), -value, value) : value;
}

const Import bessel_i1e_import("chlo.bessel_i1e",
                               [](OpCall& c) -> Values { return {narrowed(scaled_bessel_i(widened(c.in(0)), 1), c.in(0).dtype())}; });

/// The sum of (q + k)^-x over k = 0, 1, ... (Euler and Maclaurin's formula, 23.2.8), for q > 0 and x > 1.
Array hurwitz_zeta(const Array& x, const Array& q) {
  constexpr int kTerms = 10;
  // B(2j) / (2j)!
  constexpr double kCoefficients[] = {1.0 / 12,
                                      -1.0 / 720,
                                      1.0 / 30240,
                                      -1.0 / 1209600,
                                      1.0 / 47900160,
                                      -691.0 / 1307674368000.0,
                                      1.0 / 74724249600.0,
                                      -3617.0 / 10670622842880000.0,
                                      43867.0 / 5109094217170944000.0};
  Array sum = pow(q, -x), at = q;
  for (int k = 1; k < kTerms; ++k) at = at + scalar(q, 1), sum = sum + pow(at, -x);
  at = at + scalar(q, 1);
  const Array power = pow(at, -x);
  sum = sum + power * at / (x - scalar(x, 1)) + power * scalar(x, 0.5);
  Array factor = x, term = power / at;
  double step = 1;
  for (double coefficient : kCoefficients) {
    sum = sum + factor * term * scalar(x, coefficient);
    factor = factor * (x + scalar(x, step)) * (x + scalar(x, step + 1));
    step += 2;
    term = term / (at * at);
  }
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  // Poles, and what the sum is not defined for.
  const Array value = where(x < scalar(x, 1), scalar(x, nan), where(x == scalar(x, 1), scalar(x, inf), sum));
  const Array pole = where(q == floor(q), scalar(q, inf), scalar(q, nan));
  return where(q <= scalar(q, 0), where(x > scalar(x, 1), pole, value), value);
}

const Import zeta_import("chlo.zeta",
                         [](OpCall& c) -> Values { return {narrowed(hurwitz_zeta(widened(c.in(0)), widened(c.in(1))), c.in(0).dtype())}; });

}  // namespace
}  // namespace weft::detail::mlir
