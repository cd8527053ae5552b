// Each expression of expressions.txt, on each of its sets of arrays, beside what JAX gave for it (results.txt, results.npz): as it is,
// compiled, mapped and compiled, and its gradient. Expressions that differ on purpose are listed with reasons in differences.txt.
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

/// Empty if x is what is wanted, else what is wrong.
std::string compare(const Array& x, const Wanted& want, std::span<const double> values) {
  std::ostringstream out;
  if (std::string(x.dtype().name()) != want.dtype || x.shape() != want.shape) {
    out << x.dtype() << x.shape() << ", JAX's " << want.dtype << want.shape;
    return out.str();
  }
  const std::vector<double> got = elements(x);
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (std::isfinite(values[i])) largest = std::max(largest, std::abs(values[i]));
  const double some = tolerance(x);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double a = got[i], b = values[i];
    if (a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= some * (std::abs(b) + 0.1 * std::min(largest, 1e30))) continue;
    out << "element " << i << " is " << a << ", JAX's " << b;
    return out.str();
  }
  return {};
}

Array loss(const Case& c, const Array& x, const Array& y, const Array& z) {
  const Array r = ravel(c.function(x, y, z));
  const Array w = convert(cos(arange(r.size(), float64)) + 0.5, r.dtype().real_part());
  if (!r.dtype().is_complex()) return sum(r * w);
  return sum(real(r) * w) + sum(imag(r) * flip(w));
}

}  // namespace

TEST_CASE("expressions have JAX's values, dtypes, shapes and gradients") {
  std::vector<Case> all;
  add_all_cases(all);
  std::map<int, Case> cases;
  for (const Case& c : all) cases.emplace(c.number, c);
  const NamedArrays arrays = load_npz(file("arrays.npz"));
  const std::vector<double> values = load_npz(file("results.npz")).at("values").to_vector<double>();
  std::set<std::pair<std::string, std::string>> differ, differed;
  std::ifstream list(file("differences.txt"));
  for (std::string line; std::getline(list, line);) {
    if (line.empty() || line[0] == '#') continue;
    const std::size_t tab = line.find('\t'), next = line.find('\t', tab + 1);
    REQUIRE(next != std::string::npos);
    std::istringstream sets(line.substr(tab + 1, next - tab - 1));
    for (std::string set; sets >> set;) differ.emplace(line.substr(0, tab), set);
  }

  int compared = 0, gradients = 0;
  std::ifstream results(file("results.txt"));
  REQUIRE(results);
  for (std::string line; std::getline(results, line);) {
    std::istringstream in(line);
    int number = 0;
    std::string set;
    in >> number >> set;
    const Wanted want = Wanted::read(in);
    std::optional<Wanted> derivative;
    if (in >> std::ws; in.peek() != EOF) derivative = Wanted::read(in);
    const Case& c = cases.at(number);
    const Array x = arrays.at(set + ".x"), y = arrays.at(set + ".y"), z = arrays.at(set + ".z");
    std::string wrong, how;
    const auto check = [&](const char* way, const Wanted& w, auto f) {
      if (!wrong.empty()) return;
      how = way;
      try {
        wrong = compare(f(), w, std::span(values).subspan(static_cast<std::size_t>(w.at)));
      } catch (const std::exception& e) {
        wrong = e.what();
      }
    };
    check("as it is", want, [&] { return c.function(x, y, z); });
    if (c.compiles)
      check("compiled", want, [&] { return jit([f = c.function](Array a, Array b, Array d) { return f(a, b, d); })(x, y, z); });
    if (c.maps)
      check("mapped and compiled", want, [&] {
        const auto twice = [](const Array& a) { return stack({a, a}); };
        return jit(vmap([f = c.function](Array a, Array b, Array d) { return f(a, b, d); }))(twice(x), twice(y), twice(z))(1);
      });
    if (derivative) check("gradient", *derivative, [&] { return grad([&](Array a) { return loss(c, a, y, z); })(x); });
    ++compared, gradients += derivative.has_value();
    if (!wrong.empty() && differ.contains({c.text, set})) differed.emplace(c.text, set), wrong.clear();
    if (!wrong.empty()) {
      MESSAGE(std::string(c.text), " of ", set, ", ", how, ": ", wrong);
      CHECK(false);
    }
  }
  for (const auto& [text, set] : differ) {
    CAPTURE(text);
    CAPTURE(set);
    CHECK(differed.contains({text, set}));  // else the line is to be removed
  }
  CHECK(compared > 3000);
  CHECK(gradients > 1000);
}
