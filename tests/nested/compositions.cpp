// Every composition of jit, vmap, grad, jvp and pmap up to depth 3, of every function, against loops and forward derivatives taken one
// basis vector at a time, and those against differences.
#include <weft/weft.h>

#include <cmath>
#include <map>

#include "functions.h"
#include "tests/named_cases.h"
#include "tools/programs.h"

namespace weft::test {
namespace {

constexpr int kLanes = 2;
constexpr double kTolerance = 1e-9;

/// A transform: 'j'it, 'v'map, 'g'rad (of the sum), for'w'ard derivative along cos(x), 'p'map.
Fn transformed(char transform, const Fn& f) {
  switch (transform) {
    case 'j': return jit(f);
    case 'v': return vmap(f);
    case 'g': return grad([f](Array x) { return sum(f(x)); });
    case 'w': return [f](Array x) { return jvp(f, std::tuple{x}, std::tuple{cos(x)}).second; };
    default: return pmap(f, {.devices = device_count() < 8 ? devices("cpu") : std::vector<Device>{}});
  }
}

Array tangent_of(const Fn& f, const Array& x, const Array& t) { return jvp(f, std::tuple{x}, std::tuple{t}).second; }

/// The same, plainly.
Fn reference(char transform, const Fn& f) {
  switch (transform) {
    case 'v':
      return [f](Array x) {
        std::vector<Array> rows;
        for (int i = 0; i < kLanes; ++i) rows.push_back(f(x[i]));
        return stack(rows);
      };
    case 'g':
      return [f](Array x) {
        std::vector<Array> partials;
        for (int i = 0; i < static_cast<int>(x.size()); ++i) {
          const Array basis = zeros(Shape{x.size()}, float64).at(i).set(1.);
          partials.push_back(sum(tangent_of(f, x, reshape(basis, x.shape()))));
        }
        return reshape(stack(partials), x.shape());
      };
    default: return [f](Array x) { return tangent_of(f, x, cos(x)); };
  }
}

/// What a composition comes to: jit changes nothing, and pmap is vmap.
std::string meaning(const std::string& composition) {
  std::string m;
  for (char c : composition)
    if (c != 'j') m += c == 'p' ? 'v' : c;
  return m;
}
std::string title(const std::string& composition) {
  static const std::map<char, std::string> names = {{'j', "jit"}, {'v', "vmap"}, {'g', "grad"}, {'w', "jvp"}, {'p', "pmap"}};
  std::string text = "f";
  for (char c : composition) text = names.at(c) + "(" + text + ")";
  return text;
}
Shape shape_for(Shape shape, const std::string& composition) {
  for (char c : composition)
    if (c == 'v' || c == 'p') shape = shape.inserted(0, kLanes);
  return shape;
}

/// Innermost first.
std::vector<std::string> compositions() {
  std::vector<std::string> all{""};
  for (std::size_t begin = 0, depth = 0; depth < 3; ++depth) {
    const std::size_t end = all.size();
    for (; begin < end; ++begin)
      for (char c : {'j', 'v', 'g', 'w', 'p'}) all.push_back(all[begin] + c);
  }
  return all;
}

void check_function(const NestedFunction& function) {
  std::map<std::string, Array> references;
  auto wanted = [&](const std::string& m) {
    const auto found = references.find(m);
    if (found != references.end()) return found->second;
    Fn f = function.plain ? function.plain : function.f;
    for (char c : m) f = reference(c, f);
    return references[m] = f(argument(shape_for(function.shape, m)));
  };
  for (const std::string& composition : compositions()) {
    if (!function.forward && composition.find('w') != std::string::npos) continue;
    std::string wrong;
    try {
      const Array want = wanted(meaning(composition));
      Fn f = function.f;
      for (char c : composition) f = transformed(c, f);
      const Array x = argument(shape_for(function.shape, composition)), got = f(x);
      wrong = tools::difference(got, want, nullptr, {kTolerance, kTolerance});
      if (wrong.empty()) wrong = tools::difference(f(x), want, nullptr, {kTolerance, kTolerance});
    } catch (const std::exception& e) {
      wrong = e.what();
    }
    CHECK_MESSAGE(wrong.empty(), title(composition) << ": " << wrong);
  }
}

/// The derivative along t by differences of sixth order.
Fn difference_along(const Fn& f, const Array& t) {
  return [f, t](Array x) {
    const double step = 0.02;
    auto central = [&](int k) { return f(x + k * step * t) - f(x - k * step * t); };
    return (45. * central(1) - 9. * central(2) + central(3)) / (60. * step);
  };
}

void check_derivatives(const NestedFunction& function) {
  const Array x = argument(function.shape), t = cos(3. * x);
  Fn exact = function.plain ? function.plain : function.f, differences = exact;
  for (int order = 1; order <= 3; ++order) {
    exact = [f = exact, t](Array v) { return tangent_of(f, v, t); };
    differences = difference_along(differences, t);
    const std::string wrong = tools::difference(exact(x), differences(x), nullptr, {1e-4, 1e-4});
    CHECK_MESSAGE(wrong.empty(), "derivative of order " << order << ": " << wrong);
  }
}

bool register_all() {
  config.num_cpu_devices = 8;
  for (auto* family : {scalar_functions, vector_functions, matrix_functions, indexing_functions, tree_functions, control_functions,
                       transforming_functions})
    for (const NestedFunction& function : family()) {
      add_case(function.name, [function] { check_function(function); }, __FILE__, __LINE__);
      if (function.smooth) add_case(function.name + ": derivatives", [function] { check_derivatives(function); }, __FILE__, __LINE__);
    }
  return true;
}
const bool registered = register_all();

}  // namespace

TEST_CASE("all compositions are taken") {
  REQUIRE(registered);
  CHECK(compositions().size() == 1 + 5 + 25 + 125);
}

}  // namespace weft::test
