// reduce and reduce_window by a function of the user's, in every way of executing a function.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>

#include "tools/modes.h"
#include "tools/programs.h"

using namespace weft;
using tools::Arrays;

namespace {

/// f of (4, 4) and of its lanes.
void check_modes(const std::string& name, const std::function<Array(const Array&)>& f, const std::vector<double>& want) {
  const Array x = reshape(arange(1, 17, 1, float32), {4, 4});
  const tools::Function function = [&](std::span<const Array> in) { return Arrays{f(in[0])}; };
  for (const tools::Mode& mode : tools::modes()) {
    CAPTURE(name);
    CAPTURE(mode.name);
    std::vector<Arrays> got;
    REQUIRE_NOTHROW(got = mode.run(function, {{x}, {x}}));
    for (const Arrays& lane : got)
      CHECK(tools::difference(lane[0], array(want, lane[0].shape(), float32), nullptr, {1e-6, 1e-6, false}) == "");
  }
}
Array larger(const Array& a, const Array& b) { return where(a > b, a, b); }

}  // namespace

TEST_CASE("reductions by a function combine two elements at a time, whatever the function holds") {
  check_modes("where", [](const Array& x) { return reduce(x, 0.f, larger, 1); }, {4, 8, 12, 16});
  check_modes("jit", [](const Array& x) { return reduce(x, 0.f, jit([](Array a, Array b) { return a + b; }), 1); }, {10, 26, 42, 58});
  check_modes("checkpoint", [](const Array& x) { return reduce(x, 0.f, checkpoint(larger), 0); }, {13, 14, 15, 16});
  check_modes("custom rule", [](const Array& x) { return reduce(x, -INFINITY, logaddexp, 1); },
              {4.4401897, 8.4401897, 12.4401897, 16.4401897});
  check_modes(
      "cond",
      [](const Array& x) { return reduce(x, 0.f, [](Array a, Array b) { return cond(a > b, [&] { return a; }, [&] { return b; }); }, 1); },
      {4, 8, 12, 16});
  check_modes("of a loop",
              [](const Array& x) {
                return reduce(
                    x, 0.f, [](Array a, Array b) { return fori_loop(0, 2, [&](Array, Array c) { return maximum(c, b); }, a); }, 1);
              },
              {4, 8, 12, 16});
  check_modes("nested",
              [](const Array& x) { return reduce(vmap([](Array row) { return reduce(row, 0.f, larger, 0); })(x), 0.f, larger, 0); }, {16});
  const auto position = [](const Array& x) {
    const auto pick = [](const std::vector<Array>& a, const std::vector<Array>& b) {
      const Array c = a[0] > b[0];
      return std::vector<Array>{where(c, a[0], b[0]), where(c, a[1], b[1])};
    };
    return convert(reduce({x, iota(int32, x.shape(), 1)}, {-INFINITY, 0}, pick, 1)[1], float32);
  };
  check_modes("two at once", position, {3, 3, 3, 3});
}

TEST_CASE("reductions over windows by a function combine two elements at a time") {
  check_modes("where", [](const Array& x) { return reduce_window(x, 0.f, larger, {2, 2}, {2, 2}, "VALID"); }, {6, 8, 14, 16});
  check_modes("dilated", [](const Array& x) { return reduce_window(x, 0.f, larger, {2, 2}, {1, 1}, "VALID", {.window_dilation = {2, 2}}); },
              {11, 12, 15, 16});
  check_modes("custom rule", [](const Array& x) { return reduce_window(x, -INFINITY, logaddexp, {2, 2}, {2, 2}, "VALID"); },
              {6.3314141, 8.3314141, 14.3314141, 16.3314141});
}

TEST_CASE("products of windows that are all that comes before an element are running ones") {
  const auto product = [](const Array& a, const Array& b) { return a * b; };
  const auto forwards = [&](const Array& x) { return reduce_window(x, 1.f, product, {1, 4}, {1, 1}, {{0, 0}, {3, 0}}); };
  const auto backwards = [&](const Array& x) { return reduce_window(x, 1.f, product, {4, 1}, {1, 1}, {{0, 3}, {0, 0}}); };
  check_modes("forwards", forwards, {1, 2, 6, 24, 5, 30, 210, 1680, 9, 90, 990, 11880, 13, 182, 2730, 43680});
  check_modes("backwards", backwards, {585, 1680, 3465, 6144, 585, 840, 1155, 1536, 117, 140, 165, 192, 13, 14, 15, 16});
  const Array x = ones({4, 4});
  CHECK(make_jaxpr(forwards)(x).to_string().find("cumprod[axis=1 reverse=False]") != std::string::npos);
  CHECK(make_jaxpr(backwards)(x).to_string().find("cumprod[axis=0 reverse=True]") != std::string::npos);
  // Of three elements, or from another number on.
  const auto three = [&](const Array& x) { return reduce_window(x, 1.f, product, {1, 3}, {1, 1}, {{0, 0}, {2, 0}}); };
  const auto twice = [&](const Array& x) { return reduce_window(x, 2.f, product, {1, 4}, {1, 1}, {{0, 0}, {3, 0}}); };
  check_modes("three", three, {1, 2, 6, 24, 5, 30, 210, 336, 9, 90, 990, 1320, 13, 182, 2730, 3360});
  for (const Jaxpr& j : {make_jaxpr(three)(x), make_jaxpr(twice)(x)}) CHECK(j.to_string().find("cumprod") == std::string::npos);
}
