// Loops and branches: values against C++ loops, derivatives against calculus, and every transform through them.
#include <doctest/doctest.h>
#include <fmt/core.h>
#include <weft/weft.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/messages.h"

using namespace weft;

namespace {

bool close(const Array& x, const std::vector<double>& want, double tolerance = 1e-5) {
  const std::vector<double> got = x.to_vector<double>();
  bool same = got.size() == want.size();
  for (std::size_t i = 0; same && i < got.size(); ++i) same = std::abs(got[i] - want[i]) <= tolerance * (1 + std::abs(want[i]));
  if (!same) MESSAGE(fmt::format("{}", x));
  return same;
}

Array power_by_squaring(const Array& x) {
  return while_loop([](Array c) { return c < 100; }, [](Array c) { return c * c; }, x, {.max_steps = 10});
}
Array magnitude_of(const Array& x) {
  return cond(x > 0, [](Array a) { return a * a; }, [](Array a) { return -a; }, x);
}
Array product_of_steps(const Array& x) {
  return scan([](Array c, Array k) { return std::pair{c * k, c}; }, x, array({1.f, 2.f, 3.f})).first;
}

}  // namespace

TEST_CASE("cond takes one branch; vmap selects; derivatives follow the branch") {
  CHECK(close(magnitude_of(3.f), {9}));
  CHECK(close(magnitude_of(-3.f), {3}));
  CHECK(close(grad(magnitude_of)(3.f), {6}));
  CHECK(close(grad(magnitude_of)(-3.f), {-1}));
  CHECK(close(vmap(magnitude_of)(array({2.f, -5.f})), {4, 5}));
  CHECK(close(vmap(grad(magnitude_of))(array({2.f, -5.f})), {4, -1}));
  CHECK(close(grad(grad(magnitude_of))(3.f), {2}));
  const Array outer = 10.f;
  CHECK(close(grad([&](Array x) { return cond(true, [&] { return x * outer; }, [&] { return x; }); })(1.f), {10}));
}

TEST_CASE("the reverse derivative passes over control flow that gives integers only") {
  const auto f = [](const Array& x) {
    const Array n =
        cond(sum(x) > 0, [](const Array& v) { return convert(v, int32); }, [](const Array& v) { return convert(2 * v, int32); }, x);
    const Array m = fori_loop(0, 3, [&](const Array&, const Array& c) { return c + convert(x(0), int32); }, Array(convert(x(1), int32)));
    return sum(x * x) + convert(sum(n) + m, float32);
  };
  CHECK(grad(f)(array({1.f, 2.f})).to_vector<float>() == std::vector<float>{2, 4});
}

TEST_CASE("switch_ clamps its index and takes tuples and vectors of branches") {
  auto twice = [](Array a) { return a * 2; };
  auto same = [](Array a) { return a; };
  for (int i : {-3, 0, 1, 7}) {
    const double want = i <= 0 ? 5 : 10;
    CHECK(close(switch_(i, std::tuple{same, twice}, 5.f), {want}));
  }
  CHECK(close(vmap([&](Array i) { return switch_(i, std::tuple{same, twice}, 5.f); })(array({0, 1, 9})), {5, 10, 10}));
}

TEST_CASE("a scan's function may return a tuple of two") {
  const auto [last, ys] = scan([](Array c, Array x) { return std::tuple{c + x, c}; }, 0.f, arange(1, 4, 1, float32));
  CHECK(last.item<float>() == 6);
  CHECK(ys.to_vector<float>() == std::vector<float>{0, 1, 3});
}

TEST_CASE("a scan carries, stacks, runs in reverse, and is differentiable to any order") {
  auto running = [](Array c, Array x) { return std::pair{c + x, c * 2}; };
  const auto [last, ys] = scan(running, 0.f, arange(4, float32));
  CHECK(close(last, {6}));
  CHECK(close(ys, {0, 0, 2, 6}));
  const auto [last_reversed, ys_reversed] = scan(running, 0.f, arange(4, float32), {.reverse = true});
  CHECK(close(last_reversed, {6}));
  CHECK(close(ys_reversed, {12, 10, 6, 0}));
  CHECK(close(grad(product_of_steps)(2.f), {6}));
  CHECK(close(jvp(product_of_steps, std::tuple{2.f}, std::tuple{1.f}).second, {6}));
  auto cube = [](Array x) { return fori_loop(0, 2, [&](Array, Array a) { return a * x; }, x); };
  CHECK(close(grad(cube)(2.f), {12}));
  CHECK(close(grad(grad(cube))(2.f), {12}));
  CHECK(close(grad(grad(grad(cube)))(2.f), {6}));
  CHECK(close(vmap(grad(cube))(array({1.f, 2.f})), {3, 12}));
  const auto [count, none_at_all] = scan([](Array c, None) { return std::pair{c + 1, none}; }, 0, none, {.length = 5});
  CHECK(close(count, {5}));
}

TEST_CASE("a while loop under vmap keeps the value of the lanes that are done") {
  auto until_hundred = [](Array x) { return while_loop([](Array a) { return a < 100; }, [](Array a) { return a * a; }, x); };
  CHECK(close(vmap(until_hundred)(array({2.f, 11.f, 200.f})), {256, 121, 200}));
  CHECK(close(jvp(until_hundred, std::tuple{3.f}, std::tuple{1.f}).second, {8 * std::pow(3, 7)}));
  CHECK(close(vmap(jacfwd(until_hundred))(array({3.f, 11.f})), {8 * std::pow(3, 7), 22}));
}

TEST_CASE("a bounded while loop has a reverse derivative, one without a bound an error that says so") {
  CHECK(close(power_by_squaring(3.f), {6561}));
  CHECK(close(grad(power_by_squaring)(3.f), {8 * std::pow(3, 7)}));
  CHECK(close(vmap(grad(power_by_squaring))(array({3.f, 11.f})), {8 * std::pow(3, 7), 22}));
  auto unbounded = [](Array x) { return while_loop([](Array a) { return a < 100; }, [](Array a) { return a * a; }, x); };
  CHECK(test::refuses<TracerError>([&] { grad(unbounded)(3.f); }, {"max_steps", "while_loop"}));
  // Of a loop whose body has a loop that gives what is not differentiable beside what is.
  auto body = [](Array c, None) { return std::pair{Array(c * 0.5f), convert(c, int32)}; };
  auto around = [&](Array x) {
    return while_loop([](Array c) { return c < 100; },
                      [&](Array c) {
                        const auto [end, whole] = scan(body, sin(c), none, {.length = 2});
                        return Array(c * 2 + end + whole[1]);
                      },
                      x);
  };
  CHECK(test::refuses<TracerError>([&] { grad(around)(3.f); }, {"max_steps", "while_loop"}));
}

TEST_CASE("a while loop without a bound is linearized: its linear part runs the loop again") {
  auto f = [](Array x, Array w) {
    const auto [n, y] =
        while_loop([](std::pair<Array, Array> c) { return c.second(0) < 100; },
                   [&](std::pair<Array, Array> c) { return std::pair{c.first + 1, c.second * c.second * w}; }, std::pair{array(0), x});
    return y * n;
  };
  const Array x = array({2.f, 3.f}), w = array({1.5f, 0.5f});
  const std::tuple in(x, w), by(array({1.f, -1.f}), array({0.5f, 2.f}));
  const Array want = jvp(f, in, by).second;
  const auto same = [](const Array& a, const Array& b) { return allclose(a, b, 1e-5).item<bool>(); };
  const auto [y, linear] = linearize(f, x, w);
  CHECK(same(y, f(x, w)));
  CHECK(same(std::apply(linear, by), want));
  CHECK(same(std::apply(jit(linear), by), want));
  CHECK(same(vmap(linear)(stack({std::get<0>(by), x}), stack({std::get<1>(by), w}))[0], want));
  const auto each = [&](Array c) { return scan([&](Array s, None) { return std::pair{f(s, w) / 1000, s}; }, c, none, 2).first; };
  CHECK(same(linearize(each, x).second(x), jvp(each, x, x).second));
  CHECK(test::refuses<TracerError>([&] { vjp(f, x, w).second(x); }, {"max_steps", "while_loop", "control_flow.cpp"}));
  auto shown = [](Array v) {
    const auto step = [](Array a) {
      io_callback([](Array u) { return u; }, ShapeDtypeStruct({}, float32), stop_gradient(a));
      return a * 2;
    };
    return while_loop([](Array a) { return a < 100; }, step, v);
  };
  CHECK(test::refuses<TracerError>([&] { linearize(shown, array(3.f)); }, {"io_callback", "second time"}));
}

TEST_CASE("loops and branches with calls of jit, of whose results some depend on what is transposed, and some don't") {
  using Pair = std::pair<Array, Array>;
  const auto halves = jit([](Array a, Array b) { return std::pair{a * 0.5f, cos(b)}; });
  // The second call takes a sum that depends on x, and gives a cosine that doesn't.
  const auto step = [&](Pair c) {
    const auto [a, b] = halves(c.first, c.second);
    return Pair(halves(a + 2 * a, b));
  };
  const Array x = array({1.f, 2.f}), y = array({0.3f, 0.4f});
  const auto transposed = [&](auto f) { return std::get<0>(linear_transpose(f, x)(x)); };
  const auto scanned = [&](Array a) {
    return scan([&](Pair c, None) { return std::pair{step(c), none}; }, Pair(a, y), none, {.length = 2}).first.first;
  };
  const auto looped = [&](Array a) {
    return while_loop([](Pair c) { return sum(c.second) > 0; }, step, Pair(a, y), {.max_steps = 2}).first;
  };
  const auto branched = [&](Array a) {
    const auto [u, v] = cond(sum(y) > 0, [&](Array b) { return step(Pair(b, y)); }, [&](Array b) { return step(step(Pair(b, y))); }, a);
    return u + 0 * v * u;
  };
  CHECK(close(transposed(scanned), {0.75 * 0.75, 2 * 0.75 * 0.75}));
  CHECK(close(transposed(looped), {0.75 * 0.75, 2 * 0.75 * 0.75}));
  CHECK(close(transposed(branched), {0.75, 1.5}));
  const auto unbounded = [&](Array a) { return sum(while_loop([](Pair c) { return sum(c.second) > 9; }, step, Pair(a, y)).first); };
  CHECK(test::refuses<TracerError>([&] { grad(unbounded)(x); }, {"max_steps", "while_loop"}));
}

TEST_CASE("the memory of a bounded while loop's reverse mode grows as the square root of the bound") {
  auto bytes = [](int n) {
    auto f = [n](Array x) {
      auto go_on = [](Array c) { return c(0) < 2; };
      return sum(while_loop(go_on, [](Array c) { return sin(c); }, x, {.max_steps = n}));
    };
    return static_cast<double>(jit(grad(f)).lower(ones(100)).compile().memory_analysis().temp_size_in_bytes);
  };
  const double few = bytes(400), many = bytes(40000);
  CHECK(many < 15 * few);  // of a hundred times the steps
  CHECK(many < 40000 * 100 * 4 / 20);
}

TEST_CASE("the code of a loop is as large for any number of steps, the derivative's too") {
  auto sizes = [](int n) {
    auto counted = [n](Array x) { return fori_loop(0, n, [](Array, Array c) { return sin(c) * .9f; }, x); };
    auto stacked = [n](Array x) {
      return scan([](Array c, auto) { return std::pair{sin(c) * .9f, sum(c)}; }, x, none, {.length = n}).second;
    };
    auto until = [n](Array x) {
      using Carry = std::pair<Array, Array>;
      return while_loop([n](Carry c) { return c.first < n; }, [](Carry c) { return Carry{c.first + 1, sin(c.second)}; }, Carry{0, x})
          .second;
    };
    auto size = [](auto f) { return jit(f).lower(ones({40, 40})).as_text("llvm").size(); };
    return std::vector<std::size_t>{size(counted), size(stacked), size(until), size(grad([=](Array x) { return sum(counted(x)); })),
                                    size(grad([=](Array x) { return sum(stacked(x)); }))};
  };
  const std::vector<std::size_t> few = sizes(100), many = sizes(100000);
  for (std::size_t i = 0; i < few.size(); ++i) {
    CAPTURE(i);
    CHECK(many[i] < few[i] + few[i] / 100);  // some numbers have more digits
  }
}

TEST_CASE("a bound stops the loop in both modes at the same step") {
  auto three = [](Array x) { return while_loop([](Array a) { return a < 1e9f; }, [](Array a) { return a * 2; }, x, {.max_steps = 3}); };
  CHECK(close(three(1.f), {8}));
  CHECK(close(grad(three)(1.f), {8}));
}

TEST_CASE("map, in batches and not, and associative_scan") {
  const Array xs = arange(7);
  std::vector<double> squares;
  for (int i = 0; i < 7; ++i) squares.push_back(i * i);
  CHECK(close(map([](Array x) { return x * x; }, xs), squares));
  CHECK(close(map([](Array x) { return x * x; }, xs, {.batch_size = 3}), squares));
  for (int n = 1; n <= 9; ++n) {
    const Array x = arange(1, n + 1, 1, float32);
    CHECK(close(associative_scan([](Array a, Array b) { return a + b; }, x), cumsum(x).to_vector<double>()));
    CHECK(close(associative_scan([](Array a, Array b) { return a + b; }, x, {.reverse = true}), flip(cumsum(flip(x))).to_vector<double>()));
  }
}

TEST_CASE("a carry that starts as a C++ number takes the body's dtype; other changes are mistakes that name the carry") {
  CHECK(scan([](Array c, Array x) { return std::pair{c + x, c}; }, 0, arange(3, float32)).first.dtype() == float32);
  CHECK(fori_loop(0, 3, [](Array i, Array a) { return a + i * 0.5f; }, 0).dtype() == float32);
  CHECK_THROWS_AS(fori_loop(0, 3, [](Array, Array a) { return a * 0.5f; }, ones({}, int32)), DTypeError);
  CHECK_THROWS_AS(scan([](Array c, Array) { return std::pair{concatenate({c, c}), c}; }, ones(3), ones(3)), ShapeError);
  CHECK_THROWS_AS(while_loop([](Array a) { return a; }, [](Array a) { return a; }, 1.f), DTypeError);
  // Nor is a smaller dtype converted, but a C++ number is.
  CHECK_THROWS_AS(fori_loop(0, 3, [](Array i, Array) { return convert(i, int32); }, ones({})), DTypeError);
  CHECK_THROWS_AS(scan([](Array c, Array) { return std::pair{convert(c, float16), c}; }, ones(3), ones(3)), DTypeError);
  CHECK_THROWS_AS(while_loop([](Array a) { return a < 3; }, [](Array a) { return a > 3; }, ones({})), DTypeError);
  CHECK(while_loop([](Array a) { return a < 3; }, [](Array) { return Array(5); }, ones({})).dtype() == float32);
}

TEST_CASE("a C++ number of a branch takes the dtype of the other branch's result, which keeps its own") {
  const auto x = [](Array v) { return v; };
  CHECK(cond(true, [](Array) { return Array(2); }, x, array({1.5f})[0]).dtype() == float32);
  CHECK(cond(true, x, [](Array) { return Array(2); }, array({1.5f})[0]).dtype() == float32);
  CHECK_THROWS_AS(cond(true, [](Array) { return Array(2.5f); }, x, zeros({}, int32)), DTypeError);
  CHECK_THROWS_AS(cond(true, x, [](Array) { return Array(2.5f); }, zeros({}, int32)), DTypeError);
}

TEST_CASE("a loop that overwrites parts of its carry starts in a donated argument's memory, in nested calls and loops too") {
  const auto set_rows = [](Array x, int n) {
    return fori_loop(0, n, [](Array i, Array c) { return c.at(i).set(2 * c(i) + convert(i, c.dtype())); }, x);
  };
  const auto until = [](Array x) {
    using Carry = std::pair<Array, Array>;
    return while_loop([](Carry c) { return c.first < 3; }, [](Carry c) { return Carry{c.first + 1, c.second.at(c.first).add(1)}; },
                      Carry{0, x})
        .second;
  };
  const auto write_rows = [](Array x, int n) {
    return fori_loop(0, n, [](Array i, Array c) { return c.at(i).set(convert(i, c.dtype())); }, x);
  };
  const auto check = [](auto f, const Array& x, bool in_place = true) {
    const Array want = f(x);
    const auto bytes = static_cast<std::int64_t>(x.size()) * x.dtype().itemsize();
    if (in_place) CHECK(jit(f, {.donate_argnums = {0}}).lower(x).compile().memory_analysis().alias_size_in_bytes == bytes);
    CHECK(array_equal(jit(f, {.donate_argnums = {0}})(Array(x + 0)), want).template item<bool>());
    CHECK(array_equal(jit(f)(x), want).template item<bool>());
    // Twice the same start: the second loop must not find what the first wrote.
    CHECK(array_equal(jit([f](Array v) { return f(v) + f(v) + v; }, {.donate_argnums = {0}})(Array(x + 0)), want + want + x)
              .template item<bool>());
  };
  for (DType dtype : {float32, float64, int32, bfloat16, uint8, int64}) {
    CAPTURE(dtype);
    const Array x = convert(reshape(arange(40), {8, 5}), dtype);
    check(until, x);
    check([&](Array v) { return write_rows(v, 7); }, x);
    check([&](Array v) { return write_rows(v, 8); }, x);
    check([&](Array v) { return jit(until)(jit([&](Array u) { return write_rows(u, 3); })(v)); }, x);
    check([&](Array v) { return fori_loop(0, 3, [&](Array, Array c) { return write_rows(until(c), 2); }, v); }, x);
    // A step that reads other elements than it writes may need two pieces of memory.
    check([&](Array v) { return set_rows(v, 7); }, x, false);
    check([&](Array v) { return fori_loop(0, 3, [&](Array, Array c) { return set_rows(until(c), 2); }, v); }, x, false);
  }
  const Array z = complex(arange(8, float32), ones(8));
  check([&](Array v) { return fori_loop(0, 5, [](Array i, Array c) { return c.at(i).set(c(i + 1)); }, v); }, z, false);
  check([&](Array v) { return fori_loop(0, 5, [](Array i, Array c) { return c.at(i).set(complex(2.f, 1.f)); }, v); }, z, false);
}

TEST_CASE("max_steps is where a loop ends, in every mode and with bounds of every integer type") {
  const auto powers = [](WhileOptions options) {
    return [options](Array x, Array n) { return fori_loop(0, n, [=](Array, Array c) { return c * x; }, Array(1.f), options); };
  };
  for (const WhileOptions& options : {WhileOptions{.max_steps = 5}, WhileOptions{.max_steps = 5, .checkpoints = 3}})
    for (const int n : {0, 3, 5, 10}) {
      CAPTURE(n);
      const auto f = powers(options);
      const int steps = std::min(n, 5);
      const float value = std::pow(2.f, static_cast<float>(steps)), derivative = static_cast<float>(steps) * value / 2;
      CHECK(f(2.f, n).item<float>() == value);
      CHECK(jit(f)(2.f, n).item<float>() == value);
      CHECK(jit(grad(f))(2.f, n).item<float>() == derivative);
      CHECK(jvp([&](Array x) { return f(x, array(n)); }, std::tuple{Array(2.f)}, std::tuple{Array(1.f)}).second.item<float>() ==
            derivative);
      CHECK(vmap(grad(f), {.in_axes = {none, 0}})(2.f, array({n, 1})).to_vector<float>() == std::vector<float>{derivative, 1});
    }
  const auto counted = [](Array from, Array to, Int most) {
    return jit([=](Array a, Array b) { return fori_loop(a, b, [](Array, Array c) { return c + 1; }, 0, {.max_steps = most}); })(from, to)
        .item<int>();
  };
  CHECK(counted(array(120, int8), array(127, int8), 1000) == 7);
  CHECK(counted(array(120, int8), array(127, int8), 3) == 3);
  CHECK(counted(array(INT64_MAX - 2, int64), array(INT64_MAX, int64), 1000) == 2);
  CHECK(counted(array(INT64_MIN, int64), array(INT64_MAX, int64), 4) == 4);
  CHECK(counted(array(std::uint64_t{1} << 63, uint64), array(~std::uint64_t{0}, uint64), 4) == 4);
  CHECK(counted(array(5, uint8), array(2, uint8), 4) == 0);
  // No step at all; a derivative there is, too.
  const auto none_made = [](Array x) {
    return while_loop([](Array c) { return c > 0; }, [](Array c) { return c * 2; }, x, {.max_steps = 0});
  };
  CHECK(jit(none_made)(3.f).item<float>() == 3);
  CHECK(grad(none_made)(3.f).item<float>() == 1);
  CHECK(test::refuses<Error>([&] { powers({.max_steps = -1})(2.f, 3); }, {"fori_loop", "max_steps is -1"}));
  CHECK(test::refuses<Error>([&] { while_loop([](Array c) { return c > 0; }, [](Array c) { return c; }, 1, {.max_steps = -1}); },
                             {"while_loop", "max_steps is -1"}));
}
