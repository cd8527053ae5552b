// Every constant and table of backends/codegen/math against MPFR: words of a constant, coefficients of polynomials, values of intervals.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/exact/exact.h"
#include "weft/backends/codegen/math/coefficients.h"
#include "weft/backends/codegen/math/constants.h"
#include "weft/backends/codegen/math/tables.h"

using namespace weft;
using namespace weft::exact;
namespace c = weft::detail::coefficients;
namespace k = weft::detail::constants;
namespace t = weft::detail::tables;
using detail::MathFunction;

namespace {

using Words = std::span<const double>;
using Function = std::function<Number(const Number&)>;

Number f(MathFunction function, const Number& x, const Number& y = 0) { return evaluate(function, x, y); }
Number ln(const Number& x) { return f(MathFunction::log, x); }
Number exp(const Number& x) { return f(MathFunction::exp, x); }
Number power(const Number& x, int n) {
  Number p = 1;
  for (int i = 0; i < n; ++i) p *= x;
  return p;
}

/// The largest weighted error of the polynomial over [lo, hi], as the logarithm to base 2.
double error_of(Words coefficients, double lo, double hi, const Function& wanted, const Function& weight) {
  Number worst = 0;
  for (int i = 0; i <= 400; ++i) {
    const Number x = Number(lo) + (Number(hi) - lo) * (1 - std::cos(i * 3.14159265 / 400)) / 2 + 1e-9 * (hi - lo);
    const Number e = exact::abs((polynomial(coefficients, x) - wanted(x)) * weight(x));
    if (worst < e) worst = e;
  }
  return f(MathFunction::log2, worst).value();
}

}  // namespace

TEST_CASE("math constants: each word is the rounded rest of those before, and products that must be exact are") {
  struct Row {
    const char* name;
    Words words;
    Number value;
    int first, next;  // bits
  };
  const Number ln2 = ln(2);
  const Row rows[] = {
      {"pi", {&k::pi, 1}, pi(), 53, 53},
      {"2/pi", {&k::two_over_pi, 1}, 2 / pi(), 53, 53},
      {"pi/2, float64", k::half_pi_f64, pi() / 2, 53, 53},
      {"pi/2, float32", k::half_pi_f32, pi() / 2, 24, 24},
      {"tan(pi/8)", {&k::tan_eighth_pi, 1}, exact::sqrt(2) - 1, 53, 53},
      {"ln 2, float64", k::ln2_f64, ln2, 42, 53},  // times an exponent of 11 bits
      {"ln 2, float32", k::ln2_f32, ln2, 15, 24},  // times one of 8 bits
      {"ln 2", {&k::ln2, 1}, ln2, 53, 53},
      {"log2(e), float64", k::log2e_f64, 1 / ln2, 53, 53},
      {"log2(e), float32", k::log2e_f32, 1 / ln2, 24, 24},
      {"sqrt(1/2)", {&k::root_half, 1}, exact::sqrt(.5), 53, 53},
      {"2/3", k::two_thirds, Number(2) / 3, 53, 53},
      {"2/sqrt(pi) - 1", {&k::two_over_root_pi_less_one, 1}, 2 / exact::sqrt(pi()) - 1, 53, 53},
      {"ln(2 pi)/2 - 1/2", {&k::lgamma_constant, 1}, (ln(pi() * 2) - 1) / 2, 53, 53},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    Number rest = row.value;
    for (std::size_t i = 0; i < row.words.size(); ++i) {
      CAPTURE(i);
      CHECK(row.words[i] == rounded(rest, i == 0 ? row.first : row.next).value());
      rest -= row.words[i];
    }
  }
  // 2/pi in 400 bits, 32 of them behind the point at a time.
  mpfr_t rest, whole;
  mpfr_inits2(400, rest, whole, nullptr);
  mpfr_const_pi(rest, MPFR_RNDN), mpfr_ui_div(rest, 2, rest, MPFR_RNDN);
  for (const std::uint64_t word : k::two_over_pi_bits) {
    mpfr_floor(whole, rest);
    CHECK(word == mpfr_get_ui(whole, MPFR_RNDN));
    mpfr_sub(rest, rest, whole, MPFR_RNDN), mpfr_mul_2ui(rest, rest, 32, MPFR_RNDN);
  }
  mpfr_clears(rest, whole, nullptr);
  // The zero of digamma, in two words.
  const Number zero = Number(c::digamma_zero_f64) + c::digamma_zero_low_f64 + 1;
  CHECK(f(MathFunction::digamma, zero - 1e-32) < 0);
  CHECK(f(MathFunction::digamma, zero + 1e-32) > 0);
}

TEST_CASE("math constants: each polynomial is as near to its function as the digits of its result ask for") {
  const auto one = [](const Number&) { return Number(1); };
  const auto identity = [](const Number& x) { return x; };
  const auto square = [](const Number& x) { return x * x; };
  // (g(sqrt z) / sqrt z - first) / z.
  const auto odd = [](MathFunction g, Number first) -> Function {
    return [=](const Number& z) { return (f(g, exact::sqrt(z)) / exact::sqrt(z) - first) / z; };
  };
  const Function exp_tail = [](const Number& r) { return (f(MathFunction::expm1, r) - r) / (r * r); };
  const Function exp2_tail = [](const Number& r) { return (f(MathFunction::exp2, r) - 1) / r; };
  const Function log_tail = [](const Number& x) { return (f(MathFunction::log1p, x) - x + x * x / 2) / power(x, 3); };
  const Function atanh_tail = [](const Number& z) { return (f(MathFunction::atanh, exact::sqrt(z)) * 2 / exact::sqrt(z) - 2) / z; };
  const Function cos_tail = [](const Number& z) { return (f(MathFunction::cos, exact::sqrt(z)) - 1 + z / 2) / (z * z); };
  const Number two_over_root_pi = 2 / exact::sqrt(pi());
  const Function log_erfc = [](const Number& x) { return ln(f(MathFunction::erfc, x)) / x; };
  const Function erfc_weight = [](const Number& x) { return x * f(MathFunction::erfc, x); };
  const Function erf_exponent = [](const Number& x) { return -(ln(f(MathFunction::erfc, x)) / x) - 1; };
  const Function erf_weight = [](const Number& x) { return x * f(MathFunction::erfc, x) / f(MathFunction::erf, x); };
  const auto erfcx = [](double middle) -> Function {
    return [=](const Number& s) {
      const Number x = middle * (1 + s) / (1 - s);
      return f(MathFunction::erfc, x) * exp(x * x) * (1 + x * 2);
    };
  };
  // erf_inv(x) / x where -ln(1 - x^2) is w.
  const Function ratio = [](const Number& w) {
    const Number x = exact::sqrt(-f(MathFunction::expm1, -w));
    return erf_inv(x) / x;
  };
  const Function central = [&](const Number& u) { return ratio(u + 2.5) - 1; };
  const Function tail = [&](const Number& u) { return ratio((u + 3) * (u + 3)) - 1; };
  const auto over = [](const Function& g) -> Function { return [=](const Number& x) { return 1 / (g(x) + 1); }; };
  const auto inverse_of = [](const Function& g) -> Function { return [=](const Number& x) { return 1 / g(x); }; };
  const Function digamma_tail = [](const Number& w) {
    const Number x = 1 / exact::sqrt(w);
    return (ln(x) - 1 / (x * 2) - f(MathFunction::digamma, x)) * x * x;
  };
  const Function stirling = [](const Number& w) {
    const Number x = 1 / exact::sqrt(w);
    return (loggamma(x) - (x - .5) * ln(x) + x - ln(pi() * 2) / 2) * x;
  };
  const Function cot_tail = [](const Number& w) {
    const Number y = pi() * exact::sqrt(w);
    return (y / f(MathFunction::tan, y) - 1) / w;
  };
  const Function sin_tail = [](const Number& w) {
    const Number y = pi() * exact::sqrt(w);
    return (f(MathFunction::sin, y) / y - 1) / w;
  };
  const double half_ln2 = .3467, quarter_pi_square = .6185, log_lo = -.2930, log_hi = .4143;
  struct Row {
    const char* name;
    Words words;
    double lo, hi;
    Function wanted, weight;  // the weight makes it an error relative to the function's result
    double bits;
  };
  // Where a result is a sum of which the polynomial is the smaller part, the weight is that part of it.
  const Row rows[] = {
      {"exp_f32", c::exp_f32, -half_ln2, half_ln2, exp_tail, square, 28},
      {"exp_f64", c::exp_f64, -half_ln2, half_ln2, exp_tail, square, 60},
      {"expm1_f32", c::expm1_f32, -half_ln2, half_ln2, exp_tail, identity, 31},
      {"expm1_f64", c::expm1_f64, -half_ln2, half_ln2, exp_tail, identity, 59},
      {"exp2_f32", c::exp2_f32, -.5, .5, exp2_tail, identity, 28},
      {"exp2_f64", c::exp2_f64, -.5, .5, exp2_tail, identity, 56},
      {"log_f32", c::log_f32, log_lo, log_hi, log_tail, square, 30},
      {"log_f64", c::log_f64, 1e-6, .02944, atanh_tail, identity, 59},
      {"log_rest_f64", c::log_rest_f64, 1e-6, .02944, [&](const Number& z) { return (atanh_tail(z) - Number(2) / 3) / z; }, square, 65},
      {"sin_f32", c::sin_f32, 1e-6, quarter_pi_square, odd(MathFunction::sin, 1), identity, 31},
      {"cos_f32", c::cos_f32, 1e-6, quarter_pi_square, cos_tail, square, 36},
      {"sin_f64", c::sin_f64, 1e-6, quarter_pi_square, odd(MathFunction::sin, 1), identity, 57},
      {"cos_f64", c::cos_f64, 1e-6, quarter_pi_square, cos_tail, square, 59},
      {"tan_f32", c::tan_f32, 1e-6, quarter_pi_square, odd(MathFunction::tan, 1), identity, 29},
      {"tan_f64", c::tan_f64, 1e-6, quarter_pi_square, odd(MathFunction::tan, 1), identity, 56},
      {"sinh_f32", c::sinh_f32, 1e-6, 1.5625, odd(MathFunction::sinh, 1), identity, 31},
      {"sinh_f64", c::sinh_f64, 1e-6, 1.5625, odd(MathFunction::sinh, 1), identity, 55},
      {"tanh_f32", c::tanh_f32, 1e-6, .3025, odd(MathFunction::tanh, 1), identity, 29},
      {"tanh_f64", c::tanh_f64, 1e-6, .3025, odd(MathFunction::tanh, 1), identity, 57},
      {"atan_f32", c::atan_f32, 1e-6, .25, odd(MathFunction::atan, 1), identity, 31},
      {"atan_f64", c::atan_f64, 1e-6, .25, odd(MathFunction::atan, 1), identity, 57},
      {"asin_f32", c::asin_f32, 1e-6, .297, odd(MathFunction::asin, 1), identity, 29},
      {"asin_f64", c::asin_f64, 1e-6, .25, odd(MathFunction::asin, 1), identity, 57},
      {"erf_small_f32", c::erf_small_f32, 1e-6, .8464, odd(MathFunction::erf, two_over_root_pi), identity, 32},
      {"erf_small_f64", c::erf_small_f64, 1e-6, 1, odd(MathFunction::erf, two_over_root_pi), identity, 55},
      {"erf_exponent_f32", c::erf_exponent_f32, 1e-6, 3.95, erf_exponent, erf_weight, 27},
      {"erf_large_f64", c::erf_large_f64, 1, 6, log_erfc, erfc_weight, 55},
      {"erfcx_f32", c::erfcx_f32, -.63, .68, erfcx(2), one, 28},
      {"erf_inv_central_f32", c::erf_inv_central_f32, -2.5 + 1e-6, 2.5, central, over(central), 27},
      {"erf_inv_tail_f32", c::erf_inv_tail_f32, std::sqrt(5.) - 3, 1, tail, over(tail), 26},
      {"digamma_series_f64", c::digamma_series_f64, 1e-4, .16, digamma_tail, identity, 56},
      {"lgamma_series_f64", c::lgamma_series_f64, 1e-4, 1. / 9, stirling, one, 55},
      {"cot_pi_f64", c::cot_pi_f64, 1e-4, .25, cot_tail, identity, 54},
      {"sin_pi_f64", c::sin_pi_f64, 1e-4, .25, sin_tail, identity, 55},
  };
  for (const Row& row : rows) {
    const std::string name = row.name;
    CAPTURE(name);
    const double error = error_of(row.words, row.lo, row.hi, row.wanted, row.weight);
    MESSAGE(name, ": 2^", error);
    CHECK(error <= -row.bits);
  }

  // The lowest coefficient of erfcx_f64 has a second word.
  {
    std::vector<double> words(std::begin(c::erfcx_f64), std::end(c::erfcx_f64));
    const double first = words[0];
    words[0] = 0;
    const Function wanted = [&](const Number& s) { return erfcx(3.75)(s) - first - c::erfcx_low_f64; };
    const double error = error_of(words, -3.29 / 4.21, 23.55 / 31.05, wanted, one);
    MESSAGE("erfcx_f64: 2^", error);
    CHECK(error <= -58);
  }

  struct Quotient {
    const char* name;
    Words top, bottom;
    double lo, hi, more;  // added to the quotient
    Function wanted;
    Function weight;
    double bits;
  };
  const Function arch = [](const Number& s) {
    const Number u = s - .5;
    return loggamma(u + 1) / (u * (u - 1));
  };
  const Number zero = Number(c::digamma_zero_f64) + c::digamma_zero_low_f64;
  const Function slope = [&](const Number& u) { return f(MathFunction::digamma, u + 1) / (u - zero); };
  const Function erf_inv_central = [&](const Number& s) { return ratio(-ln(1 - (Number(.710649) - s))); };
  const Function erf_inv_tail = [](const Number& r) { return erf_inv(1 - exp(-(r * r))) - r; };
  const Quotient quotients[] = {
      {"erf_inv_central", c::erf_inv_central_top_f64, c::erf_inv_central_bottom_f64, 1e-6, .710648, 1, erf_inv_central, one, 53},
      {"erf_inv_tail", c::erf_inv_tail_top_f64, c::erf_inv_tail_bottom_f64, 1.36, 6.1, 0, erf_inv_tail,
       [](const Number& r) { return 1 / r; }, 55},
      {"digamma", c::digamma_top_f64, c::digamma_bottom_f64, 1e-6, 1.5, .8125, slope, inverse_of(slope), 55},
      {"lgamma", c::lgamma_top_f64, c::lgamma_bottom_f64, 1e-6, 2.5, .4375, arch, inverse_of(arch), 54},
  };
  for (const Quotient& q : quotients) {
    const std::string name = q.name;
    CAPTURE(name);
    const Function rest = [&](const Number& x) { return (q.wanted(x) - q.more) * polynomial(q.bottom, x); };
    const Function weight = [&](const Number& x) { return q.weight(x) / polynomial(q.bottom, x); };
    const double error = error_of(q.top, q.lo, q.hi, rest, weight);
    MESSAGE(name, ": 2^", error);
    CHECK(error <= -q.bits);
  }
}

TEST_CASE("math constants: the tables of sixteen intervals are their functions' values and polynomials") {
  const auto float_of = [](const Number& x) { return rounded(x, 24).value(); };
  const auto near = [](double got, const Number& want, double bits) {
    return exact::abs(got - want) < scaled(Number(1), -static_cast<long>(bits));
  };
  for (int i = 0; i < 16; ++i) {
    CAPTURE(i);
    const auto at = static_cast<std::size_t>(i);
    CHECK(t::two_to_sixteenths[at] == float_of(f(MathFunction::exp2, Number(i) / 16)));
    CHECK(t::two_to_sixteenths_low[at] == float_of(f(MathFunction::exp2, Number(i) / 16) - Number(t::two_to_sixteenths[at])));
    // ln(m) of the middle by its inverse, rounded to float32; in the upper half together with what the float32 nearest to ln 2 is too
    // large.
    const Number off = rounded(ln(2), 24) - ln(2);
    CHECK(near(t::logarithms[at], -ln(Number(t::inverses[at])) + (i >= 8 ? off : Number(0)), 32));
    if (i > 0 && i < 15) CHECK(std::abs(t::inverses[at] * (1 + (i + .5) / 16) - 1) < 1e-3);
    // A polynomial in the distance from the interval's middle, between both ends.
    const auto polynomial_at = [&](std::initializer_list<const float*> rows, const Number& r) {
      Number p;
      for (auto row = std::rbegin(rows); row != std::rend(rows); ++row) p = p * r + (*row)[at];
      return p;
    };
    for (int step = -8; step <= 8; ++step) {
      if (i == 0 && step <= 0) continue;
      const Number r = Number(step) / 64, x = Number(i) / 4 + r, want = f(MathFunction::erf, x);
      Number got = polynomial_at({t::erf_0, t::erf_1, t::erf_2, t::erf_3, t::erf_4, t::erf_5}, r);
      if (i == 0) got += r;
      CHECK(exact::abs(got / want - 1) < scaled(Number(1), -24));
    }
    const double octave = std::exp2(i / 2 - 4), lo = i == 0 ? 1e-3 : octave * (1 + i % 2 / 2.),
                 hi = i == 0 ? 3. / 32 : octave * (1 + (i % 2 + 1) / 2.);
    for (int step = 0; step <= 16; ++step) {
      const double x = lo + (std::min(hi, 9.02) - lo) * step / 16;
      if (x > 9.02 || lo > 9.02) continue;
      const Number got =
          polynomial_at({t::tanh_0, t::tanh_1, t::tanh_2, t::tanh_3, t::tanh_4, t::tanh_5, t::tanh_6}, Number(x) - t::tanh_centers[at]);
      CHECK(exact::abs(got / f(MathFunction::tanh, x) - 1) < scaled(Number(1), -24));
    }
  }
  const auto square = [](const Number& x) { return x * x; };
  CHECK(error_of(t::exp_rest, -.0217, .0217, [](const Number& r) { return (f(MathFunction::expm1, r) - r) / (r * r); }, square) < -26);
  CHECK(error_of(
            t::log_rest, -1. / 30, 1. / 16, [](const Number& r) { return (f(MathFunction::log1p, r) - r) / (r * r); },
            [](const Number& r) { return exact::abs(r); }) < -26);
}
