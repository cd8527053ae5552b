// Gauss's hypergeometric function and Faddeeva's function.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

#include "weft/core/array/constructors.h"
#include "weft/core/errors/error.h"
#include "weft/core/functions/elementwise.h"
#include "weft/core/functions/reductions.h"
#include "weft/core/ops/common.h"
#include "weft/core/ops/promotion.h"
#include "weft/core/trace/trace.h"
#include "weft/library/jnp/series.h"
#include "weft/library/jnp/special.h"
#include "weft/library/jnp/spherical.h"
#include "weft/transforms/autodiff/custom.h"
#include "weft/transforms/autodiff/jvp.h"
#include "weft/transforms/control/control_flow.h"

namespace weft {

using detail::epsilon_of;
using detail::LocScope;
using detail::RealOperands;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double kNear = 0.9;       // from here on the series in x is replaced by one in 1 - x
constexpr double kSlowest = 0.993;  // up to here the series in x converges in the number of terms that it has

struct Parameters {
  Array a, b, c;
};

/// Whether v is 0, -1, -2, ...: a pole of the gamma function, and where a series that v begins ends.
Array is_pole(const Array& v) { return (v <= 0) & (v == round(v)); }
/// gamma(n1) gamma(n2) / (gamma(d1) gamma(d2)), 0 at the poles of the denominator.
Array gamma_quotient(const Array& n1, const Array& n2, const Array& d1, const Array& d2) {
  const Array pole = is_pole(d1) | is_pole(d2), u = where(pole, 1, d1), v = where(pole, 1, d2);
  const Array sign = gammasgn(n1) * gammasgn(n2) * gammasgn(u) * gammasgn(v);
  return where(pole, 0, sign * exp(lgamma(n1) + lgamma(n2) - lgamma(u) - lgamma(v)));
}

/// The defining series (15.1.1 of M. Abramowitz and I. Stegun, Handbook of Mathematical Functions).
Array defining_series(const Parameters& p, const Array& x) {
  return detail::series(Array(ones_like(x)), [=](const Array& term, const Array& k) {
    return Array(term * (p.a + k - 1) * (p.b + k - 1) / ((p.c + k - 1) * k) * x);
  });
}
/// By two series in s = 1 - x, where d = c - a - b is not near an integer (15.3.6).
Array of_any_difference(const Parameters& p, const Array& d, const Array& s) {
  const Array first = gamma_quotient(p.c, d, p.c - p.a, p.c - p.b) * defining_series({p.a, p.b, 1 - d}, s);
  const Array second = gamma_quotient(p.c, -d, p.a, p.b) * defining_series({p.c - p.a, p.c - p.b, 1 + d}, s);
  return first + pow(s, d) * second;
}
/// By a polynomial and a series in s = 1 - x, where m = c - a - b is 0, 1, 2, ... (15.3.10 and 15.3.11).
Array of_integer_difference(const Parameters& p, const Array& m, const Array& s) {
  struct Sum {
    Array term, sum, k;
  };
  const Array zero = zeros({}, s.dtype()), some = m > 0, positive = where(some, m, 1);
  const Array polynomial = while_loop([=](const Sum& t) { return any(t.k + 1 < positive); },
                                      [=](const Sum& t) {
                                        const Array inside = t.k + 1 < positive, below = where(inside, t.k + 1 - positive, 1);
                                        const Array next = t.term * (p.a + t.k) * (p.b + t.k) / ((t.k + 1) * below) * s;
                                        const Array term = where(inside, next, 0);
                                        return Sum{term, t.sum + term, t.k + 1};
                                      },
                                      Sum{ones_like(s), ones_like(s), zero}, {.checkpoints = Checkpoints::logarithmic})
                               .sum;
  struct Series {
    Array term, bracket, sum, change, k;
  };
  const Array bracket = log(s) - digamma(ones_like(s)) - digamma(m + 1) + digamma(p.a + m) + digamma(p.b + m);
  const Array term = exp(m * log(s) - lgamma(m + 1)), least = full_like(s, epsilon_of(s.dtype()) / 16);
  const Array sum = while_loop([=](const Series& t) { return any(abs(t.change) > least * abs(t.sum)) & (t.k < 5000); },
                               [=](const Series& t) {
                                 const Array a = p.a + m + t.k, b = p.b + m + t.k, n = t.k + 1;
                                 const Array next = t.term * a * b / (n * (n + m)) * s;
                                 const Array around = t.bracket - 1 / n - 1 / (n + m) + 1 / a + 1 / b, change = next * around;
                                 return Series{next, around, t.sum + change, change, n};
                               },
                               Series{term, bracket, term * bracket, term * bracket, zero}, {.checkpoints = Checkpoints::logarithmic})
                        .sum;
  const Array sign = where(remainder(m, 2) == 0, -1, 1), one = ones_like(s);
  const Array front = where(some, gamma_quotient(p.c, positive, p.a + positive, p.b + positive) * polynomial, 0);
  return front + sign * gamma_quotient(p.c, one, p.a, p.b) * sum;
}

/// What a computation is for: the series in 1 - x for integer differences is no function of each parameter, and series that end go on in
/// the derivatives.
enum class Wanted { value, derivatives };

/// For 0 < x < 1 and s = 1 - x.
Array inside_value(Wanted wanted, const Parameters& given, const Array& x, const Array& s, const Array& ends) {
  const Array near = (x > (wanted == Wanted::value ? kNear : kSlowest)) & ~ends, by_euler = near & (given.c - given.a - given.b < 0);
  // Euler's transformation (15.3.3) makes the difference positive.
  const Array factor = where(by_euler, pow(s, given.c - given.a - given.b), 1);
  const Parameters p{where(by_euler, given.c - given.a, given.a), where(by_euler, given.c - given.b, given.b), given.c};
  const Array d = p.c - p.a - p.b, whole = round(d), away = abs(d - whole);
  const Array ended = is_pole(p.a) | is_pole(p.b);
  const Array any_difference = near & ~ended & (away > 0.01);
  const Array integer = near & ~ended & (away <= (wanted == Wanted::value ? 50 * epsilon_of(x.dtype()) : -1));
  const auto chosen = [](const Array& c, const Parameters& q, double a, double b, double to) {
    return Parameters{where(c, q.a, a), where(c, q.b, b), where(c, q.c, to)};
  };
  const Array near_s = where(near, s, 0.05);
  const Array direct = ~(any_difference | integer);
  const Array by_x = defining_series(chosen(direct, p, 1, 1, 2), where(direct, minimum(x, kSlowest), 0));
  const Array by_any = of_any_difference(chosen(any_difference, p, 0.5, 0.5, 1.5), where(any_difference, d, 0.5), near_s);
  const Array by_integer = of_integer_difference(chosen(integer, p, 1, 1, 2), where(integer, whole, 0), near_s);
  const Array value = where(any_difference, by_any, where(integer, by_integer, by_x));
  return factor * where(direct & ~ended & (x > kSlowest), not_a_number, value);
}

Array hypergeometric(Wanted wanted, const Array& given_a, const Array& given_b, const Array& c, const Array& x) {
  const auto parameter = [&](const Array& v) {
    return wanted == Wanted::value ? v : where(is_pole(v), v + std::sqrt(epsilon_of(x.dtype())), v);
  };
  const Array first = parameter(given_a), other = parameter(given_b), swapped = first > other;
  const Array a = where(swapped, other, first), b = where(swapped, first, other), ends = is_pole(a) | is_pole(b);
  // Pfaff's transformation (15.3.4) of negative x, with the lesser parameter in front.
  const Array by_pfaff = (x < -0.5) & ~ends, inside = (x < 1) & ~ends & (x >= -0.5);
  const Array u = where(by_pfaff, x / (x - 1), where(inside, x, 0.25)), s = where(by_pfaff, 1 / (1 - x), where(inside, 1 - x, 0.75));
  const Array factor = where(by_pfaff, pow(where(by_pfaff, 1 - x, 1), -a), 1);
  const Array safe_c = where(is_pole(c), 1, c), second = where(by_pfaff, safe_c - b, b);
  const Array value = factor * inside_value(wanted, {a, second, safe_c}, u, s, is_pole(second));
  const Array polynomial = defining_series({where(ends, a, 0), where(ends, b, 0), safe_c}, where(ends, x, 0));
  const Array d = safe_c - a - b, converges = (x == 1) & (d > 0);
  const Array at_one = where(converges, gamma_quotient(safe_c, where(converges, d, 1), safe_c - a, safe_c - b), infinity);
  const Array out = where(ends, polynomial, where(x < 1, value, where(x == 1, at_one, infinity)));
  const Array nowhere = isnan(a + b + c + x);
  return where(nowhere, not_a_number, where((x == 0) | (a == 0) | (b == 0), 1, where(is_pole(c), infinity, out)));
}

Array hypergeometric_value(const Array& a, const Array& b, const Array& c, const Array& x) {
  return hypergeometric(Wanted::value, a, b, c, x);
}

/// J. Weideman's rational approximation of Faddeeva's function (SIAM Journal on Numerical Analysis 31, 1994), for Im z >= 0.
constexpr int kRationalTerms = 40;
const double rational_width = std::sqrt(kRationalTerms / std::numbers::sqrt2);
const std::array<double, kRationalTerms>& rational_coefficients() {
  static const auto coefficients = [] {
    constexpr int points = 2 * kRationalTerms;
    std::array<double, kRationalTerms> out{};
    for (int k = 1 - points; k < points; ++k) {
      const double angle = k * std::numbers::pi / points, t = rational_width * std::tan(angle / 2);
      const double f = std::exp(-t * t) * (rational_width * rational_width + t * t);
      for (int n = 0; n < kRationalTerms; ++n) out[static_cast<std::size_t>(n)] += f * std::cos((n + 1) * angle) / (2 * points);
    }
    return out;
  }();
  return coefficients;
}

}  // namespace

Array hyp2f1(Arg given_a, Arg given_b, Arg given_c, Arg given_x) {
  LocScope scope(given_a.where());
  const RealOperands all = detail::real_operands("hyp2f1", {given_a, given_b, given_c, given_x});
  using Four = std::tuple<Array, Array, Array, Array>;
  return all.result(custom_jvp(hypergeometric_value, [](Four at, Four along) {
    const auto& [a, b, c, x] = at;
    const auto& [da, db, dc, dx] = along;
    const Array still = zeros_like(x);
    const auto value = [](const Array& p, const Array& q, const Array& r, const Array& v) {
      return hypergeometric(Wanted::derivatives, p, q, r, v);
    };
    const Array along_parameters = jvp(value, at, Four{da, db, dc, still}).second;
    const Array by_parameters = along_parameters + where(x > 1, not_a_number, still) * (da + db + dc);
    const Array by_x = a * b / c * hyp2f1(a + 1, b + 1, c + 1, x);
    return std::pair{hypergeometric_value(a, b, c, x), Array(by_parameters + by_x * dx)};
  })(all.xs[0], all.xs[1], all.xs[2], all.xs[3]));
}

Array wofz(Arg given) {
  LocScope scope(given.where());
  const Array x = detail::to_inexact(given);
  const Array z = convert(x, x.dtype() == float64 || x.dtype() == complex128 ? complex128 : complex64);
  const Array below = imag(z) < 0, upper = where(below, -z, z), rotated = complex(-imag(upper), real(upper));
  const Array down = rational_width - rotated, quotient = (rational_width + rotated) / down;
  Array sum = zeros_like(z);
  for (std::size_t n = rational_coefficients().size(); n-- > 0;) sum = sum * quotient + rational_coefficients()[n];
  const Array value = 2 * sum / (down * down) + 1 / (std::sqrt(std::numbers::pi) * down);
  return where(below, 2 * exp(where(below, -z * z, 0)) - value, value);
}

}  // namespace weft
