// Each expression of expressions.txt, on each of its sets of arrays, beside what JAX gave for it (results.txt, results.npz): as it is,
// compiled, mapped and compiled, and its gradient; then gradients in the other operands, second derivatives and tangents
// (derivatives.txt, derivatives.npz). Expressions that differ on purpose are listed with reasons in differences.txt.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "tests/expressions/cases.h"

using namespace weft;

void add_all_cases(std::vector<Case>& cases);

namespace {

std::string file(const std::string& name) {
  const char* tests = std::getenv("WEFT_TEST_DATA");
  return std::string(tests ? tests : "tests") + "/expressions/" + name;
}

/// What JAX gave: a value, or a gradient.
struct Wanted {
  std::string dtype;
  Shape shape;
  std::int64_t at = 0;
  static Wanted read(std::istream& in) {
    Wanted w;
    std::string sizes, size;
    in >> w.dtype >> sizes >> w.at;
    if (sizes == "-") return w;
    std::istringstream list(sizes);
    while (std::getline(list, size, ',')) w.shape.push_back(std::stoll(size));
    return w;
  }
};

/// How far results may be apart: relative to their own size and, where sums cancel, to that of the largest one.
double tolerance(const Array& x) {
  const DType t = x.dtype().real_part();
  return t == float16 ? 4e-3 : t == bfloat16 ? 3e-2 : t == float32 ? 2e-5 : t == float64 ? 1e-11 : 0;
}

std::vector<double> elements(const Array& x) {
  if (!x.dtype().is_complex()) return x.to_vector<double>();
  return ravel(stack({real(x), imag(x)}, -1)).to_vector<double>();
}

/// Empty if x is what is wanted, else what is wrong. `slack` multiplies the tolerance.
std::string compare(const Array& x, const Wanted& want, std::span<const double> values, double slack) {
  std::ostringstream out;
  if (std::string(x.dtype().name()) != want.dtype || x.shape() != want.shape) {
    out << x.dtype() << x.shape() << ", JAX's " << want.dtype << want.shape;
    return out.str();
  }
  const std::vector<double> got = elements(x);
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::isfinite(values[i])) largest = std::max(largest, std::abs(values[i]));
  const double some = slack * tolerance(x);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double a = got[i], b = values[i];
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= some * (std::abs(b) + 0.1 * std::min(largest, 1e30))) continue;
    out << "element " << i << " is " << a << ", JAX's " << b;
    return out.str();
  }
  return {};
}

Array weights(const Array& d) { return reshape(convert(cos(arange(d.size(), float64)) + 0.5, d.dtype().real_part()), d.shape()); }

Array loss(const Case& c, const Array& x, const Array& y, const Array& z) {
  const Array r = ravel(c.function(x, y, z)), w = weights(r);
  if (!r.dtype().is_complex()) return sum(r * w);
  return sum(real(r) * w) + sum(imag(r) * flip(w));
}

/// A real number that depends on all parts of d.
Array weighted(const Array& d) {
  const Array w = weights(d);
  return d.dtype().is_complex() ? sum(real(d) * w) + sum(imag(d) * w) : sum(d * w);
}

/// The derivative of a kind that write_derivatives.py names.
Array derivative(const Case& c, const std::string& kind, const Array& x, const Array& y, const Array& z) {
  const auto first = [&](const Array& a, const Array& b) { return grad([&](Array v) { return loss(c, v, b, z); })(a); };
  if (kind == "y") return grad([&](Array v) { return loss(c, x, v, z); })(y);
  if (kind == "z") return grad([&](Array v) { return loss(c, x, y, v); })(z);
  if (kind == "xx") return grad([&](Array v) { return weighted(first(v, y)); })(x);
  if (kind == "yx") return grad([&](Array v) { return weighted(first(x, v)); })(y);
  REQUIRE(kind == "jvp");
  return jvp([&](Array v) { return c.function(v, y, z); }, x, convert(weights(x), x.dtype())).second;
}

std::map<int, Case> cases_by_number() {
  std::vector<Case> all;
  add_all_cases(all);
  std::map<int, Case> cases;
  for (const Case& c : all) cases.emplace(c.number, c);
  return cases;
}

/// Expressions and sets of arrays that differ on purpose, and which of them did.
struct Differences {
  std::set<std::pair<std::string, std::string>> listed, seen;
  explicit Differences(const std::string& name) {
    std::ifstream list(file(name));
    REQUIRE(list);
    for (std::string line; std::getline(list, line);) {
      if (line.empty() || line[0] == '#') continue;
      const std::size_t tab = line.find('\t'), next = line.find('\t', tab + 1);
      REQUIRE(next != std::string::npos);
      std::istringstream sets(line.substr(tab + 1, next - tab - 1));
      for (std::string set; sets >> set;) listed.emplace(line.substr(0, tab), set);
    }
  }
  void check(const Case& c, const std::string& set, const std::string& how, const std::string& wrong) {
    if (wrong.empty()) return;
    if (listed.contains({c.text, set})) {
      seen.emplace(c.text, set);
      return;
    }
    MESSAGE(std::string(c.text), " of ", set, ", ", how, ": ", wrong);
    CHECK(false);
  }
  void check_all_seen() const {
    for (const auto& [text, set] : listed) {
      CAPTURE(text);
      CAPTURE(set);
      CHECK(seen.contains({text, set}));  // else the line is to be removed
    }
  }
};

/// What is wrong with the array that f gives; empty: nothing.
template <class F>
std::string problem(F&& f, const Wanted& want, std::span<const double> values, double slack = 1) {
  try {
    return compare(f(), want, values.subspan(static_cast<std::size_t>(want.at)), slack);
  } catch (const std::exception& e) {
    return e.what();
  }
}

}  // namespace

TEST_CASE("expressions have JAX's values, dtypes, shapes and gradients") {
  const std::map<int, Case> cases = cases_by_number();
  const NamedArrays arrays = load_npz(file("arrays.npz"));
  const std::vector<double> values = load_npz(file("results.npz")).at("values").to_vector<double>();
  Differences differences("differences.txt");
  int compared = 0, gradients = 0;
  std::ifstream results(file("results.txt"));
  REQUIRE(results);
  for (std::string line; std::getline(results, line);) {
    std::istringstream in(line);
    int number = 0;
    std::string set;
    in >> number >> set;
    const Wanted want = Wanted::read(in);
    std::optional<Wanted> gradient;
    if (in >> std::ws; in.peek() != EOF) gradient = Wanted::read(in);
    const Case& c = cases.at(number);
    const Array x = arrays.at(set + ".x"), y = arrays.at(set + ".y"), z = arrays.at(set + ".z");
    std::string wrong, how;
    const auto check = [&](const char* way, const Wanted& w, auto f) {
      if (wrong.empty()) how = way, wrong = problem(f, w, values);
    };
    check("as it is", want, [&] { return c.function(x, y, z); });
    if (c.compiles)
      check("compiled", want, [&] { return jit([f = c.function](Array a, Array b, Array d) { return f(a, b, d); })(x, y, z); });
    if (c.maps)
      check("mapped and compiled", want, [&] {
        const auto twice = [](const Array& a) { return stack({a, a}); };
        return jit(vmap([f = c.function](Array a, Array b, Array d) { return f(a, b, d); }))(twice(x), twice(y), twice(z))(1);
      });
    if (gradient) check("gradient", *gradient, [&] { return grad([&](Array a) { return loss(c, a, y, z); })(x); });
    ++compared, gradients += gradient.has_value();
    differences.check(c, set, how, wrong);
  }
  differences.check_all_seen();
  CHECK(compared > 3000);
  CHECK(gradients > 1000);
}

TEST_CASE("expressions have JAX's derivatives in each operand, second derivatives and tangents") {
  const std::map<int, Case> cases = cases_by_number();
  const NamedArrays arrays = load_npz(file("arrays.npz"));
  const std::vector<double> values = load_npz(file("derivatives.npz")).at("values").to_vector<double>();
  Differences differences("derivative_differences.txt");
  int compared = 0;
  std::ifstream derivatives(file("derivatives.txt"));
  REQUIRE(derivatives);
  for (std::string line; std::getline(derivatives, line); ++compared) {
    std::istringstream in(line);
    int number = 0;
    std::string set, kind;
    in >> number >> set >> kind;
    const Wanted want = Wanted::read(in);
    const Case& c = cases.at(number);
    // Second derivatives lose as many digits again as first ones.
    differences.check(c, set, kind,
                      problem([&] { return derivative(c, kind, arrays.at(set + ".x"), arrays.at(set + ".y"), arrays.at(set + ".z")); },
                              want, values, 10));
  }
  differences.check_all_seen();
  CHECK(compared > 4000);
}
