// check_close and check_laws: they pass what is right, and say what is wrong.
#include <weft/testing.h>

#include "tests/transforms/checks.h"

using namespace weft;
using namespace weft::test;

namespace {

struct Layer {
  Array w, b;
};

struct Pair {
  std::vector<Layer> layers;
  Array x;
};

}  // namespace

TEST_CASE("check_laws: an element that is infinite on both sides has the derivative 0") {
  const Array inside = array({true, false, true});
  check_laws([=](Array x) { return where(inside, sin(x), -constants::inf); }, array({0.5, 1.0, -2.0}, float64));
  CHECK_THROWS_AS(check_laws([](Array x) { return where(x > 0, stop_gradient(x), -constants::inf); }, array({0.5, -1.0}, float64)), Error);
}

TEST_CASE("check_close names the worst element, its path and the distance in ulp") {
  CHECK_NOTHROW(check_close(array({1.f, 2.f}), array({1.f, 2.000001f})));
  CHECK_NOTHROW(check_close(array({std::nanf(""), INFINITY}), array({std::nanf(""), INFINITY})));
  CHECK_NOTHROW(check_close(1, 1));
  CHECK(refuses<Error>([] { check_close(array({1.f, 2.f, 3.f}), array({1.f, 2.1f, 3.01f})); },
                       {"check_close: result(1) is 2, wanted 2.1: a difference of 0.1", "ulp", "2 of 3 elements", "testing.cpp"}));
  CHECK(refuses<Error>([] { check_close(array({1.f}), array({std::nextafter(1.f, 2.f)}), {.rtol = 0, .atol = 0}); },
                       {"result(0)", ", 1 ulp"}));
  CHECK(refuses<Error>([] { check_close(array({1e-45f}), array({-1e-45f}), {.rtol = 0, .atol = 0}); }, {", 2 ulp"}));
  const Pair a{{{ones({2, 2}), 1.f}, {ones(3), 2.f}}, 3.f};
  Pair b = a;
  b.layers[1].w = array({1.f, 1.f, 1.5f});
  CHECK_NOTHROW(check_close(a, a));
  CHECK(refuses<Error>([&] { check_close(a, b); }, {"result.layers[1].w(2) is 1, wanted 1.5"}));
  b.layers.pop_back();
  CHECK(refuses<PytreeError>([&] { check_close(a, b); }, {"check_close", "layers"}));
  CHECK(refuses<Error>([] { check_close(ones(2), ones(3)); }, {"result is f32[2], wanted f32[3]"}));
  CHECK(refuses<Error>([] { check_close(ones(2), ones(2, float64)); }, {"f32[2]", "f64[2]"}));
  CHECK(refuses<Error>([] { check_close(array({{1, 2}, {3, 4}}), array({{1, 2}, {5, 4}})); }, {"result(1, 0) is 3, wanted 5"}));
  CHECK(refuses<Error>([] { check_close(array({1.f}), array({std::nanf("")})); }, {"wanted nan"}));
  CHECK(refuses<Error>([] { check_close(INFINITY, -INFINITY); }, {"inf"}));
  CHECK_NOTHROW(check_close(std::tuple{1.f, 2.0}, std::tuple{1.f, 2.0}));
  CHECK_NOTHROW(check_close(1.0f, 1.1f, {.atol = 0.2}));
}

TEST_CASE("check_laws passes functions that obey them") {
  auto layer = [](Layer l, Array x, int times) { return tanh(matmul(l.w, x) + l.b) * times; };
  CHECK_NOTHROW(check_laws(layer, Layer{array({{0.3f, -0.2f}, {0.1f, 0.7f}}), array({0.1f, 0.2f})}, array({1.f, -0.5f}), 3));
  CHECK_NOTHROW(check_laws([](Array x) { return std::pair{sin(x), argmax(x)}; }, array({1.f, 2.f, 0.5f})));
  CHECK_NOTHROW(check_laws([](Array x) { return x * x; }, convert(array({1.f, 2.f}), float64)));
  CHECK_NOTHROW(check_laws([](Array x, Array n) { return x * n; }, array({1.f, 2.f}), 3));
  CHECK_NOTHROW(check_laws([](Array n) { return n + 1; }, 3));
  CHECK_NOTHROW(check_laws([](Array z) { return z * z + conj(z); }, convert(array({1.f, 2.f}), complex64)));
  auto loop = [](Array x) { return while_loop([](Array c) { return c < 10; }, [](Array c) { return c * c; }, x); };
  CHECK_NOTHROW(check_laws(loop, {.reverse = false}, 1.5f));
  auto clipped = custom_vjp([](Array x) { return x * 2; }, [](Array x) { return std::pair{x * 2, none}; },
                            [](None, Array ct) { return std::tuple{ct * 2}; });
  CHECK_NOTHROW(check_laws(clipped, {.order = 1, .forward = false}, 1.5f));
}

TEST_CASE("check_laws finds what is wrong") {
  auto wrong_jvp = custom_jvp([](Array x) { return sin(x); },
                              [](auto p, auto t) { return std::pair{sin(std::get<0>(p)), 2 * cos(std::get<0>(p)) * std::get<0>(t)}; });
  CHECK(refuses<Error>([&] { check_laws(wrong_jvp, array({0.5f, 0.7f})); },
                       {"check_laws", "the forward derivative is the limit of differences", "result(", "ulp", "testing.cpp"}));
  auto wrong_vjp = custom_vjp([](Array x) { return sin(x); }, [](Array x) { return std::pair{sin(x), x}; },
                              [](Array x, Array ct) { return std::tuple{ct * x}; });
  CHECK(refuses<Error>([&] { check_laws(wrong_vjp, {.forward = false}, array({0.5f, 0.7f})); }, {"transpose", "testing.cpp"}));
  // A second derivative that is not the first one's.
  auto wrong_second =
      custom_jvp([](Array x) { return sin(x); },
                 [](auto p, auto t) { return std::pair{sin(std::get<0>(p)), cos(stop_gradient(std::get<0>(p))) * std::get<0>(t)}; });
  CHECK_NOTHROW(check_laws(wrong_second, {.order = 1}, 0.5f));
  CHECK(refuses<Error>([&] { check_laws(wrong_second, 0.5f); }, {"second derivative", "limit of differences"}));
  // Something that only happens while it is traced.
  int calls = 0;
  auto impure = [&](Array x) { return x + ++calls; };
  CHECK(refuses<Error>([&] { check_laws(impure, 0.5f); }, {"jit of f gives what f gives"}));
  // A callback that takes whole batches but doesn't treat lanes alike.
  auto rank = [](Array x) { return x * x.ndim(); };
  auto lanes = [&](Array x) { return pure_callback(rank, ShapeDtypeStruct{{2}, float32}, {.vmap_method = "expand_dims"}, x); };
  CHECK(refuses<Error>([&] { check_laws(lanes, {.order = 0}, ones(2)); }, {"vmap of f gives what a loop gives"}));
}
