// C++ numbers beside float64 arrays: the value that counts is the one that was written, also where a transform makes an input of it. A
// number is float32 by itself; 0.1 in float32 differs from 0.1 by 1.5e-9.
#include <cmath>
#include <complex>

#include "tests/transforms/checks.h"

namespace {
using namespace weft;
using namespace weft::test;

const Array& x64() {
  static const Array x = array({1.0, 2.0, 3.0}, float64);
  return x;
}
/// Whether the elements are x64() times the factor, to the precision of float64.
bool is_multiple(const Array& x, double factor) {
  const std::vector<double> v = x.to_vector<double>();
  for (std::size_t i = 0; i < v.size(); ++i)
    if (std::abs(v[i] - factor * static_cast<double>(i + 1)) > 1e-14 * std::abs(factor) * static_cast<double>(i + 1)) return false;
  return x.dtype() == float64 && v.size() == 3;
}
bool is_exactly(const Array& x, double value) {
  return x.dtype() == float64 && std::abs(x.item<double>() - value) < 1e-15 * std::abs(value);
}

TEST_CASE("numbers: what is made of numbers alone keeps its value") {
  const Array h = 0.1;
  CHECK(h.dtype() == float32);
  CHECK((h * 0.5).dtype() == float32);
  CHECK(is_multiple(x64() * (h * 0.5), 0.1 * 0.5));
  CHECK(is_multiple(x64() * weft::sin(h), std::sin(0.1)));
  CHECK(is_multiple(x64() * (Array(3) * h), 3 * 0.1));
  CHECK(is_multiple(x64() * where(true, h, 0.2), 0.1));
  CHECK(is_exactly(real(array(1.0, complex128) * exp(Array(std::complex(0.0, 0.1)))), std::cos(0.1)));
  // By themselves they have the bits of float32.
  CHECK((h * 3.0).item<float>() == 0.1f * 3.0f);
  CHECK(weft::sin(h).item<float>() == weft::sin(array(0.1f)).item<float>());
  CHECK(is_multiple(jit([&](Array x) { return x * (h * 0.5); })(x64()), 0.1 * 0.5));
  CHECK(jit([&](Array x) { return x * (h * 3.0); })(array({1.f})).item<float>() == 0.1f * 3.0f);
}

TEST_CASE("numbers: arguments of jit") {
  const auto scaled = [](Array x, Array h) { return x * h; };
  const auto compiled = jit(scaled);
  CHECK(is_multiple(compiled(x64(), 0.1), 0.1));
  CHECK(is_multiple(compiled(x64(), 0.1), 0.1));  // the fast path
  CHECK(is_multiple(compiled(x64(), 0.7), 0.7));
  CHECK(is_multiple(jit([](Array x, Array h) { return x * (sin(h) * 2); })(x64(), 0.1), std::sin(0.1) * 2));
  CHECK(is_multiple(jit([](Array h) { return x64() * h; })(0.1), 0.1));  // a captured array
  CHECK(is_multiple(jit(jit(scaled))(x64(), 0.1), 0.1));
  CHECK(is_multiple(jit([&](Array x, Array h) { return compiled(x, h * 2); })(x64(), 0.1), 0.2));
  CHECK(is_multiple(jit(scaled).lower(x64(), 0.1).compile()(x64(), 0.1), 0.1));
  CHECK(is_multiple(
      jit([](Array x, Array h) { return checkpoint(sin)(x * 0) + x * checkpoint([](Array a) { return a * 3; })(h); })(x64(), 0.1),
      0.1 * 3));
  // float32 programs are as they were.
  CHECK(compiled(ones(3), 0.1).dtype() == float32);
  CHECK(make_jaxpr(scaled)(ones(3), 0.1).in_avals()[1].dtype == float32);
  CHECK(make_jaxpr(scaled)(x64(), 0.1).in_avals()[1].dtype == float64);
  CHECK(jit([](Array x, Array h) { return x.astype(float64) * h; })(array({1.f, 2.f, 3.f}), 0.1).dtype() == float64);
}

TEST_CASE("numbers: results that are numbers have the dtype that they have without a transform") {
  const auto f = [](Array x, Array h) { return std::pair(x * h, h * 2); };
  CHECK(f(x64(), 0.1).second.dtype() == float32);
  CHECK(jit(f)(x64(), 0.1).second.dtype() == float32);
  CHECK(vmap(f, {.in_axes = {0, none}, .out_axes = {0, none}})(x64(), 0.1).second.dtype() == float32);
  CHECK(is_multiple(jit(f)(x64(), 0.1).first, 0.1));
  CHECK(jit([](Array h) { return h * 2; })(0.1).dtype() == float32);
  // A clock that a host loop passes through compiled steps keeps its digits.
  const auto step = jit([](Array x, Array t) { return std::pair(x + x64() * t, t + 0.1); });
  std::pair<Array, Array> s{zeros_like(x64()), 0.0};
  double want = 0, t = 0;
  for (int i = 0; i < 20; ++i) {
    s = step(s.first, s.second);
    want += t, t += 0.1;
  }
  CHECK(is_multiple(s.first, want));
  CHECK(s.second.dtype() == float32);
  CHECK(is_multiple(x64() * s.second, t));
  CHECK(jit(f).lower(x64(), 0.1).compile()(x64(), 0.1).second.dtype() == float32);
}

TEST_CASE("numbers: derivatives") {
  const auto loss = [](Array x, Array h) { return sum(x * h * h); };
  CHECK(is_multiple(grad(loss)(x64(), 0.1) * x64(), 0.1 * 0.1));
  CHECK(is_exactly(grad<1>(loss)(x64(), 0.1), 2 * 0.1 * 6));
  CHECK(is_exactly(jit(grad<1>(loss))(x64(), 0.1), 2 * 0.1 * 6));
  CHECK(is_exactly(grad([](Array h) { return sum(x64() * sin(h)); })(0.1), 6 * std::cos(0.1)));
  CHECK(is_exactly(grad(grad([](Array h) { return sum(x64() * sin(h)); }))(0.1), -6 * std::sin(0.1)));
  CHECK(is_exactly(hessian([](Array h) { return sum(x64() * exp(h)); })(0.1), 6 * std::exp(0.1)));
  CHECK(is_multiple(jacfwd([](Array h) { return x64() * sin(h); })(0.1), std::cos(0.1)));
  CHECK(is_multiple(jacrev([](Array h) { return x64() * sin(h); })(0.1), std::cos(0.1)));
  const auto [value, tangent] = jvp([](Array h) { return x64() * sin(h); }, std::tuple(0.1), std::tuple(1.0));
  CHECK(is_multiple(value, std::sin(0.1)));
  CHECK(is_multiple(tangent, std::cos(0.1)));
  const auto [out, pull] = vjp([](Array h) { return x64() * h; }, 0.1);
  CHECK(is_multiple(out, 0.1));
  CHECK(is_exactly(std::get<0>(pull(x64())), 14));
  CHECK(grad([](Array h) { return h * h; })(0.1).dtype() == float32);
}

TEST_CASE("numbers: functions with their own derivatives, recomputed ones, and named ones") {
  using Two = std::tuple<Array, Array>;
  const auto product = custom_jvp([](Array x, Array h) { return x * h; },
                                  [](Two p, Two t) {
                                    const auto& [x, h] = p;
                                    const auto& [dx, dh] = t;
                                    return std::pair(x * h, dx * h + x * dh);
                                  });
  const auto reversed =
      custom_vjp([](Array x, Array h) { return x * h; }, [](Array x, Array h) { return std::pair(x * h, std::pair(x, h)); },
                 [](std::pair<Array, Array> r, Array ct) { return std::pair(ct * r.second, sum(ct * r.first)); });
  const auto recomputed = checkpoint([](Array x, Array h) { return x * h; });
  const auto named = composite([](Array x, Array h) { return x * h; }, "tests.product");
  const auto check = [](const auto& f) {
    CHECK(is_multiple(jit(f)(x64(), 0.1), 0.1));
    CHECK(is_multiple(f(x64(), 0.1), 0.1));
    CHECK(is_multiple(grad([&](Array x) { return sum(f(x, 0.1)); })(x64()) * x64(), 0.1));
    CHECK(is_multiple(grad([&](Array x, Array h) { return sum(f(x, h)); })(x64(), 0.1) * x64(), 0.1));
    CHECK(is_exactly(grad<1>([&](Array x, Array h) { return sum(f(x, h)); })(x64(), 0.1), 6));
    CHECK(is_exactly(jit(grad<1>([&](Array x, Array h) { return sum(f(x, h)); }))(x64(), 0.1), 6));
    CHECK(is_multiple(vmap(f, {.in_axes = {0, none}})(x64(), 0.1), 0.1));
  };
  check(product), check(reversed), check(recomputed), check(named);
}

TEST_CASE("numbers: maps") {
  const auto scaled = [](Array x, Array h) { return x * h; };
  CHECK(is_multiple(vmap(scaled, {.in_axes = {0, none}})(x64(), 0.1), 0.1));
  CHECK(is_multiple(jit(vmap(scaled, {.in_axes = {0, none}}))(x64(), 0.1), 0.1));
  CHECK(is_multiple(vmap(jit(scaled), {.in_axes = {0, none}})(x64(), 0.1), 0.1));
  CHECK(is_multiple(pmap(scaled, {.in_axes = {0, none}, .chunk = true})(x64(), 0.1), 0.1));
  CHECK(is_multiple(vmap(grad(scaled), {.in_axes = {0, none}})(x64(), 0.1) * x64(), 0.1));
}

TEST_CASE("numbers: loops and branches") {
  // A clock beside a float64 state.
  const auto step = [](std::pair<Array, Array> c, None) {
    auto [x, t] = c;
    return std::pair(std::pair(x + x64() * t, t + 0.1), t);
  };
  double want = 0, t = 0;
  for (int i = 0; i < 20; ++i) want += t, t += 0.1;
  const auto [end, ts] = scan(step, std::pair(zeros_like(x64()), Array(0.0)), none, {.length = 20});
  CHECK(is_multiple(end.first, want));
  CHECK(is_exactly(end.second, t));
  const auto run = [&](Array t0) { return scan(step, std::pair(zeros_like(x64()), t0), none, {.length = 20}).first.first; };
  CHECK(is_multiple(run(0.0), want));
  CHECK(is_multiple(jit(run)(0.0), want));
  CHECK(is_exactly(grad([&](Array h) { return sum(run(h)); })(0.0), 20 * 6));

  // The same with a compiled step, which gives float32 for its number outside of the loop.
  const auto compiled = jit([](Array x, Array t) { return std::pair(x + x64() * t, t + 0.1); });
  const auto by_compiled = [&](std::pair<Array, Array> c, None) { return std::pair(compiled(c.first, c.second), c.second); };
  const auto end_of_compiled = scan(by_compiled, std::pair(zeros_like(x64()), Array(0.0)), none, {.length = 20}).first;
  CHECK(is_multiple(end_of_compiled.first, want));
  CHECK(is_exactly(end_of_compiled.second, t));
  CHECK(compiled(x64(), 0.1).second.dtype() == float32);
  CHECK(is_exactly(scan(by_compiled, std::pair(zeros_like(x64()), Array(0.0)), none, {.length = 20}).first.second, t));

  double sum_of = 0;
  for (int i = 0; i < 10; ++i) sum_of += i * 0.1;
  CHECK(is_multiple(fori_loop(0, 10, [](Array i, Array x) { return x + x64() * (i * 0.1); }, zeros_like(x64())), sum_of));
  CHECK(is_multiple(
      jit([](Array n) { return fori_loop(0, n, [](Array i, Array x) { return x + x64() * (i * 0.1); }, zeros_like(x64())); })(10), sum_of));
  const auto [last, clock] = while_loop([](std::pair<Array, Array> c) { return c.second < 0.95; },
                                        [](std::pair<Array, Array> c) { return std::pair(c.first + x64() * c.second, c.second + 0.1); },
                                        std::pair(zeros_like(x64()), Array(0.0)));
  CHECK(is_multiple(last, sum_of));
  CHECK(clock.dtype() == float64);
  const auto choose = [](Array x, Array h) {
    return cond(sum(x) > 0, [](Array x, Array h) { return x * h; }, [](Array x, Array) { return x; }, x, h);
  };
  CHECK(is_multiple(choose(x64(), 0.1), 0.1));
  CHECK(is_multiple(jit(choose)(x64(), 0.1), 0.1));
  CHECK(is_multiple(vmap(choose, {.in_axes = {0, none}})(x64(), 0.1), 0.1));
}

}  // namespace
