// ulp [--stride N] [--random N] [--dtype float32|float64] [NAME...]: the largest errors of compiled functions, in units in the last place.
// float32: all 2^32 inputs, or each N-th bit pattern, against the C library in double precision (its vectors, and what seems to be worst
// again by its scalar functions); float64: N random inputs (10^8), half of them over all magnitudes and half in the usual range, against
// the C library in long double. Functions of two operands: N random pairs in both. Results too small for normal numbers count in the
// smallest normal one's units. One JSON object a function.
#include <fmt/format.h>
#include <weft/weft.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "reference.h"

using namespace weft;

namespace {

std::uint64_t stride = 1, samples = 100000000;
std::string_view dtype_wanted;
std::vector<std::string_view> only;
constexpr std::size_t kChunk = 1 << 20;

double ulps(float got, double want) {
  const auto rounded = static_cast<float>(want);
  if (got == rounded && std::abs(rounded) <= std::numeric_limits<float>::max()) {
    if (want == 0) return 0;
  } else {
    if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
    // One step from overflow is a step, not infinity.
    if (std::isinf(rounded) || std::isinf(got))
      return got == rounded ? 0 : std::abs(std::isinf(got) ? rounded : got) >= .999999f * std::numeric_limits<float>::max() ? 1 : 1e9;
  }
  const std::uint64_t exponent = std::max<std::uint64_t>(std::bit_cast<std::uint32_t>(rounded) >> 23 & 0xff, 1);
  return std::abs(got - want) * std::bit_cast<double>((1023 + 127 + 23 - exponent) << 52);
}
double ulps(double got, long double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e9;
  const auto rounded = static_cast<double>(want);
  if (std::isinf(rounded) || std::isinf(got))
    return got == rounded ? 0 : std::abs(std::isinf(got) ? rounded : got) >= .999999 * std::numeric_limits<double>::max() ? 1 : 1e9;
  const int exponent = rounded == 0 ? -1022 : std::max(std::ilogb(rounded), -1022);
  return static_cast<double>(std::abs(got - want) / std::ldexp(1.0L, exponent - 52));
}

/// Which of a block's results may be worse than `worst`: branch-free, to be vectorised.
bool suspicious(const float* got, const double* want, std::size_t n, double worst) {
  int any = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto rounded = static_cast<float>(want[i]);
    const std::uint32_t field = std::bit_cast<std::uint32_t>(rounded) >> 23 & 0xff, exponent = field > 1 ? field : 1;
    const double error = std::abs(got[i] - want[i]) * std::bit_cast<double>(std::uint64_t{1023 + 127 + 23 - exponent} << 52);
    const int both_nan = (want[i] != want[i]) & (got[i] != got[i]), same_infinity = (got[i] == rounded) & (field == 255);
    any |= !(error <= worst) & !both_nan & !same_infinity;
  }
  return any;
}

struct Worst {
  double error = 0, at = 0, second = 0, got = 0;
  std::uint64_t inputs = 0;
  void add(double e, double x, double y, double g) {
    if (e > error) error = e, at = x, second = y, got = g;
  }
  void print(std::string_view name, std::string_view dtype, bool two) const {
    fmt::print("{{\"function\": \"{}\", \"dtype\": \"{}\", \"inputs\": {}, \"ulp\": {:.4f}, \"at\": {:.17g}, {}\"got\": {:.17g}}}\n", name,
               dtype, inputs, error, at, two ? fmt::format("\"and\": {:.17g}, ", second) : std::string(), got);
    std::fflush(stdout);
  }
};

bool wanted(std::string_view name, std::string_view dtype) {
  return (only.empty() || std::find(only.begin(), only.end(), name) != only.end()) && (dtype_wanted.empty() || dtype_wanted == dtype);
}

/// Half over all magnitudes, half uniform in [lo, hi].
class Draw {
 public:
  Draw(double lo, double hi, double smallest, double largest) : usual_(lo, hi), exponent_(smallest, largest) {}
  double operator()() {
    const std::uint64_t coin = generator_();
    if (coin & 1) return usual_(generator_);
    const double x = std::exp2(exponent_(generator_));
    return coin & 2 ? -x : x;
  }

 private:
  std::mt19937_64 generator_{1};
  std::uniform_real_distribution<double> usual_, exponent_;
};

/// psi(x) - psi(zero) next to its zero, term by term, so that all is proportional to the distance.
long double digamma_near_zero(long double x) {
  long double zero = 1.46163214496836234128L;
  const long double d = (x - zero) + 1.82570963159634838e-20L;
  long double sum = 0;
  for (; zero < 30; ++zero, ++x) sum += d / (zero * x);
  // log(x) - 1 / (2 x) - 1 / (12 x^2) + ...
  const long double u = 1 / (x * x), v = 1 / (zero * zero), c[] = {-1 / 12.L, 1 / 120.L, -1 / 252.L, 1 / 240.L, -1 / 132.L, 691 / 32760.L};
  long double value = 0, slope = 0;
  for (int k = 5; k >= 0; --k) slope = slope * u + value, value = value * v + c[k];
  slope = slope * u + value;
  return sum + std::log1p(d / zero) + d / (2 * x * zero) - slope * d * (x + zero) * u * v;
}
/// The digamma function by its asymptotic series, from where that is exact to the last bit.
long double digamma_reference(long double x) {
  if (std::abs(x - 1.46L) < .2L) return digamma_near_zero(x);
  if (std::isnan(x)) return x;
  if (x <= 0) {
    if (x == std::floor(x)) return std::numeric_limits<long double>::quiet_NaN();
    const long double pi = std::numbers::pi_v<long double>, part = x - std::round(x);
    return digamma_reference(1 - x) - pi / std::tan(pi * part);
  }
  long double shift = 0;
  for (; x < 20; ++x) shift += 1 / x;
  const long double z = 1 / (x * x);
  const long double c[] = {1 / 12.L,       -1 / 120.L, 1 / 252.L,      -1 / 240.L,     1 / 132.L,
                           -691 / 32760.L, 1 / 12.L,   -3617 / 8160.L, 43867 / 14364.L};
  long double series = 0;
  for (int k = 8; k >= 0; --k) series = z * (c[k] + series);
  return std::log(x) - .5L / x - series - shift;
}
/// The inverse of the error function by Newton's method with Halley's correction; near 1 by way of the complement, which keeps the digits.
template <class T>
T erf_inv_reference(T x) {
  const T a = std::abs(x), half_root_pi = std::sqrt(std::numbers::pi_v<T>) / 2;
  if (!(a < 1)) return a == 1 ? std::copysign(std::numeric_limits<T>::infinity(), x) : std::numeric_limits<T>::quiet_NaN();
  const T l = std::log1p(-a) + std::log1p(a), t = 2 / (std::numbers::pi_v<T> * T(.147)) + l / 2;  // S. Winitzki, 2008: good to 2e-3
  T y = a < T(1e-3) ? a * half_root_pi : std::sqrt(std::sqrt(t * t - l / T(.147)) - t);
  for (int i = 0; i < 3; ++i) {
    const T error = a < T(.5) ? std::erf(y) - a : (1 - a) - std::erfc(y), step = error * half_root_pi * std::exp(y * y);
    y -= step / (1 + y * step);
  }
  return std::copysign(y, x);
}

template <class F, class N, class W>
void one(const char* name, F f, N narrow, W wide, double lo, double hi) {
  const auto compiled = jit([=](Array x) { return f(x); });
  if (wanted(name, "float32")) {
    Worst worst;
    const reference::Loop vectors = reference::loop(name);
    std::vector<double> wider(kChunk), wanted_there(kChunk);
    for (std::uint64_t begin = 0; begin < std::uint64_t{1} << 32; begin += kChunk * stride) {
      std::vector<float> x(kChunk);
      for (std::size_t i = 0; i < kChunk; ++i) x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(begin + i * stride));
      const Array results = compiled(array(x));
      const auto y = results.template data<float>();
      constexpr std::size_t kBlock = 1024;
      for (std::size_t at = 0; at < kChunk; at += kBlock) {
        if (vectors) {
          std::copy_n(&x[at], kBlock, wider.begin());
          vectors(wider.data(), wanted_there.data(), kBlock);
          if (!suspicious(&y[at], wanted_there.data(), kBlock, worst.error)) continue;
        }
        for (std::size_t i = at; i < at + kBlock; ++i) worst.add(ulps(y[i], narrow(x[i])), x[i], 0, y[i]);
      }
      worst.inputs += kChunk;
    }
    worst.print(name, "float32", false);
  }
  if (wanted(name, "float64")) {
    Worst worst;
    Draw draw(lo, hi, -1074, 1024);
    while (worst.inputs < samples) {
      std::vector<double> x(kChunk);
      for (double& v : x) v = draw();
      const Array results = compiled(array(x, {kChunk}));
      const auto y = results.template data<double>();
      for (std::size_t i = 0; i < kChunk; ++i) worst.add(ulps(y[i], wide(x[i])), x[i], 0, y[i]);
      worst.inputs += kChunk;
    }
    worst.print(name, "float64", false);
  }
}

template <class T, class Wider, class F, class R>
void two(const char* name, std::string_view dtype, F f, R reference) {
  if (!wanted(name, dtype)) return;
  const auto compiled = jit([=](Array x, Array y) { return f(x, y); });
  Worst worst;
  Draw draw(-20, 20, sizeof(T) == 4 ? -149 : -1074, sizeof(T) == 4 ? 128 : 1024);
  while (worst.inputs < samples) {
    std::vector<T> x(kChunk), y(kChunk);
    for (std::size_t i = 0; i < kChunk; ++i) {
      x[i] = static_cast<T>(draw()), y[i] = static_cast<T>(draw());
      // Every second pair of a power has a result in range.
      if (std::string_view(name) == "pow" && i % 2)
        x[i] = std::abs(x[i]), y[i] = static_cast<T>(y[i] / 20 * (sizeof(T) == 4 ? 89 : 710) / std::log(static_cast<double>(x[i])));
    }
    const Array results = compiled(array(x, {kChunk}), array(y, {kChunk}));
    const auto z = results.template data<T>();
    for (std::size_t i = 0; i < kChunk; ++i)
      worst.add(ulps(z[i], reference(static_cast<Wider>(x[i]), static_cast<Wider>(y[i]))), x[i], y[i], z[i]);
    worst.inputs += kChunk;
  }
  worst.print(name, dtype, true);
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (a == "--stride" && i + 1 < argc)
      stride = std::max(1ULL, std::strtoull(argv[++i], nullptr, 10));
    else if (a == "--random" && i + 1 < argc)
      samples = std::strtoull(argv[++i], nullptr, 10);
    else if (a == "--dtype" && i + 1 < argc)
      dtype_wanted = argv[++i];
    else if (!a.starts_with("--"))
      only.push_back(a);
    else
      return fmt::print(stderr, "usage: ulp [--stride N] [--random N] [--dtype float32|float64] [NAME...]\n"), 2;
  }
#define WEFT_ULP(name, lo, hi)                                                                    \
  one(                                                                                            \
      #name, [](const Array& x) { return weft::name(x); }, [](double x) { return std::name(x); }, \
      [](long double x) { return std::name(x); }, lo, hi)
  WEFT_ULP(exp, -700, 700);
  WEFT_ULP(exp2, -1000, 1000);
  WEFT_ULP(expm1, -5, 5);
  WEFT_ULP(log, 0, 10);
  WEFT_ULP(log1p, -1, 3);
  WEFT_ULP(log2, 0, 10);
  WEFT_ULP(tanh, -10, 10);
  WEFT_ULP(sin, -1000, 1000);
  WEFT_ULP(cos, -1000, 1000);
  WEFT_ULP(tan, -10, 10);
  WEFT_ULP(asin, -1, 1);
  WEFT_ULP(acos, -1, 1);
  WEFT_ULP(atan, -5, 5);
  WEFT_ULP(sinh, -90, 90);
  WEFT_ULP(cosh, -90, 90);
  WEFT_ULP(asinh, -10, 10);
  WEFT_ULP(acosh, 1, 10);
  WEFT_ULP(atanh, -1, 1);
  WEFT_ULP(erf, -6, 6);
  WEFT_ULP(erfc, -6, 28);
  WEFT_ULP(lgamma, 0, 50);
  WEFT_ULP(cbrt, -10, 10);
#undef WEFT_ULP
  one(
      "sigmoid", [](const Array& x) { return sigmoid(x); },
      [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); },
      [](long double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }, -40, 40);
  one(
      "rsqrt", [](const Array& x) { return rsqrt(x); }, [](double x) { return 1 / std::sqrt(x); },
      [](long double x) { return 1 / std::sqrt(x); }, 0, 10);
  one(
      "digamma", [](const Array& x) { return digamma(x); }, [](double x) { return static_cast<double>(digamma_reference(x)); },
      digamma_reference, 0, 50);
  one(
      "digamma_positive", [](const Array& x) { return digamma(abs(x)); },
      [](double x) { return static_cast<double>(digamma_reference(std::abs(x))); },
      [](long double x) { return digamma_reference(std::abs(x)); }, 0, 50);
  one("erf_inv", [](const Array& x) { return erf_inv(x); }, erf_inv_reference<double>, erf_inv_reference<long double>, -1, 1);
  two<float, double>("pow", "float32", [](Array x, Array y) { return pow(x, y); }, [](double x, double y) { return std::pow(x, y); });
  two<double, long double>(
      "pow", "float64", [](Array x, Array y) { return pow(x, y); }, [](long double x, long double y) { return std::pow(x, y); });
  two<float, double>("atan2", "float32", [](Array x, Array y) { return atan2(x, y); }, [](double x, double y) { return std::atan2(x, y); });
  two<double, long double>(
      "atan2", "float64", [](Array x, Array y) { return atan2(x, y); }, [](long double x, long double y) { return std::atan2(x, y); });
}
