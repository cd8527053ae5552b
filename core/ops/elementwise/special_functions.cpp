#include "weft/core/ops/elementwise/special_functions.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace weft::detail {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
/// B(2), B(4), ...
constexpr std::array<double, 10> kBernoulli = {1. / 6,       -1. / 30, 1. / 42,      -1. / 30,     5. / 66,
                                               -691. / 2730, 7. / 6,   -3617. / 510, 43867. / 798, -174611. / 330};

/// Hurwitz's zeta function, the sum of (x + k)^-s, s > 1, by the Euler-Maclaurin formula from where x + k > 12.
double hurwitz_zeta(double s, double x) {
  if (std::isnan(s) || std::isnan(x)) return kNan;
  if (x <= 0 && x == std::floor(x)) return kInfinity;
  if (x <= 0 && s != std::floor(s)) return kNan;
  double sum = 0;
  for (; x < 12; x += 1) sum += std::pow(x, -s);
  if (std::isinf(x)) return sum;
  sum += std::pow(x, 1 - s) / (s - 1) + 0.5 * std::pow(x, -s);
  double factor = s * std::pow(x, -s - 1), factorial = 2;
  for (std::size_t j = 0; j < kBernoulli.size(); ++j) {
    sum += kBernoulli[j] / factorial * factor;
    const double k = 2. * static_cast<double>(j) + 1;
    factor *= (s + k) * (s + k + 1) / (x * x);
    factorial *= (k + 2) * (k + 3);
  }
  return sum;
}

constexpr long double kDigammaTerms[] = {1.L / 12, -1.L / 120, 1.L / 252, -1.L / 240, 1.L / 132, -691.L / 32760, 1.L / 12, -3617.L / 8160};

/// psi(x) less psi of its zero next to x, term by term, so that each is proportional to the distance.
double digamma_near_zero(long double x) {
  long double zero = 1.46163214496836234128L, sum = 0;
  const long double distance = (x - zero) + 1.82570963159634838e-20L;
  for (; zero < 16; zero += 1, x += 1) sum += distance / (zero * x);
  const long double u = 1 / (x * x), v = 1 / (zero * zero);
  long double value = 0, difference = 0;  // of the series at v, and between v and u
  for (std::size_t k = std::size(kDigammaTerms); k-- > 0;) difference = difference * u + value, value = value * v + kDigammaTerms[k];
  difference = difference * u + value;
  return static_cast<double>(sum + std::log1p(distance / zero) + distance / (2 * x * zero) + difference * distance * (x + zero) * u * v);
}

}  // namespace

// By the asymptotic series (Abramowitz and Stegun, 6.3.18) after the recurrence psi(x) = psi(x + 1) - 1 / x, and the reflection formula for
// negative arguments. In more digits than those of the result, which are lost around its negative zeros.
double digamma(double given) {
  if (std::abs(given - 1.46) < .2) return digamma_near_zero(given);
  long double x = given, reflected = 0, sum = 0;
  if (x <= 0) {
    if (x == std::floor(x)) return kNan;
    const long double pi = std::numbers::pi_v<long double>;
    reflected = pi / std::tan(pi * (x - std::round(x)));
    x = 1 - x;
  }
  if (std::isinf(x)) return static_cast<double>(x);
  for (; x < 16; x += 1) sum -= 1 / x;
  long double power = 1, series = 0;
  for (const long double term : kDigammaTerms) series += term * (power /= x * x);
  return static_cast<double>(sum + (std::log(x) - 0.5L / x - series) - reflected);
}

namespace {
/// glibc 2.36 is off by 2 units for arguments above 1.05e8, and by 140,000 for those next to multiples of pi/2.
bool is_large(double x) { return std::abs(x) > 0x1p26; }
}  // namespace

double precise_sin(double x) { return is_large(x) ? static_cast<double>(std::sin(static_cast<long double>(x))) : std::sin(x); }
double precise_cos(double x) { return is_large(x) ? static_cast<double>(std::cos(static_cast<long double>(x))) : std::cos(x); }
double precise_tan(double x) { return is_large(x) ? static_cast<double>(std::tan(static_cast<long double>(x))) : std::tan(x); }

double precise_lgamma(double x) {
  int sign = 0;  // lgamma itself writes a global variable
  return static_cast<double>(::lgammal_r(x, &sign));
}

double polygamma(double n, double x) {
  if (n < 0 || n != std::floor(n)) return kNan;
  if (n == 0) return digamma(x);
  const double size = std::tgamma(n + 1) * hurwitz_zeta(n + 1, x);
  return std::fmod(n, 2) == 0 ? -size : size;
}

// By Halley's iteration on erf, or where that is near 1 on erfc.
double erf_inv(double x) {
  const double a = std::abs(x);
  if (!(a < 1)) return a == 1 ? x * kInfinity : kNan;
  if (x == 0) return x;
  const double l = std::log1p(-x * x), t = 2 / (std::numbers::pi * .147) + l / 2;  // S. Winitzki, 2008: good to 2e-3
  double y = std::sqrt(std::sqrt(t * t - l / .147) - t);
  for (int step = 0; step < 3; ++step) {
    const double error = a < .5 ? std::erf(y) - a : (1 - a) - std::erfc(y);
    const double u = error * std::sqrt(std::numbers::pi) / 2 * std::exp(y * y);
    y -= u / (1 + y * u);
  }
  return std::copysign(y, x);
}

}  // namespace weft::detail
