// Functions of complex numbers where formulas go wrong: at infinities, zeros and NaN, near the unit circle, at the ends of the range. On
// both backends.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <numbers>
#include <optional>
#include <sstream>

#include "tools/programs.h"

using namespace weft;

namespace {

using Complex = std::complex<double>;
constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kParts[] = {0., -0., 1., -1., kInf, -kInf, kNan};

std::vector<Complex> corner_points() {
  std::vector<Complex> out;
  for (const double re : kParts)
    for (const double im : kParts) out.emplace_back(re, im);
  return out;
}

/// A part of a result that is wanted: its value, and the sign of a zero where that is known.
struct Wanted {
  double value = 0;
  bool signed_zero = false;
  bool is(double got, double tolerance) const {
    if (std::isnan(value)) return std::isnan(got);
    if (value == 0) return got == 0 && (!signed_zero || std::signbit(got) == std::signbit(value));
    return got == value || std::abs(got - value) <= tolerance;
  }
};
using WantedComplex = std::optional<std::array<Wanted, 2>>;

WantedComplex parse_wanted(const std::string& token) {
  const std::size_t comma = token.find(',');
  if (comma == std::string::npos) return std::nullopt;
  const auto part = [](const std::string& t) { return Wanted{std::strtod(t.c_str(), nullptr), t == "+0" || t == "-0"}; };
  return std::array{part(token.substr(0, comma)), part(token.substr(comma + 1))};
}

/// One equation of operands of one complex dtype.
std::vector<Complex> run(const std::string& platform, const std::string& op, DType dtype,
                         const std::vector<std::vector<Complex>>& operands) {
  const std::string n = "[" + std::to_string(operands[0].size()) + "]", name = dtype == complex64 ? "c64" : "c128";
  const std::string result = op == "abs" ? (dtype == complex64 ? "f32" : "f64") : name;
  std::string text = "{ lambda ;", names;
  std::vector<Array> in;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const std::string v(1, static_cast<char>('a' + k));
    text += " " + v + ":" + name + n, names += " " + v;
    in.push_back(convert(array(operands[k]), dtype));
  }
  text += ". let z:" + result + n + " = " + op + names + " in (z,) }";
  return convert(tools::run_on(platform, op, parse(text), in)[0], complex128).to_vector<Complex>();
}

/// Within some last places of the modulus.
void check_near(const std::string& op, DType dtype, const std::vector<std::vector<Complex>>& operands, const std::vector<Complex>& want) {
  for (const std::string platform : {"interp", "cpu"}) {
    const std::vector<Complex> got = run(platform, op, dtype, operands);
    const double epsilon = dtype == complex64 ? 0x1p-23 : 0x1p-52;
    for (std::size_t i = 0; i < want.size(); ++i) {
      const std::string title = op + " of " + std::string(dtype.name()) + " on " + platform + ", element " + std::to_string(i);
      CHECK_MESSAGE(std::abs(got[i] - want[i]) <= 8 * epsilon * std::abs(want[i]), title << " is " << got[i] << ", wanted " << want[i]);
    }
  }
}

}  // namespace

TEST_CASE("complex functions give at zeros, infinities and NaN what JAX, NumPy and ISO C agree about") {
  const char* tests = std::getenv("WEFT_TEST_DATA");
  std::ifstream file(std::string(tests ? tests : "tests") + "/ops/complex_corners.txt");
  const std::vector<Complex> points = corner_points();
  int functions = 0, values = 0;
  for (std::string line; std::getline(file, line); ++functions) {
    std::istringstream tokens(line);
    std::string op, token;
    tokens >> op;
    std::vector<WantedComplex> wanted;
    while (tokens >> token) wanted.push_back(parse_wanted(token));
    REQUIRE(wanted.size() == points.size());
    for (const DType dtype : {complex64, complex128})
      for (const std::string platform : {"interp", "cpu"}) {
        const std::vector<Complex> got = run(platform, op, dtype, {points});
        const double tolerance = dtype == complex64 ? 1e-6 : 1e-14;
        for (std::size_t i = 0; i < points.size(); ++i) {
          if (!wanted[i]) continue;
          const auto& [re, im] = *wanted[i];
          ++values;
          CHECK_MESSAGE((re.is(got[i].real(), tolerance) && im.is(got[i].imag(), tolerance)),
                        op << points[i] << " of " << dtype.name() << " on " << platform << " is " << got[i] << ", wanted (" << re.value
                           << "," << im.value << ")");
        }
      }
  }
  CHECK(functions == 21);
  CHECK(values > 3000);
}

TEST_CASE("complex functions are the same on both backends at zeros, infinities and NaN, also where JAX and ISO C do not agree") {
  const std::vector<Complex> points = corner_points();
  for (const char* op : {"exp",
                         "exp2",
                         "expm1",
                         "log",
                         "log1p",
                         "sqrt",
                         "rsqrt",
                         "logistic",
                         "square",
                         "integer_pow[y=3]",
                         "integer_pow[y=-2]",
                         "abs",
                         "sign",
                         "sin",
                         "cos",
                         "tan",
                         "sinh",
                         "cosh",
                         "tanh",
                         "asin",
                         "acos",
                         "atan",
                         "asinh",
                         "acosh",
                         "atanh"})
    for (const DType dtype : {complex64, complex128}) {
      const std::vector<Complex> got = run("cpu", op, dtype, {points}), want = run("interp", op, dtype, {points});
      const double tolerance = dtype == complex64 ? 1e-6 : 1e-14;
      for (std::size_t i = 0; i < points.size(); ++i)
        CHECK_MESSAGE((Wanted{want[i].real()}.is(got[i].real(), tolerance) && Wanted{want[i].imag()}.is(got[i].imag(), tolerance)),
                      op << points[i] << " of " << dtype.name() << " is " << got[i] << ", wanted " << want[i]);
    }
}

TEST_CASE("the complex logarithm keeps its places near the unit circle and at the ends of the range") {
  const double x = 0x1p-20, small = 0x1p-1074, large = 0x1p1023;
  check_near("log", complex64, {{{1, x}, {-1, x}, {x, 1}, {0.75, 0.6614378}, {0x1p-149, 0x1p-149}, {0x1p127, 0x1.8p127}}},
             {{0x1p-41, x},
              {0x1p-41, std::numbers::pi},
              {0x1p-41, std::numbers::pi / 2},
              std::log(Complex{0.75, static_cast<float>(0.6614378)}),
              {-148.5 * std::numbers::ln2, std::numbers::pi / 4},
              std::log(Complex{0x1p127, 0x1.8p127})});
  check_near(
      "log", complex128, {{{1, 0x1p-26}, {small, -small}, {large, large}}},
      {{0x1p-53, 0x1p-26}, {-1073.5 * std::numbers::ln2, -std::numbers::pi / 4}, {1023.5 * std::numbers::ln2, std::numbers::pi / 4}});
}

TEST_CASE("complex log1p keeps its places near 0 and near -1, and has squares that do not overflow") {
  check_near("log1p", complex64, {{{0x1p-30, 0x1p-24}, {-1, 0x1p-20}, {-1 + 0x1p-20, 0}, {0x1p80, -0x1p80}}},
             {{0x1p-30 + 0x1p-49, 0x1p-24},
              {-20 * std::numbers::ln2, std::numbers::pi / 2},
              {-20 * std::numbers::ln2, 0},
              {80.5 * std::numbers::ln2, -std::numbers::pi / 4}});
  check_near("log1p", complex128, {{{-1, -0x1p-60}, {0x1p600, 0x1p600}}},
             {{-60 * std::numbers::ln2, -std::numbers::pi / 2}, {600.5 * std::numbers::ln2, std::numbers::pi / 4}});
}

TEST_CASE("complex squares keep their places where the parts are alike, and overflow only where the result does, as JAX's") {
  const double large = 0x1.8p127, near = 1 + 0x1p-20;
  for (const std::string platform : {"interp", "cpu"})
    for (const DType dtype : {complex64, complex128}) {
      CAPTURE(platform);
      const double x = dtype == complex64 ? large : 0x1.8p1023, half = x / 2;
      const std::vector<Complex> got =
          run(platform, "square", dtype, {{{x, half}, {half, -x}, {x, x}, {-x, x}, {-x, -kInf}, {kInf, kInf}, {near, 1}}});
      const Complex want[] = {{kInf, kInf}, {-kInf, -kInf}, {0, kInf}, {0, -kInf}, {-kInf, kInf}, {kNan, kInf}};
      for (std::size_t i = 0; i < std::size(want); ++i)
        CHECK_MESSAGE((Wanted{want[i].real()}.is(got[i].real(), 0) && Wanted{want[i].imag()}.is(got[i].imag(), 0)),
                      "number " << i << " is " << got[i] << ", wanted " << want[i]);
      CHECK(got[6].real() == doctest::Approx(0x1p-20 * (near + 1)).epsilon(dtype == complex64 ? 1e-6 : 1e-15));
    }
}

TEST_CASE("complex roots of the smallest and the largest numbers") {
  const Complex tiny{0x1p-149, 0x1p-148}, huge{-0x1.8p127, 0x1.8p127};
  check_near("sqrt", complex64, {{tiny, huge}}, {std::sqrt(tiny), std::sqrt(huge)});
  check_near("rsqrt", complex64, {{tiny, huge}}, {1. / std::sqrt(tiny), 1. / std::sqrt(huge)});
}

TEST_CASE("exponentials times small sines do not overflow before them") {
  for (const char* op : {"exp", "expm1", "sinh", "cosh"}) {
    const Complex z{90, 0x1.921fb6p+0 + 0x1p-23}, w{-710.2, std::numbers::pi / 2};  // a number of complex64, at its cosine's root
    const auto f = [&](Complex v) { return op[0] == 'e' ? std::exp(v) : op[0] == 's' ? std::sinh(v) : std::cosh(v); };
    const std::vector<Complex> narrow = run("cpu", op, complex64, {{z}}), wide = run("cpu", op, complex128, {{op[0] == 'e' ? -w : w}});
    CHECK(narrow[0].real() == doctest::Approx(f(z).real()).epsilon(1e-5));
    CHECK(wide[0].real() == doctest::Approx(f(op[0] == 'e' ? -w : w).real()).epsilon(1e-12));
  }
}

TEST_CASE("complex powers of zeros, infinities and NaN, as JAX and NumPy have them") {
  std::vector<Complex> bases, exponents;
  for (const Complex& x : corner_points())
    for (const Complex y : {Complex{2, 0}, {0.5, 0}, {-0.5, 0}, {-2, 0.5}}) bases.push_back(x), exponents.push_back(y);
  for (const Complex x : {Complex{2, 0}, {0.5, -0.}, {-2, 0}, {0.5, 2}, {0, 0.5}})
    for (const Complex& y : corner_points()) bases.push_back(x), exponents.push_back(y);
  for (const Complex& x : corner_points())
    for (const Complex& y : corner_points()) bases.push_back(x), exponents.push_back(y);
  for (const DType dtype : {complex64, complex128}) {
    const std::vector<Complex> want = run("interp", "pow", dtype, {bases, exponents}), got = run("cpu", "pow", dtype, {bases, exponents});
    const double tolerance = dtype == complex64 ? 1e-6 : 1e-14;
    for (std::size_t i = 0; i < bases.size(); ++i) {
      const std::string title = std::string(dtype.name()) + " number " + std::to_string(i);
      // Infinities have the signs of an angle's sine and cosine, whose last place may decide about them.
      const auto same = [&](double a, double b) {
        return (std::isinf(a) && std::isinf(b)) || Wanted{b}.is(a, tolerance * std::max(1., std::abs(want[i])));
      };
      CHECK_MESSAGE((same(got[i].real(), want[i].real()) && same(got[i].imag(), want[i].imag())),
                    title << ": " << bases[i] << " to the " << exponents[i] << " is " << got[i] << ", wanted " << want[i]);
      if (exponents[i] == 0. || bases[i] == 1.) CHECK_MESSAGE(want[i] == 1., title);
      // Of real numbers, what the real power is.
      if (bases[i].imag() == 0 && bases[i].real() > 0 && exponents[i].imag() == 0) {
        CHECK_MESSAGE(Wanted{std::pow(bases[i].real(), exponents[i].real())}.is(want[i].real(), tolerance), title);
        CHECK_MESSAGE(want[i].imag() == 0, title);
      }
      if (bases[i] == 0. && exponents[i].real() > 0) CHECK_MESSAGE(want[i] == 0., title);
      if (bases[i] == 0. && exponents[i] != 0. && exponents[i].real() <= 0)
        CHECK_MESSAGE((std::isnan(want[i].real()) && std::isnan(want[i].imag())), title);
    }
  }
}

TEST_CASE("complex quotients at the ends of the range") {
  // Of Baudin and Smith, A robust complex division in Scilab, 2012, and their like in complex64.
  check_near("div", complex128,
             {{{1, 1}, {1, 1}, {0x1p1023, 0x1p-1023}, {0x1p1023, 0x1p1023}, {0x1p1020, 0x1p-844}, {0x1p-71, 0x1p1021}},
              {{1, 0x1p1023}, {0x1p-1023, 0x1p-1023}, {0x1p677, 0x1p-677}, {1, 1}, {0x1p656, 0x1p-780}, {0x1p1001, 0x1p-323}}},
             {{0x1p-1023, -0x1p-1023}, {0x1p1023, 0}, {0x1p346, -0x1p-1008}, {0x1p1023, 0}, {0x1p364, -0x1p-1072}, {0x1p-1072, 0x1p20}});
  const Complex a{0x1.8p127, 0x1.cp127}, b{-0x1.aap25, 0x1.03p25}, c{0x1p-140, 0x1.8p-141}, d{0x1.8p-148, -0x1.8p-147};
  check_near("div", complex64, {{a, a, c, c}, {b, a, d, a}}, {a / b, 1, c / d, 0});
}
