// The warning of a function that is compiled for each value of an argument.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include "tests/messages.h"
#include "tests/transforms/capture.h"

using namespace weft;
using namespace weft::test;

namespace {

struct Options {
  double rate = 0;
  int depth = 1;
};
/// What a function says in calls with n values of its static argument.
template <class F, class G>
std::string said(F& f, int n, G value) {
  return written_to(stderr, [&] {
    for (int i = 0; i < n; ++i) f(ones(2), value(i));
  });
}
int count(const std::string& text, const std::string& part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("a static number that changes all the time is told of once, with the line and the remedy") {
  auto step = jit([](Array x, float rate) { return x * rate; }, {.name = "step"});
  const auto rate = [](int i) { return 0.5f + static_cast<float>(i); };
  CHECK(said(step, 16, rate).empty());
  const std::string text = said(step, 40, rate);
  CHECK(count(text, "weft: ") == 1);
  CHECK(has(text, {"jit of step", "recompiles.cpp:", "17 times", "argument 1 (15.5, now 16.5)", "weft::Array"}));
  CHECK(said(step, 60, rate).empty());
}

TEST_CASE("a field of a static struct and text are named, too") {
  auto f = jit([](Array x, const Options& o) { return x * o.rate; });
  CHECK(has(said(f, 20, [](int i) { return Options{static_cast<double>(i), 1}; }), {"argument 1.rate (15, now 16)"}));
  auto g = jit([](Array x, const std::string& s) { return x * static_cast<int>(s.size()); });
  CHECK(has(said(g, 20, [](int i) { return std::string(static_cast<std::size_t>(i), 'x'); }), {"argument 1 (\"xxx"}));
}

TEST_CASE("other shapes, structures and few values are nothing to tell of") {
  auto f = jit([](Array x) { return x + 1; });
  CHECK(written_to(stderr, [&] {
          for (int i = 1; i < 40; ++i) f(ones(i));
        }).empty());
  auto g = jit([](const std::vector<Array>& xs) { return xs[0]; });
  CHECK(written_to(stderr, [&] {
          for (std::size_t i = 1; i < 40; ++i) g(std::vector<Array>(i, 1.f));
        }).empty());
}

TEST_CASE("when the warning is given can be chosen") {
  struct Restored {
    ~Restored() { config.warn_after_recompiles = 0; }
  } restored;
  config.warn_after_recompiles = 3;
  auto f = jit([](Array x, int n) { return x * n; });
  CHECK(has(said(f, 4, [](int i) { return i; }), {"4 times"}));
  config.warn_after_recompiles = -1;
  auto g = jit([](Array x, int n) { return x * n; });
  CHECK(said(g, 40, [](int i) { return i; }).empty());
}
