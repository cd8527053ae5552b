// Gradients, tangents and batches outside of jit: those of much work are one compiled program, small ones are executed operation by
// operation; either way the results, their types and places, and what goes wrong, are the same.
#include <atomic>
#include <cstring>

#include "tests/transforms/checks.h"
#include "weft/core/array/array_impl.h"
#include "weft/core/base/config.h"
#include "weft/transforms/evaluate.h"

namespace {
using namespace weft;
using namespace weft::test;

struct Net {
  Array w1, b1, w2, b2;
};
Net net(std::int64_t width) {
  const auto wave = [](Shape s, float by) { return reshape(sin(arange(s.num_elements()) * by), s); };
  return {wave({32, width}, 0.37f), wave({width}, 0.11f), wave({width, 8}, 0.23f), wave({8}, 0.7f)};
}
Array loss(const Net& n, const Array& x) { return mean(square(matmul(tanh(matmul(x, n.w1) + n.b1), n.w2) + n.b2)); }
Array batch() { return reshape(cos(arange(64 * 32) * 0.05f), {64, 32}); }

bool same_bits(const Array& a, const Array& b) {
  const std::vector<float> x = a.to_vector<float>(), y = b.to_vector<float>();
  return a.shape() == b.shape() && std::memcmp(x.data(), y.data(), x.size() * sizeof x[0]) == 0;
}
bool alike(const Array& a, const Array& b) { return a.shape() == b.shape() && max(abs(a - b)).item<double>() < 1e-5; }
bool same_bits(const Net& a, const Net& b) {
  return same_bits(a.w1, b.w1) && same_bits(a.b1, b.b1) && same_bits(a.w2, b.w2) && same_bits(a.b2, b.b2);
}

TEST_CASE("eager programs: a gradient of much work has the bits that jit gives, in each call") {
  const Net n = net(64);
  const Array x = batch();
  const Net compiled = jit(grad(loss))(n, x);
  for (int i = 0; i < 3; ++i) CHECK(same_bits(grad(loss)(n, x), compiled));
  const auto [value, gradient] = value_and_grad(loss)(n, x);
  const auto [value_by_jit, gradient_by_jit] = jit(value_and_grad(loss))(n, x);
  CHECK(same_bits(value, value_by_jit));
  CHECK(same_bits(gradient, gradient_by_jit));
  const auto [twice, aux] = grad([](const Net& m, Array y) { return std::pair{loss(m, y), std::pair{y * 2, sum(m.w1)}}; }, has_aux)(n, x);
  CHECK(same_bits(twice, compiled));
  CHECK(same_bits(aux.first, x * 2));
}

TEST_CASE("eager programs: batches, tangents, pull-backs and Jacobians of much work") {
  const Net n = net(64);
  const Array x = batch();
  const auto each = [&](Array row) { return grad(loss)(n, reshape(row, {1, 32})).w1; };
  CHECK(same_bits(vmap(each)(x), jit(vmap(each))(x)));
  const auto f = [&](Array y) { return tanh(matmul(y, n.w1)); };
  const auto [value, tangent] = jvp(f, std::tuple{x}, std::tuple{x * 0.5f});
  CHECK(alike(value, f(x)));
  const auto [value_by_jit, tangent_by_jit] = jit([&](Array y) { return jvp(f, std::tuple{y}, std::tuple{y * 0.5f}); })(x);
  CHECK(same_bits(tangent, tangent_by_jit));
  const auto [result, pull] = vjp(f, x);
  const Array cotangent = std::get<0>(pull(ones({64, 64})));
  CHECK(alike(cotangent, grad([&](Array y) { return sum(f(y)); })(x)));
  const auto g = [](Array y) { return tanh(cumsum(y) * y); };
  const Array point = arange(200) * 0.01f;
  CHECK(same_bits(jacfwd(g)(point), jit(jacfwd(g))(point)));
  CHECK(alike(jacrev(g)(point), jacfwd(g)(point)));
}

TEST_CASE("eager programs: results keep dtype and weak type, and the place of what was committed") {
  const auto f = [](Array s, Array y) { return sum(tanh(y * s)); };
  const Array y = arange(100000) * 1e-5f;
  const Array weak = grad(f)(2.f, y), strong = grad(f)(array(2.f, float32), y);
  CHECK(weak.aval().weak);
  CHECK_FALSE(strong.aval().weak);
  CHECK(same_bits(weak, strong));
  CHECK(grad(f)(array(2.0, float64), astype(y, float64)).dtype() == float64);
  const Array there = device_put(y, devices()[0]);
  const Array gradient = grad<1>(f)(2.f, there);
  CHECK(detail::as_concrete(gradient)->placement);
}

TEST_CASE("eager programs: callbacks run as often as written, and debug_nans finds the operation") {
  static std::atomic<int> calls{0};
  calls = 0;
  const auto f = [](Array y) {
    debug::callback([](Array) { ++calls; }, sum(y));
    return sum(exp(y) * y);
  };
  const Array y = arange(100000) * 1e-5f;
  grad(f)(y);
  CHECK(calls == 1);
  const auto bad = [](Array v) { return sum(log(v - 1e9f)); };
  CHECK(isnan(value_and_grad(bad)(y).first).item<bool>());
  config.debug_nans = true;
  std::string message;
  try {
    value_and_grad(bad)(y);
  } catch (const Error& e) {
    message = e.what();
  }
  config.debug_nans = false;
  CHECK(message.find("log") != std::string::npos);
  CHECK(message.find("eager_programs.cpp") != std::string::npos);
}

TEST_CASE("eager programs: numbers that change at each call give each call's results") {
  const Array y = arange(100000) * 1e-5f;
  for (int step = 1; step <= 24; ++step) {
    const double by = 0.25 * step;
    const Array g = grad([&](Array v) { return sum(square(v) * by); })(y);
    CHECK(alike(g, y * (2 * by)));
  }
}

TEST_CASE("eager programs: a rule of the user's is called at each gradient, with what it captures by then") {
  float by = 1;
  int calls = 0;
  const auto f = custom_vjp([](Array v) { return sum(square(v)); }, [](Array v) { return std::pair{sum(square(v)), v}; },
                            [&](Array v, Array ct) {
                              ++calls;
                              return std::tuple{v * ct * by};
                            });
  const Array y = arange(100000) * 1e-5f;
  for (int i = 1; i <= 3; ++i) {
    by = static_cast<float>(i);
    CHECK(alike(grad(f)(y), y * by));
    CHECK(calls == i);
  }
}

TEST_CASE("eager programs: equal programs of different lines and weak types are told apart") {
  const Array y = arange(200) * 0.01f;
  const auto first = [](Array v) { return sum(tanh(v) * v); };
  const auto second = [](Array v) { return sum(tanh(v) * v); };
  for (int i = 0; i < 2; ++i) CHECK(same_bits(grad(first)(y), grad(second)(y)));
  const auto third = [](Array v) { return tanh(v) * v; };
  for (int i = 0; i < 2; ++i) {
    CHECK(grad(third)(0.5f).aval().weak == jit(grad(third))(0.5f).aval().weak);
    CHECK_FALSE(grad(third)(array(0.5f, float32)).aval().weak);
  }
}

TEST_CASE("eager programs: a donated operand is told of") {
  const Array y = arange(100000) * 1e-5f;
  const Array gone = y + 1;
  jit([](Array v) { return v * 2; }, {.donate_argnums = {0}})(gone);
  CHECK_THROWS_AS(grad([&](Array v) { return sum(square(v) * gone); })(y), Error);
}

TEST_CASE("eager programs: a batch of products is estimated at no more than its products one by one, and groups of a convolution too") {
  const double batch = 4096, groups = 64;
  const auto estimate = [](const auto& f, Shape a, Shape b) { return detail::eager_cost(make_jaxpr(f)(zeros(a), zeros(b))); };
  const auto product = [](Array a, Array b) { return matmul(a, b); };
  CHECK(estimate(product, {4096, 8, 8}, {4096, 8, 8}) <= batch * estimate(product, {8, 8}, {8, 8}));
  CHECK(estimate(product, {4096, 8, 8}, {4096, 8, 8}) >= batch * 8 * 8 * 8);
  const auto convolution = [](int parts) {
    return [parts](Array a, Array b) { return conv_general_dilated(a, b, {1, 1}, "SAME", {.feature_group_count = parts}); };
  };
  CHECK(estimate(convolution(64), {1, 64, 8, 8}, {64, 1, 3, 3}) <= groups * estimate(convolution(1), {1, 1, 8, 8}, {1, 1, 3, 3}));
}

}  // namespace
