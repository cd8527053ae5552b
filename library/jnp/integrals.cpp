// Formulas by their numbers are those of M. Abramowitz and I. Stegun, Handbook of Mathematical Functions.
#include "weft/library/jnp/integrals.h"

#include <fmt/format.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/functions/shaping.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/series.h"
#include "weft/library/jnp/special.h"
#include "weft/transforms/autodiff/custom.h"
#include "weft/transforms/control/control_flow.h"

namespace weft {

using detail::continued_fraction;
using detail::epsilon_of;
using detail::LocScope;
using detail::polynomial;
using detail::real_operands;
using detail::RealOperands;
using detail::series;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double pi = std::numbers::pi, euler = std::numbers::egamma;

/// x, and its function with a derivative that is made of the value.
template <class F, class D>
Array with_derivative(const Array& x, F value, D derivative) {
  return custom_jvp(value, [derivative](const auto& self, std::tuple<Array> at, std::tuple<Array> along) -> std::pair<Array, Array> {
    const Array y = self(std::get<0>(at));
    return {y, std::get<0>(along) * derivative(std::get<0>(at), y)};
  })(x);
}

// Formulas 5.1.22 and 5.1.12.
Array expn_value(const Array& n, const Array& x) {
  const Array far = x > 1, u = where(far, x, 2), v = where(far | (x <= 0), 0.5, x);
  const Array fraction = exp(-u) / continued_fraction(
                                       Array(u + n), [=](const Array& k) { return Array(-k * (n - 1 + k)); },
                                       [=](const Array& k) { return Array(u + n + 2 * k); });
  // The sum of (-x)^k / ((n - 1 - k) k!), without the term whose denominator is 0.
  const Array first = where(n == 1, 0, 1 / where(n == 1, 1, n - 1));
  struct State {
    Array power, sum, k;
  };
  const double least = epsilon_of(x.dtype()) / 8;
  const Array sum = while_loop([=](const State& s) { return (any(abs(s.power) > least * abs(s.sum)) | (s.k < 3)) & (s.k < 5000); },
                               [=](const State& s) {
                                 const Array k = s.k + 1, power = -s.power * v / k, below = n - 1 - k;
                                 return State{power, s.sum + where(below == 0, 0, power / where(below == 0, 1, below)), k};
                               },
                               State{ones_like(x), first, zeros({}, x.dtype())})
                        .sum;
  const Array sign = 1 - 2 * remainder(n - 1, 2), positive = maximum(n, 1);
  const Array near = sign * exp((positive - 1) * log(v) - lgamma(positive)) * (digamma(positive) - log(v)) + sum;
  const Array inside = where(n == 0, exp(-x) / where(x == 0, 1, x), where(far, fraction, near));
  const Array at_zero = where(n < 2, infinity, 1 / where(n < 2, 1, n - 1));
  return where((n < 0) | (x < 0) | isnan(x), not_a_number, where(x == 0, at_zero, where(isinf(x), 0, inside)));
}
Array expn_of(const Array& n, const Array& x) {
  const auto value = [](const Array& m, const Array& v) { return expn_value(m, v); };
  return custom_jvp(value, [](std::tuple<Array, Array> at, std::tuple<Array, Array> along) -> std::pair<Array, Array> {
    const auto& [m, v] = at;
    const Array below = where(m == 0, exp(-v) * (1 + v) / square(v), expn_of(maximum(m - 1, 0), v));
    return {expn_of(m, v), -below * std::get<1>(along)};
  })(n, x);
}

// Formulas 5.1.10 and 5.1.51.
Array expi_value(const Array& x) {
  const double limit = x.dtype() == float64 ? 40 : 24;
  const Array negative = x < 0, size = abs(x), far = size >= limit, u = where(far | (x == 0), 1, size), v = where(far, size, limit);
  const Array sum = series(u, [=](const Array& term, const Array& k) { return Array(term * u * k / ((k + 1) * (k + 1))); });
  std::vector<double> c{1};
  for (int k = 1; k <= static_cast<int>(limit); ++k) c.push_back(c.back() * k);
  const Array positive = where(far, exp(v) / v * polynomial(1 / v, c), euler + log(u) + sum);
  const Array below = -expn_value(ones_like(x), where(negative, size, 1));
  return where(isnan(x), x, where(x == 0, -infinity, where(x == infinity, infinity, where(negative, below, positive))));
}

// Formula 7.1.23 where x is large; else the square is taken apart, so that its rounding does no harm.
Array erfcx_value(const Array& x) {
  const double limit = x.dtype() == float64 ? 6.5 : 4;
  const Array far = x > limit, u = where(far, limit, maximum(x, -30)), v = where(far, x, limit);
  const Array rough = trunc(u * 16) / 16;
  const Array near = exp(rough * rough) * exp((u - rough) * (u + rough)) * erfc(u);
  std::vector<double> c{1};
  for (int k = 1; k <= 20; ++k) c.push_back(-c.back() * (2 * k - 1) / 2);
  return where(far, polynomial(1 / (v * v), c) / (v * std::sqrt(pi)), near);
}

// G. B. Rybicki, Dawson's integral and the sampling theorem, Computers in Physics 3, 1989.
Array dawsn_value(const Array& x) {
  constexpr double h = 0.25;
  const Array size = abs(x), small = size < 0.2, large = size > 1e4;
  const Array u = where(small | large, 1, size), even = 2 * round(u / (2 * h)), rest = u - even * h;
  Array sum = zeros_like(x);
  for (int n = -23; n <= 23; n += 2) sum = sum + exp(-square(rest - n * h)) / (even + n);
  std::vector<double> c{1};
  for (int k = 1; k <= 10; ++k) c.push_back(-c.back() * 2 / (2 * k + 1));
  const Array square_of_small = square(where(small, size, 0)), far = 0.5 / where(large, size, 1);
  return where(isnan(x), x, sign(x) * where(small, size * polynomial(square_of_small, c), where(large, far, sum / std::sqrt(pi))));
}

/// exp(-i x) E1(i x) by its continued fraction (5.1.22), as a complex array.
Array sine_fraction(const Array& x) {
  const Array z = complex(zeros_like(x), x), one = complex(ones_like(x), zeros_like(x));
  return 1 / continued_fraction(
                 Array(z + one), [=](const Array& k) { return Array(-one * k * k); },
                 [=](const Array& k) { return Array(z + one * (1 + 2 * k)); });
}
// Formulas 5.2.14 and 5.2.16; beyond 4 by E1.
Array sine_integral(const Array& x, bool cosine) {
  const Array size = abs(x), far = size > 4, u = where(far, 1, size), w = square(u), huge = size > 1e9;
  const Array v = where(far & ~huge, size, 5), e = sine_fraction(v);
  const Array c = cos(v), s = sin(v), re = real(e) * c + imag(e) * s, im = imag(e) * c - real(e) * s;
  if (cosine) {
    const Array near = euler + log(u) + series(Array(-w / 4), [=](const Array& term, const Array& k) {
                         return Array(-term * w * (2 * k) / ((2 * k + 1) * square(2 * k + 2)));
                       });
    const Array inside = where(huge, sin(size) / where(huge, size, 1), where(far, -re, near));
    return where(isnan(x) | (x == -infinity), not_a_number, where(x == 0, -infinity, where(isinf(x), 0, inside)));
  }
  const Array near =
      series(u, [=](const Array& term, const Array& k) { return Array(-term * w * (2 * k - 1) / (2 * k * square(2 * k + 1))); });
  return where(isnan(x), x,
               sign(x) * where(isinf(x), pi / 2, where(huge, pi / 2 - cos(size) / where(huge, size, 1), where(far, pi / 2 + im, near))));
}

// Formulas 7.3.11 and 7.3.13; beyond 1.6 by the complementary error function of a complex number, 7.1.14.
Array fresnel_integral(const Array& x, bool cosine) {
  const Array size = abs(x), far = size > 1.6, u = where(far, 1, size), t = pi / 2 * square(u), w = square(t);
  const Array huge = size > 1e5, v = where(far & ~huge, size, 2);
  const Array start = cosine ? u : Array(u * t / 3);
  const double m = cosine ? 0 : 1;
  const Array near = series(start, [=](const Array& term, const Array& k) {
    return Array(-term * w * (4 * k - 3 + 2 * m) / ((2 * k - 1 + m) * (2 * k + m) * (4 * k + 1 + 2 * m)));
  });
  // erfc(z) = exp(-z^2) / sqrt(pi) / (z + (1/2) / (z + 1 / (z + (3/2) / ...))), z = sqrt(pi) / 2 (1 - i) x.
  const Array half = std::sqrt(pi) / 2 * v, z = complex(half, -half), one = complex(ones_like(v), zeros_like(v));
  const Array fraction = 1 / continued_fraction(z, [=](const Array& k) { return Array(one * (k / 2)); }, [=](const Array&) { return z; });
  // The angle pi x^2 / 2 is taken modulo 2 pi before it is multiplied.
  const Array angle = pi / 2 * remainder(square(v), 4);
  const Array q = complex(cos(angle), sin(angle)) * fraction / std::sqrt(pi);
  // C + i S = (1 + i) / 2 (1 - erfc(z))
  const Array re = 0.5 - (real(q) - imag(q)) / 2, im = 0.5 - (real(q) + imag(q)) / 2;
  return where(isnan(x), x, sign(x) * where(huge, 0.5, where(far, cosine ? re : im, near)));
}

// By the series of -log(1 - z) (D. Zagier, The dilogarithm function, 2007).
Array spence_value(const Array& x) {
  constexpr double bernoulli[] = {1. / 6,       -1. / 30, 1. / 42,      -1. / 30,     5. / 66,
                                  -691. / 2730, 7. / 6,   -3617. / 510, 43867. / 798, -174611. / 330};
  std::vector<double> coefficients{1};
  double factorial = 1;
  for (int k = 1; k <= 10; ++k) {
    factorial *= (2. * k) * (2. * k + 1);
    coefficients.push_back(bernoulli[k - 1] / factorial);
  }
  const Array small = x < 0.5, large = x > 2;
  const Array inside = where(small, 1 - x, where(large, 1 / where(large, x, 1), x));
  const Array u = -log(where(inside > 0, inside, 1));
  const Array y = u * polynomial(square(u), coefficients) - square(u) / 4;
  const Array of_small = where((x > 0) & small, x, 0.25), of_large = where(large, x, 2);
  const Array reflected = pi * pi / 6 - log(of_small) * log1p(-of_small) - y, inverted = -y - square(log(of_large)) / 2;
  return where((x < 0) | isnan(x), not_a_number,
               where(x == 0, pi * pi / 6, where(x == infinity, -infinity, where(small, reflected, where(large, inverted, y)))));
}
/// log(v) / (1 - v), next to 1 by a series, whose derivatives are those of the limit.
Array log_quotient(const Array& v) {
  constexpr int kTerms = 16;
  const Array near = abs(v - 1) < .1, t = where(near, v - 1, 0), far = where(near, 2, v);
  Array sum = detail::scalar_like(v, 1. / (kTerms + 1));
  for (int k = kTerms; k > 0; --k) sum = 1. / k - t * sum;
  return where(near, -sum, log(far) / (1 - far));
}

}  // namespace

Array zeta(Arg given_x, Arg given_q) {
  LocScope scope(given_x.where());
  const RealOperands o = real_operands("zeta", {given_x, given_q});
  const Array &x = o.xs[0], &q = o.xs[1];
  // Euler and Maclaurin's formula, 23.2.8; B(2j) / (2j)!.
  constexpr int terms = 10;
  constexpr double coefficients[] = {1.0 / 12,
                                     -1.0 / 720,
                                     1.0 / 30240,
                                     -1.0 / 1209600,
                                     1.0 / 47900160,
                                     -691.0 / 1307674368000.0,
                                     1.0 / 74724249600.0,
                                     -3617.0 / 10670622842880000.0,
                                     43867.0 / 5109094217170944000.0};
  const Array safe = where(q > 0, q, 1);
  Array sum = pow(safe, -x);
  for (int k = 1; k < terms; ++k) sum = sum + pow(safe + k, -x);
  const Array at = safe + terms, power = pow(at, -x), inside = where(x == 1, 2, x) - 1;
  sum = sum + power * at / inside + power * 0.5;
  // Each factor beside a power of 1 / at: x (x + 1) ... alone would overflow where the power has long become 0.
  Array term = power * (x / at);
  double step = 1;
  for (double coefficient : coefficients) {
    sum = sum + term * coefficient;
    term = term * ((x + step) / at) * ((x + step + 1) / at);
    step += 2;
  }
  const Array pole = where(q == floor(q), infinity, not_a_number);
  return o.result(where((x < 1) | isnan(x) | isnan(q), not_a_number, where(x == 1, infinity, where(q <= 0, pole, sum))));
}
Array expn(Arg n, Arg x) {
  LocScope scope(x.where());
  const RealOperands o = real_operands("expn", {n, x});
  return o.result(expn_of(o.xs[0], o.xs[1]));
}
Array exp1(Arg x) {
  LocScope scope(x.where());
  const RealOperands o = real_operands("exp1", {x});
  return o.result(expn_of(ones_like(o.xs[0]), o.xs[0]));
}
Array expi(Arg x) {
  LocScope scope(x.where());
  const RealOperands o = real_operands("expi", {x});
  return o.result(
      with_derivative(o.xs[0], [](const Array& v) { return expi_value(v); }, [](const Array& v, const Array&) { return exp(v) / v; }));
}
Array erfcx(Arg x) {
  LocScope scope(x.where());
  const RealOperands o = real_operands("erfcx", {x});
  return o.result(with_derivative(
      o.xs[0], [](const Array& v) { return erfcx_value(v); },
      [](const Array& v, const Array& y) { return 2 * v * y - 2 / std::sqrt(pi); }));
}
Array dawsn(Arg x) {
  LocScope scope(x.where());
  const RealOperands o = real_operands("dawsn", {x});
  return o.result(with_derivative(
      o.xs[0], [](const Array& v) { return dawsn_value(v); }, [](const Array& v, const Array& y) { return 1 - 2 * v * y; }));
}
SineIntegrals sici(Arg x) {
  LocScope scope(x.where());
  const RealOperands o = real_operands("sici", {x});
  const Array si = with_derivative(
      o.xs[0], [](const Array& v) { return sine_integral(v, false); }, [](const Array& v, const Array&) { return sinc(v / pi); });
  const Array ci = with_derivative(
      o.xs[0], [](const Array& v) { return sine_integral(v, true); }, [](const Array& v, const Array&) { return cos(v) / v; });
  return {o.result(si), o.result(ci)};
}
FresnelIntegrals fresnel(Arg x) {
  LocScope scope(x.where());
  const RealOperands o = real_operands("fresnel", {x});
  const auto angle = [](const Array& v) { return pi / 2 * remainder(square(v), 4); };
  const Array s = with_derivative(
      o.xs[0], [](const Array& v) { return fresnel_integral(v, false); }, [angle](const Array& v, const Array&) { return sin(angle(v)); });
  const Array c = with_derivative(
      o.xs[0], [](const Array& v) { return fresnel_integral(v, true); }, [angle](const Array& v, const Array&) { return cos(angle(v)); });
  return {o.result(s), o.result(c)};
}
Array spence(Arg x) {
  LocScope scope(x.where());
  const RealOperands o = real_operands("spence", {x});
  return o.result(with_derivative(
      o.xs[0], [](const Array& v) { return spence_value(v); }, [](const Array& v, const Array&) { return log_quotient(v); }));
}
Array hyp1f1(Arg given_a, Arg given_b, Arg given_x) {
  LocScope scope(given_x.where());
  const RealOperands o = real_operands("hyp1f1", {given_a, given_b, given_x});
  const Array &a = o.xs[0], &b = o.xs[1], &x = o.xs[2];
  // For negative x, Kummer's transformation (13.1.27) gives terms that don't cancel.
  const Array negative = x < 0, p = where(negative, b - a, a), size = abs(x), one = ones_like(x) + 0 * p + 0 * b;
  // Far below 0 those terms are too large for floats, and formula 13.5.1 in powers of 1 / x has as many digits.
  const Array far = (x < -60) & (b > a) & (b > 0) & (abs(a * (1 + a - b)) < size / 2), z = where(far, 1, size), w = where(far, size, 1e6);
  const Array sum = series(one, [=](const Array& term, const Array& k) { return Array(term * (p + k - 1) * z / ((b + k - 1) * k)); });
  const Array q = where(far, a, 1), c = where(far, b, 2);
  const Array rest = series(one, [=](const Array& term, const Array& k) { return Array(term * (q + k - 1) * (q - c + k) / (w * k)); });
  const Array beyond = exp(lgamma(c) - lgamma(c - q) - q * log(w)) * rest;
  return o.result(where(far, beyond, where(negative, exp(-where(negative, z, 0)) * sum, sum)));
}

Array igamma(Arg a, Arg x) { return gammainc(std::move(a), std::move(x)); }
Array igammac(Arg a, Arg x) { return gammaincc(std::move(a), std::move(x)); }
Array bessel_i0e(Arg x) { return i0e(std::move(x)); }
Array bessel_i1e(Arg x) { return i1e(std::move(x)); }

}  // namespace weft
