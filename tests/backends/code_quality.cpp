// A function's first calls may be interpreted or run by quick code, later ones by good code: nobody can tell by the results.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "tests/backends/ends_well.h"

using namespace weft;

namespace {

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// A number near 1 that no program before had, so that no code of it is in the cache.
float unseen() {
  static int count = 0;
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return 1 + static_cast<float>((now / 1000 + 7919 * count++) % 100003) * 0x1p-22f;
}

using Function = std::function<Array(const Array&, float)>;

/// Calls the function until better code had time to come, and compares each result with the first.
void check_all_alike(const Function& f, const Array& x) {
  const float c = unseen();
  const auto g = jit([&](const Array& a) { return f(a, c); });
  const Array first = g(x);
  for (const double end = seconds() + 0.15; seconds() < end;)
    for (int i = 0; i < 20; ++i) REQUIRE(all(g(x) == first).item<bool>());
  // And what the operations give one by one.
  const Array eager = f(x, c);
  CHECK(max(abs(convert(first, float64) - convert(eager, float64))).item<double>() < 2e-4);
}

Array wave(Shape shape, DType t = float32) { return sin(reshape(convert(arange(shape.num_elements()), t), shape) * array(0.37, t)); }

}  // namespace

TEST_CASE("interpreted, quick and good code give the same bits") {
  const std::vector<std::pair<const char*, Function>> functions{
      {"arithmetic", [](const Array& x, float c) { return x * c + 1 / (x + 3) - sqrt(abs(x)); }},
      {"functions", [](const Array& x, float c) { return tanh(x * c) + sin(x) * exp(x) + log1p(abs(x)) + erf(x); }},
      {"large angles", [](const Array& x, float c) { return cos(x * (c * 1e6f)); }},
      {"selections", [](const Array& x, float c) { return where(x > 0.1f, x * c, maximum(-x, array(0.25f))); }},
      {"integers",
       [](const Array& x, float c) {
         const Array n = convert(x * (1000 * c), int32);
         return convert((n << 3) ^ (n >> 2) ^ minimum(n, array(17)), float32) * 1e-6f;
       }},
      {"sums", [](const Array& x, float c) { return exp(x * c - max(x, -1, keepdims)) / sum(exp(x), -1, keepdims); }},
      {"positions", [](const Array& x, float c) { return convert(argmax(x * c, -1), float32); }},
      {"running sums", [](const Array& x, float c) { return cumsum(x * c, x.ndim() - 1); }},
      {"turned", [](const Array& x, float c) { return transpose(x) * c + transpose(exp(x)); }},
      {"products", [](const Array& x, float c) { return einsum("ij,ik->jk", x * c, x); }},
  };
  for (const auto& [name, f] : functions)
    for (const Array& x : {wave({1, 5}), wave({1, 16}), wave({3, 37}), wave({40, 33})}) {
      CAPTURE(name);
      CAPTURE(x.shape().num_elements());
      check_all_alike(f, x);
    }
}

TEST_CASE("a program ends well at any time while better code is made") {
  if (const std::optional<int> wait = test::ends_after()) {
    const double end = seconds() + *wait * 1e-3;
    do {
      const float c = unseen();
      const auto f = jit([&](const Array& a) { return exp(sin(a) * c) + tanh(a); });
      for (int i = 0; i < 100; ++i) f(wave({8}));
    } while (seconds() < end);
    std::exit(0);
  }
  test::check_ends("a program ends well at any time while better code is made", 60, 4);
}
