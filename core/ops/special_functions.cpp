#include "core/ops/special_functions.h"

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

}  // namespace

double digamma(double x) {
  if (x <= 0) {
    if (x == std::floor(x)) return kNan;
    return digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * (x - std::round(x)));
  }
  if (std::isinf(x)) return x;
  double sum = 0;
  for (; x < 12; x += 1) sum -= 1 / x;
  sum += std::log(x) - 0.5 / x;
  double power = 1;
  for (std::size_t j = 0; j < 8; ++j) {
    power /= x * x;
    sum -= kBernoulli[j] / (2. * static_cast<double>(j) + 2) * power;
  }
  return sum;
}

double polygamma(double n, double x) {
  if (n < 0 || n != std::floor(n)) return kNan;
  if (n == 0) return digamma(x);
  const double size = std::tgamma(n + 1) * hurwitz_zeta(n + 1, x);
  return std::fmod(n, 2) == 0 ? -size : size;
}

double erf_inv(double x) {
  const double a = std::abs(x);
  if (!(a < 1)) return a == 1 ? x * kInfinity : kNan;
  if (a == 0) return x;
  // A start from the leading terms at both ends, then Halley's iteration on erf, or where it is near 1 on erfc.
  const double tail = 1 - a, w = -std::log(tail * (1 + a));
  double y = a < 0.7 ? a * (0.8862269254527580 + 0.2320137 * a * a) : std::sqrt(w - 0.5 * std::log(std::numbers::pi * (w + 0.5)));
  if (!(y > 0)) y = 0.5;
  for (int step = 0; step < 8; ++step) {
    const double error = a < 0.5 ? std::erf(y) - a : tail - std::erfc(y);
    const double u = error * 0.5 * std::sqrt(std::numbers::pi) * std::exp(y * y);
    const double next = y - u / (1 + y * u);
    if (next == y) break;
    y = next;
  }
  return std::copysign(y, x);
}

}  // namespace weft::detail
