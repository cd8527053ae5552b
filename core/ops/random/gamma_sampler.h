// Gamma variates as they are drawn, number by number, and their derivative by the shape parameter. Standing alone, as exported object files
// draw them too.
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "weft/core/array/half.h"
#include "weft/core/ops/elementwise/special_functions.h"
#include "weft/core/ops/random/threefry.h"

namespace weft::detail {

/// For a floating format: how many bits are drawn for a number, and how many of them become its mantissa.
template <class T>
struct GammaFormat;
template <>
struct GammaFormat<float> {
  static constexpr int bits = 32, mantissa = 23;
};
template <>
struct GammaFormat<double> {
  static constexpr int bits = 64, mantissa = 52;
};
template <>
struct GammaFormat<Float16> {
  static constexpr int bits = 16, mantissa = 10;
};
template <>
struct GammaFormat<BFloat16> {
  static constexpr int bits = 8, mantissa = 7;
};

/// One variate after another, each operation rounded to T, so that the numbers are those of a program in that dtype.
template <class T>
struct GammaSampler {
  static double r(double v) { return static_cast<double>(T(v)); }

  /// In [0, 1).
  static double uniform(Words key) {
    const std::uint64_t bits = bits_of_block(threefry_block(key, 0), GammaFormat<T>::bits);
    return std::ldexp(static_cast<double>(bits >> (GammaFormat<T>::bits - GammaFormat<T>::mantissa)), -GammaFormat<T>::mantissa);
  }
  static double normal(Words key) {
    const double low = std::ldexp(1., -GammaFormat<T>::mantissa - 1) - 1;  // the next number after -1
    const double u = std::max(low, r(r(uniform(key) * r(1 - low)) + low));
    return r(r(std::sqrt(2.)) * r(erf_inv(u)));
  }

  /// G. Marsaglia and W. Tsang, A Simple Method for Generating Gamma Variables, ACM TOMS 26 (2000). For alpha < 1, a variate for alpha + 1
  /// times u^(1 / alpha). The draws are those of jax.random.gamma.
  static double sample(Words key, double alpha, bool log_space) {
    const double third = r(1. / 3), squeeze = r(0.0331);
    const bool boosted = !(alpha >= 1);
    const double d = r((boosted ? r(alpha + 1) : alpha) - third), c = r(third / r(std::sqrt(d)));
    const Words boost_key = threefry_block(key, 1);
    key = threefry_block(key, 0);
    double x2 = 0, v = 1, u = 2;
    while (u >= r(1 - r(squeeze * r(x2 * x2))) && r(std::log(u)) >= r(r(x2 * 0.5) + r(d * r(r(1 - v) + r(std::log(v)))))) {
      Words x_key = threefry_block(key, 1);
      const Words u_key = threefry_block(key, 2);
      key = threefry_block(key, 0);
      double x = 0, root = -1;
      while (root <= 0) {
        x = normal(threefry_block(x_key, 1));
        x_key = threefry_block(x_key, 0);
        root = r(1 + r(x * c));
      }
      x2 = r(x * x), v = r(r(root * root) * root), u = uniform(u_key);
    }
    if (log_space) {
      const double log_u = r(std::log1p(-uniform(boost_key)));
      const double boost = boosted && log_u != 0 ? r(log_u * r(1 / alpha)) : 0;
      return r(r(r(std::log(d)) + r(std::log(v))) + boost);
    }
    const double boost = boosted ? r(std::pow(r(1 - uniform(boost_key)), r(1 / alpha))) : 1;
    return r(r(d * v) * boost);
  }
};

/// The derivative of a variate x by alpha at a fixed value of the distribution function P: -(dP/dalpha) / (dP/dx) (M. Figurnov, S. Mohamed
/// and A. Mnih, Implicit Reparameterization Gradients, 2018).
inline double gamma_derivative(double a, double x) {
  if (std::isnan(a) || std::isnan(x) || a <= 0 || x < 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return 0;
  if (std::isinf(x)) return x;
  if (x <= 1 || x <= a) {
    // P = x^a exp(-x) / Gamma(a + 1) * sum of x^n / ((a + 1) ... (a + n))
    double term = 1, derivative = 0, sum = 1, sum_derivative = 0;
    for (int n = 1; n < 1000000; ++n) {
      const double step = x / (a + n);
      derivative = derivative * step - term * step / (a + n);
      term *= step;
      sum += term, sum_derivative += derivative;
      if (term < 1e-17 * sum && std::abs(derivative) <= 1e-17 * std::abs(sum_derivative)) break;
    }
    return -(sum_derivative + sum * (std::log(x) - digamma(a + 1))) * x / a;
  }
  // 1 - P = x^a exp(-x) / Gamma(a) * 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...)))
  const int depth = static_cast<int>(std::min(1e5, 200 + 10 * std::sqrt(a)));
  double f = x + 2 * depth + 1 - a, derivative = -1;
  for (int n = depth; n >= 1; --n) {
    const double top = n * (n - a);
    derivative = -1 - (-n / f - top * derivative / (f * f));
    f = x + 2 * n - 1 - a - top / f;
  }
  const double fraction = 1 / f, fraction_derivative = -derivative / (f * f);
  return (fraction_derivative + fraction * (std::log(x) - digamma(a))) * x;
}

}  // namespace weft::detail
