#include "tests/exact/hard_cases.h"

#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace weft::exact {

using detail::MathFunction;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

bool narrow(DType dtype) { return dtype == float32; }
/// By way of memory: g++ 12 takes the conversions of two neighbours away where it makes vectors of them (-O2).
double number_of(DType dtype, double x) {
  if (!narrow(dtype)) return x;
  const volatile float rounded = static_cast<float>(x);
  return rounded;
}
double next(DType dtype, double x, double towards) {
  return narrow(dtype) ? std::nextafterf(static_cast<float>(x), static_cast<float>(towards)) : std::nextafter(x, towards);
}

/// Collects numbers of a dtype.
class Collector {
 public:
  explicit Collector(DType dtype) : dtype_(dtype) {}
  void add(double x) { all_.push_back(number_of(dtype_, x)); }
  void both(double x) { add(x), add(-x); }
  /// x and its neighbours, of both signs.
  void around(double x, int steps = 4) {
    double up = number_of(dtype_, x), down = up;
    both(up);
    for (int i = 0; i < steps; ++i) both(up = next(dtype_, up, kInf)), both(down = next(dtype_, down, -kInf));
  }
  std::vector<double> take() {
    std::sort(all_.begin(), all_.end(), [](double a, double b) { return a < b || (a == b && std::signbit(a) > std::signbit(b)); });
    all_.erase(std::unique(all_.begin(), all_.end(), [](double a, double b) { return a == b && std::signbit(a) == std::signbit(b); }),
               all_.end());
    return std::move(all_);
  }

 private:
  DType dtype_;
  std::vector<double> all_;
};

/// What is hard for any function.
void usual_suspects(Collector& c, DType dtype, int more, std::mt19937_64& random) {
  const int lowest = narrow(dtype) ? -149 : -1074, highest = narrow(dtype) ? 127 : 1023;
  c.both(0), c.both(kInf);
  for (int e = lowest; e <= highest; e += narrow(dtype) ? 1 : 5) c.around(std::ldexp(1., e), 1);
  c.around(narrow(dtype) ? 0x1p-126 : 0x1p-1022);
  c.around(narrow(dtype) ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max(), 3);
  for (int i = 1; i <= 20; ++i) c.both(i), c.both(i + .5);
  std::uniform_real_distribution<double> exponent(lowest, highest), near(-60, 4);
  for (int i = 0; i < 600 * more; ++i) c.both(std::exp2(exponent(random))), c.both(std::exp2(near(random)));
  for (int i = 0; i < 300 * more; ++i) c.both(1 + std::exp2(near(random))), c.both(1 - std::exp2(near(random)));
}

/// Where implementations change their formula, and the usual range.
struct Places {
  std::vector<double> bounds;
  double lo, hi;
};
Places places(MathFunction f, bool narrow) {
  const double ln2 = std::log(2.), most = narrow ? 88.72283905206835 : 709.782712893384, least = narrow ? -103.972077 : -745.133219;
  switch (f) {
    case MathFunction::exp:
      return {{most, least, narrow ? -87.33654475 : -708.3964185, ln2 / 2, ln2 / 32, 709, 710, 746, 88, 89, 104}, least, most};
    case MathFunction::exp2:
      return {{narrow ? 128. : 1024., narrow ? -149. : -1074., narrow ? -150. : -1075., narrow ? -126. : -1022., .5, 1.5},
              narrow ? -150. : -1075.,
              narrow ? 128. : 1024.};
    case MathFunction::expm1: return {{most, ln2 / 2, ln2 * 1.5, 40, 20, 37.5, 17.3}, -4, 4};
    case MathFunction::log:
    case MathFunction::log2: return {{std::sqrt(.5), std::sqrt(2.), std::sqrt(8.), narrow ? 0x1p-126 : 0x1p-1022}, 0, 4};
    case MathFunction::log1p: return {{std::sqrt(.5) - 1, std::sqrt(2.) - 1, -.5, -1}, -1, 4};
    case MathFunction::tanh: return {{.55, .0625, .09375, 9.02, 10, 22, 19.06154746539849}, -10, 10};
    case MathFunction::logistic:
      return {{most, least, 104, 746, 709, 88, narrow ? 87.33654475 : 708.3964185, narrow ? 16.6 : 36.7}, -40, 40};
    case MathFunction::sin:
    case MathFunction::cos:
    case MathFunction::tan: return {{M_PI / 4, M_PI * 3 / 4, 0x1p30, 0x1p18, 0x1p40, 1e22}, -100, 100};
    case MathFunction::asin:
    case MathFunction::acos: return {{.5, .545, 1}, -1, 1};
    case MathFunction::atan: return {{std::tan(M_PI / 8), std::tan(M_PI * 3 / 8), .5, 2, 1e7, 1e16}, -4, 4};
    case MathFunction::sinh:
    case MathFunction::cosh: return {{most, most + ln2, 1.25, 709, 711, 90, 88, 22, 10}, -5, 5};
    case MathFunction::asinh: return {{1e150, 1e18, 0x1p500, 0x1p-28, 0x1p-500}, -5, 5};
    case MathFunction::acosh: return {{1, 2, 1e150, 1e18}, 1, 6};
    case MathFunction::atanh: return {{.5, 1}, -1, 1};
    case MathFunction::erf: return {{.92, 1, 3.95, 6, 3.875, 5.9}, -6, 6};
    case MathFunction::erfc: return {{.45, .46, 2, 3.75, 10.05, 10.6, 9.194, 27.3, 26.5432, 27.226}, -6, narrow ? 10.1 : 27.3};
    case MathFunction::erf_inv: return {{.843, std::sqrt(1 - std::exp(-5.)), 1, .5}, -1, 1};
    case MathFunction::lgamma:
      return {{.5, 1, 1.5, 2, 2.5, 3, 1e10, narrow ? 4.0850034e36 : 2.5563481638716906e305, 0x1p52, 0x1p23}, 0, 20};
    case MathFunction::digamma: return {{1, 1.4616321449683623, 2, 2.5, 1e10, 0x1p52}, 0, 20};
    case MathFunction::cbrt: return {{1, 8, 27, 64, narrow ? 0x1p-126 : 0x1p-1022}, -10, 10};
    case MathFunction::rsqrt: return {{1, 4, 9, narrow ? 0x1p-126 : 0x1p-1022}, 0, 4};
    default: return {{}, -1, 1};
  }
}

}  // namespace

std::vector<double> nearest_to_half_pi(DType dtype) {
  const int digits = narrow(dtype) ? 24 : 53, highest = narrow(dtype) ? 128 : 1024;
  Collector c(dtype);
  // x = m 2^e is nearest to multiples of pi/2 where m is the denominator of a convergent of 2^e 2/pi.
  mpfr_t ratio, rest, whole;
  mpfr_inits2(1400, ratio, rest, whole, nullptr);
  for (int e = -digits + 1; e <= highest - digits; ++e) {
    mpfr_const_pi(ratio, MPFR_RNDN), mpfr_ui_div(ratio, 2, ratio, MPFR_RNDN), mpfr_mul_2si(ratio, ratio, e, MPFR_RNDN);
    mpfr_floor(whole, ratio), mpfr_sub(rest, ratio, whole, MPFR_RNDN);
    std::uint64_t before = 0, denominator = 1;
    const std::uint64_t end = std::uint64_t{1} << digits;
    while (!mpfr_zero_p(rest)) {
      if (denominator < end && denominator >= end / 4) {
        const std::uint64_t times = end / 2 > denominator ? (end / 2 + denominator - 1) / denominator : 1;
        for (std::uint64_t k = times; k * denominator < end && k < times + 2; ++k)
          c.both(std::ldexp(static_cast<double>(k * denominator), e));
      }
      mpfr_ui_div(rest, 1, rest, MPFR_RNDN), mpfr_floor(whole, rest), mpfr_sub(rest, rest, whole, MPFR_RNDN);
      if (mpfr_cmp_ui(whole, end) > 0) break;
      const std::uint64_t following = mpfr_get_ui(whole, MPFR_RNDN) * denominator + before;
      before = denominator, denominator = following;
      if (denominator >= end) break;
    }
  }
  mpfr_clears(ratio, rest, whole, nullptr);
  return c.take();
}

std::vector<double> hard_arguments(MathFunction f, DType dtype, int more) {
  Collector c(dtype);
  std::mt19937_64 random(static_cast<std::uint64_t>(f) * 2 + narrow(dtype));
  usual_suspects(c, dtype, more, random);
  const Places p = places(f, narrow(dtype));
  for (const double bound : p.bounds) c.around(bound);
  std::uniform_real_distribution<double> usual(p.lo, p.hi), wide(-40, 0);
  for (int i = 0; i < 2000 * more; ++i) c.add(usual(random));
  for (const double bound : p.bounds)
    for (int i = 0; i < 40 * more; ++i) c.both(bound * (1 + std::exp2(wide(random)))), c.both(bound * (1 - std::exp2(wide(random))));
  switch (f) {
    case MathFunction::sin:
    case MathFunction::cos:
    case MathFunction::tan: {
      for (const double x : nearest_to_half_pi(dtype)) c.around(x, 1);
      mpfr_t x;
      mpfr_init2(x, 1200);
      std::uniform_real_distribution<double> bits(0, narrow(dtype) ? 40 : 60);
      for (int i = 1; i < 2000 * more; ++i) {
        // Next to multiples of pi/2: the first ones in order, then some of any size.
        mpfr_const_pi(x, MPFR_RNDN), mpfr_mul_d(x, x, i < 1000 * more ? i : std::floor(std::exp2(bits(random))), MPFR_RNDN),
            mpfr_div_2ui(x, x, 1, MPFR_RNDN);
        narrow(dtype) ? c.around(mpfr_get_flt(x, MPFR_RNDN), 1) : c.around(mpfr_get_d(x, MPFR_RNDN), 1);
      }
      mpfr_clear(x);
      break;
    }
    case MathFunction::exp:
    case MathFunction::expm1:
    case MathFunction::logistic:
    case MathFunction::sinh:
    case MathFunction::cosh:
      // Where the exponent of the reduction changes.
      for (int n = 0; n < (narrow(dtype) ? 150 : 1080); n += 1 + n / 60)
        c.around((n + .5) * std::log(2.), 2), c.around(n * std::log(2.), 2);
      break;
    case MathFunction::lgamma:
    case MathFunction::digamma: {
      // Poles, halves, and the zeros between poles, found by bisection.
      for (int n = 0; n <= 60; ++n) {
        c.around(n, 3), c.around(n + .5, 2);
        for (int i = 0; i < 10 * more; ++i) c.add(-n - std::exp2(wide(random))), c.add(-n + std::exp2(wide(random)));
      }
      mpfr_t lo, hi, middle, value;
      mpfr_inits2(120, lo, hi, middle, value, nullptr);
      const auto sign_at = [&](mpfr_srcptr x) {
        int sign = 0;
        f == MathFunction::lgamma ? mpfr_lgamma(value, &sign, x, MPFR_RNDN) : mpfr_digamma(value, x, MPFR_RNDN);
        return mpfr_sgn(value);
      };
      for (int n = 0; n < 30; ++n)
        for (const auto& [from, to] : {std::pair{-n - 1 + 1e-15 * (n + 1), -n - .5}, {-n - .5, -n - 1e-15 * (n + 1)}}) {
          mpfr_set_d(lo, from, MPFR_RNDN), mpfr_set_d(hi, to, MPFR_RNDN);
          const int first = sign_at(lo);
          if (first * sign_at(hi) >= 0) continue;
          for (int i = 0; i < 100; ++i) {
            mpfr_add(middle, lo, hi, MPFR_RNDN), mpfr_div_2ui(middle, middle, 1, MPFR_RNDN);
            sign_at(middle) == first ? mpfr_set(lo, middle, MPFR_RNDN) : mpfr_set(hi, middle, MPFR_RNDN);
          }
          const double zero = mpfr_get_d(lo, MPFR_RNDN);
          c.around(zero, 3);
          for (int i = 0; i < 20 * more; ++i)
            c.add(zero * (1 + std::exp2(wide(random) - 5))), c.add(zero * (1 - std::exp2(wide(random) - 5)));
        }
      mpfr_clears(lo, hi, middle, value, nullptr);
      for (int i = 0; i < 300 * more; ++i) c.add(-60 * std::exp2(wide(random) / 8));
      break;
    }
    default: break;
  }
  return c.take();
}

std::vector<std::pair<double, double>> hard_pairs(MathFunction f, DType dtype, int more) {
  std::vector<std::pair<double, double>> all;
  std::mt19937_64 random(static_cast<std::uint64_t>(f) * 2 + narrow(dtype));
  const auto add = [&](double x, double y) { all.emplace_back(number_of(dtype, x), number_of(dtype, y)); };
  const double largest = narrow(dtype) ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const int lowest = narrow(dtype) ? -149 : -1074, highest = narrow(dtype) ? 127 : 1023;
  const double least = std::ldexp(1., lowest), normal = std::ldexp(1., narrow(dtype) ? -126 : -1022);
  const double corners[] = {0,
                            .5,
                            1,
                            2,
                            3,
                            1.5,
                            2.5,
                            least,
                            normal,
                            largest,
                            kInf,
                            1 - std::ldexp(1., narrow(dtype) ? -24 : -53),
                            1 + std::ldexp(1., narrow(dtype) ? -23 : -52),
                            1e10,
                            1e-10,
                            10,
                            .1};
  for (const double x : corners)
    for (const double y : corners)
      for (const double s : {1., -1.})
        for (const double t : {1., -1.}) add(s * x, t * y);
  std::uniform_real_distribution<double> exponent(lowest, highest), unit(-1, 1), near(-60, 0);
  const double limit = narrow(dtype) ? 89 : 710, vanish = narrow(dtype) ? -104 : -746;
  for (int i = 0; i < 500 * more; ++i) {
    const double x = number_of(dtype, std::exp2(exponent(random))),
                 close = number_of(dtype, 1 + (unit(random) < 0 ? -.5 : 1) * std::exp2(near(random)));
    if (f == MathFunction::pow) {
      // Results of any size; at the ends of the range; bases next to 1 with huge exponents; powers of small integers, exact and not;
      // halves.
      const auto to = [&](double base, double logarithm) {
        if (base != 1) add(base, logarithm / std::log(base));
      };
      to(x, unit(random) * limit), to(close, unit(random) * limit), to(x, limit + unit(random)), to(x, vanish + unit(random)),
          to(close, limit + unit(random));
      to(close, vanish * (1 - .1 * std::abs(unit(random)))), to(x, std::exp2(near(random))),
          to(std::abs(unit(random)), unit(random) * limit), to(x, 1e-3 * unit(random));
      add(1 + i % 23, i % 17), add(-(1 + i % 23), i % 17 - 8), add(1 + i % 61, i % 9 + .5), add(-x, std::round(20 * unit(random)));
      add(std::exp2(i % 20 - 10), (i % 31) * .25 - 3), add((i % 500 + 1) * (i % 500 + 1), .5), add(x, unit(random)),
          add(x, std::exp2(exponent(random)));
    } else {
      const double y = std::exp2(exponent(random)), s = unit(random) < 0 ? -1 : 1, t = unit(random) < 0 ? -1 : 1;
      add(s * x, t * y), add(s * x, t * x * close), add(s * unit(random), unit(random)), add(s * x, x * t * std::tan(M_PI / 8) * close),
          add(x * unit(random), x * unit(random));
      add(s * x, t * x * std::exp2(120 * unit(random))), add(s * least * (i % 30), t * least * (i / 30 % 30)),
          add(s * largest * unit(random), largest * unit(random));
      add(s * x, t * x * .5 * close);
    }
  }
  return all;
}

std::vector<std::pair<double, double>> hard_complex(DType part, int more) {
  std::vector<std::pair<double, double>> all;
  std::mt19937_64 random(77 + narrow(part));
  const auto add = [&](double x, double y) { all.emplace_back(number_of(part, x), number_of(part, y)); };
  const double largest = narrow(part) ? std::numeric_limits<float>::max() : std::numeric_limits<double>::max();
  const int lowest = narrow(part) ? -149 : -1074, highest = narrow(part) ? 127 : 1023;
  const double least = std::ldexp(1., lowest), normal = std::ldexp(1., narrow(part) ? -126 : -1022), overflow = narrow(part) ? 88.7 : 709.7;
  const double corners[] = {
      0,           1,           .5,       2, least, normal, largest, largest / 2, std::sqrt(largest), std::sqrt(normal),
      1 - 0x1p-20, 1 + 0x1p-20, overflow, 3, 1e-5,  1.5};
  for (const double x : corners)
    for (const double y : corners)
      for (const double s : {1., -1.})
        for (const double t : {1., -1.}) add(s * x, t * y);
  std::uniform_real_distribution<double> exponent(lowest, highest), unit(-1, 1), near(-70, 2), angle(-M_PI, M_PI);
  for (int i = 0; i < 300 * more; ++i) {
    const auto sign = [&] { return unit(random) < 0 ? -1. : 1.; };
    const double tiny = sign() * std::exp2(near(random)), small = sign() * std::exp2(near(random)), a = angle(random),
                 x = std::exp2(exponent(random));
    add(3 * unit(random), 3 * unit(random)), add(sign() + tiny, small), add(tiny, sign() + small), add(tiny, small),
        add(std::cos(a), std::sin(a));
    add(x * std::cos(a), x * std::sin(a)), add(sign() * x, sign() * std::exp2(exponent(random))), add(sign() * (1 + std::abs(tiny)), small),
        add((overflow + 2 * unit(random)) * sign(), 4 * unit(random));
    add(4 * unit(random), (overflow + 2 * unit(random)) * sign()), add(std::cos(a) * (1 + tiny), std::sin(a) * (1 + tiny)),
        add(20 * unit(random), 20 * unit(random)), add(sign() * std::exp2(near(random) / 8 + 8), tiny);
    add(M_PI / 2 * std::floor(4 * unit(random)) + tiny, small), add(small, M_PI / 2 * std::floor(4 * unit(random)) + tiny);
  }
  return all;
}

}  // namespace weft::exact
