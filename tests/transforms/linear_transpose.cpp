// Transposes of functions that are linear, with all that may stand beside what is (counters, branches, calls with several results), and of
// functions that are not, which must be refused by the operation and its line.
#include "checks.h"

#include <cmath>

using namespace weft;
using namespace weft::test;

namespace {

/// The message with which a transpose is refused; empty if it isn't.
template <class F, class... A>
std::string refusal(F f, const A&... args) {
  try {
    linear_transpose(f, args...);
  } catch (const TracerError& e) {
    return e.what();
  }
  return {};
}
#define CHECK_REFUSED(operation, f, ...)                                                          \
  do {                                                                                            \
    const std::string message = refusal(f, __VA_ARGS__);                                          \
    CHECK_MESSAGE(message.starts_with(operation ": "), message);                                  \
    CHECK(message.find("linear_transpose.cpp:" + std::to_string(__LINE__)) != std::string::npos); \
  } while (false)

const Array x3 = array({1.5f, .5f, 2.f}), square2 = array({{2.f, 1.f}, {1.f, 3.f}});

}  // namespace

// clang-format off: a check is one line, which the message must name
TEST_CASE("the transpose of what is not linear is refused, with the operation and its line") {
  CHECK_REFUSED("mul", [](Array a) { return a * a; }, x3);
  CHECK_REFUSED("mul", [](Array a, Array b) { return a * b; }, x3, x3);
  CHECK_REFUSED("mul", [](Array a) { return sum(2 * a * sum(a)); }, x3);
  CHECK_REFUSED("div", [](Array a) { return 1 / a; }, x3);
  CHECK_REFUSED("div", [](Array a) { return a / a; }, x3);
  CHECK_REFUSED("select_n", [](Array a) { return where(a > 0, a, 0); }, x3);
  CHECK_REFUSED("select_n", [](Array a) { return where(a > 0, 1.f, 0.f); }, x3);
  CHECK_REFUSED("exp", [](Array a) { return exp(a); }, x3);
  CHECK_REFUSED("abs", [](Array a) { return abs(a); }, x3);
  CHECK_REFUSED("floor", [](Array a) { return floor(a); }, x3);
  CHECK_REFUSED("integer_pow", [](Array a) { return integer_pow(a, 3); }, x3);
  CHECK_REFUSED("max", [](Array a) { return maximum(a, 0); }, x3);
  CHECK_REFUSED("min", [](Array a) { return clip(a, 0, 1); }, x3);
  CHECK_REFUSED("clamp", [](Array a) { return clamp(0.f, a, 1.f); }, x3);
  CHECK_REFUSED("reduce_max", [](Array a) { return max(a); }, x3);
  CHECK_REFUSED("reduce_prod", [](Array a) { return prod(a); }, x3);
  CHECK_REFUSED("cumprod", [](Array a) { return cumprod(a); }, x3);
  CHECK_REFUSED("sort", [](Array a) { return sort(a); }, x3);
  CHECK_REFUSED("dot_general", [](Array a) { return dot(a, a); }, x3);
  CHECK_REFUSED("dot_general", [](Array a) { return matmul(a, a); }, square2);
  CHECK_REFUSED("conv_general_dilated", [](Array a) { return conv_general_dilated(a, a, {1, 1}, "VALID"); }, ones({1, 1, 2, 2}));
  CHECK_REFUSED("convert_element_type", [](Array a) { return convert(convert(a, int32), float32); }, x3);
  CHECK_REFUSED("gather", [](Array a) { return x3(convert(a, int32)); }, x3);
  CHECK_REFUSED("dynamic_slice", [](Array a) { return dynamic_slice(a, {convert(a(0), int32)}, {2}); }, x3);
  CHECK_REFUSED("dynamic_update_slice", [](Array a) { return dynamic_update_slice(a, ones(1), {convert(a(0), int32)}); }, x3);
  CHECK_REFUSED("scatter-add", [](Array a) { return x3.at(convert(a, int32)).add(1); }, x3);
  CHECK_REFUSED("scatter-mul", [](Array a) { return a.at(array({0, 2})).multiply(a(slice(0, 2))); }, x3);
  CHECK_REFUSED("triangular_solve", [](Array a) { return linalg::triangular_solve(a, ones({2, 1})); }, square2);
  CHECK_REFUSED("cholesky", [](Array a) { return linalg::cholesky(a); }, square2);
}

TEST_CASE("the transpose of branches and loops that are not linear is refused") {
  CHECK_REFUSED("cond", [](Array a) { return cond(a(0) > 0, [](Array v) { return v; }, [](Array v) { return 2 * v; }, a); }, x3);
  CHECK_REFUSED("mul", [](Array a) { return cond(array(true), [](Array v) { return v * v; }, [](Array v) { return v; }, a); }, x3);
  CHECK_REFUSED("while", [](Array a) { return while_loop([](Array c) { return c(0) < 5; }, [](Array c) { return c * 2; }, a); }, x3);
  CHECK_REFUSED("mul", [](Array a) { return scan([](Array c, Array v) { return std::pair{c * v, c}; }, array(1.f), a).first; }, x3);
  CHECK_REFUSED("mul", [](Array a) { return fori_loop(0, 3, [&](Array, Array c) { return c * a; }, ones(3)); }, x3);
  CHECK_REFUSED("mul", [](Array a) { return jit([](Array v) { return v * v; })(a); }, x3);
  CHECK_REFUSED("mul", [](Array a) { return checkpoint([](Array v) { return v * v; })(a); }, x3);
  CHECK_REFUSED("mul", [](Array a) { return vmap([](Array v) { return v * v; })(a); }, x3);
  CHECK_REFUSED("mul", [](Array a) { return reduce(a, 1.f, [](Array u, Array v) { return u * v * 2; }, 0); }, x3);
  // The number of steps depends on the input, if only by way of a bounded loop's branch.
  CHECK(refusal([](Array a) { return while_loop([](Array c) { return c(0) < 5; }, [](Array c) { return c * 2; }, a, {.max_steps = 8}); }, x3) != "");
}

// clang-format on

TEST_CASE("a program that is not linear has no transpose either") {
  CHECK_THROWS_WITH_AS(transpose_jaxpr(make_jaxpr([](Array a) { return a * a; })(x3)), doctest::Contains("mul: not linear in operand"),
                       TracerError);
  CHECK_THROWS_AS(transpose_jaxpr(make_jaxpr([](Array a) { return where(a > 0, a, 0); })(x3)), TracerError);
}

TEST_CASE("only floating and complex numbers have a transpose") {
  CHECK_THROWS_WITH_AS(linear_transpose([](Array a) { return 2 * a; }, array(3)), doctest::Contains("i32[]"), DTypeError);
  CHECK_THROWS_WITH_AS(linear_transpose([](Array a) { return std::pair{2 * a, a > 0}; }, x3), doctest::Contains("bool[3]"), DTypeError);
}

TEST_CASE("maps over a mesh that compute something else beside what is linear are transposed") {
  const Mesh mesh = make_mesh({2}, {"i"});
  for (const bool check_vma : {true, false}) {
    auto both =
        shard_map([](Array v, Array k) { return std::pair{v * k + psum(v, "i"), k * psum(k, "i")}; },
                  {.mesh = mesh, .in_specs = {sharding::P("i"), sharding::P("i")}, .out_specs = sharding::P("i"), .check_vma = check_vma});
    const Array k = array({2.f, 3.f});
    auto f = [=](Array v) {
      auto [linear, other] = both(v, k);
      return linear * other;
    };
    // (2 v0 + v0 + v1) 10 and (3 v1 + v0 + v1) 15
    CHECK(near(f(array({1.f, 1.f})), {40, 75}));
    CHECK(near(std::get<0>(linear_transpose(f, ones(2))(array({1.f, 100.f}))), {30 + 1500, 10 + 6000}));
    CHECK(near(jit([=](Array c) { return std::get<0>(linear_transpose(f, ones(2))(c)); })(array({1.f, 100.f})), {1530, 6010}));
  }
  // Of a rule that differentiates by itself, the tangents are a program of both kinds.
  auto map = [mesh](Array x) {
    return shard_map([](Array x) { return exp(.5f * x); },
                     {.mesh = mesh, .in_specs = {sharding::P("i")}, .out_specs = sharding::P("i")})(stack({x, x}))(1);
  };
  auto first = [map](Array x) {
    auto [y, push] = linearize(map, x);
    return push(ones_like(x));
  };
  auto second = [first](Array x) {
    auto [y, pull] = vjp(first, x);
    return std::get<0>(pull(ones_like(x)));
  };
  auto with_rule = custom_jvp(second, [second](auto primals, auto tangents) { return jvp(second, primals, tangents); });
  const float third = .125f * std::exp(.15f);
  CHECK(near(grad(with_rule)(.3f), {third}, 1e-6));
  CHECK(near(jit(grad(with_rule))(.3f), {third}, 1e-6));
  CHECK(near(vmap(grad(with_rule))(full({3}, .3f)), {third, third, third}, 1e-6));
}

TEST_CASE("loops that count beside what they compute are transposed") {
  const auto back = [](auto f, const Array& ct) { return std::get<0>(linear_transpose(f, ones(2))(ct)); };
  CHECK(near(back([](Array v) { return fori_loop(0, 3, [](Array, Array c) { return c * 2; }, v); }, ones(2)), {8, 8}));
  CHECK(near(back([](Array v) { return fori_loop(0, 3, [](Array i, Array c) { return c * convert(i + 1, float32); }, v); }, ones(2)),
             {6, 6}));
  CHECK(
      near(back([](Array v) { return fori_loop(1, 4, [&](Array i, Array c) { return c + v * convert(i, float32); }, zeros(2)); }, ones(2)),
           {6, 6}));
  // A carry of floats that is none of the input's, and one that starts from it only later.
  auto several = [](Array v) {
    const auto [count, weight, s] = std::get<0>(scan(
        [&](std::tuple<Array, Array, Array> c, Array x) {
          const auto [n, w, total] = c;
          return std::pair{std::tuple{n + 1, w * 2, total + w * x * v}, n};
        },
        std::tuple{Array(0), Array(1.f), zeros(2)}, array({1.f, 10.f, 100.f})));
    return s + convert(count, float32) * v * weight;
  };
  CHECK(near(back(several, ones(2)), {445, 445}));  // 1 + 20 + 400, 3 * 8
  // Results of each step, some of them known.
  auto rows = [](Array v) {
    const auto [last, ys] = scan([&](Array n, None) { return std::pair{n + 1, std::pair{v * convert(n, float32), convert(n, float32)}}; },
                                 Array(0), none, {.length = 3});
    return sum(std::get<0>(ys) * reshape(std::get<1>(ys), {3, 1}), 0);
  };
  CHECK(near(back(rows, ones(2)), {5, 5}));
  // In reverse, and a loop in a loop.
  CHECK(near(back(
                 [](Array v) {
                   return std::get<0>(scan(
                                          [&](std::pair<Array, Array> c, Array x) {
                                            return std::pair{std::pair{c.first + 1, c.second * convert(c.first, float32) + x * v}, none};
                                          },
                                          std::pair{Array(1), zeros(2)}, array({1.f, 2.f, 3.f}), {.reverse = true}))
                       .second;
                 },
                 ones(2)),
             {25, 25}));
  CHECK(near(
      back(
          [](Array v) {
            return fori_loop(
                0, 2,
                [](Array i, Array c) { return fori_loop(0, 2, [&](Array k, Array d) { return d * convert(i + k + 1, float32); }, c); }, v);
          },
          ones(2)),
      {12, 12}));
}

TEST_CASE("bounded loops are transposed where the number of steps is known") {
  auto f = [](Array v) {
    return while_loop([](std::pair<Array, Array> c) { return c.first < 3; },
                      [](std::pair<Array, Array> c) { return std::pair{c.first + 1, c.second * convert(c.first + 1, float32)}; },
                      std::pair{Array(0), v}, {.max_steps = 10})
        .second;
  };
  CHECK(near(std::get<0>(linear_transpose(f, ones(2))(array({1.f, 2.f}))), {6, 12}));
  // The loop of a counter alone, without a bound.
  auto g = [](Array v) {
    const Array n = while_loop([](Array c) { return c < 100; }, [](Array c) { return c * 3; }, array(2));
    return v * convert(n, float32);
  };
  CHECK(near(std::get<0>(linear_transpose(g, ones(2))(ones(2))), {162, 162}));
  // Its linear part has no bound.
  auto h = [](Array v) {
    return while_loop([](std::pair<Array, Array> c) { return c.first < 3; },
                      [](std::pair<Array, Array> c) { return std::pair{c.first + 1, c.second * 2}; }, std::pair{Array(0), v});
  };
  CHECK(refusal([&](Array v) { return h(v).second; }, ones(2)) != "");
  CHECK(near(std::get<0>(linear_transpose([&](Array v) { return v * convert(h(v).first, float32); }, ones(2))(ones(2))), {3, 3}));
}

TEST_CASE("calls and branches that give what is known beside what is not are transposed") {
  const auto pair_of = [](Array v, Array n) { return std::pair{2 * v, n * n}; };
  const auto used = [](const std::pair<Array, Array>& p) { return p.first * p.second; };
  const Array n = array({3.f, 4.f}), ct = array({1.f, 10.f});
  const std::vector<double> want = {18, 320};
  CHECK(near(std::get<0>(linear_transpose([&](Array v) { return used(jit(pair_of)(v, n)); }, ones(2))(ct)), want));
  CHECK(near(std::get<0>(linear_transpose([&](Array v) { return used(checkpoint(pair_of)(v, n)); }, ones(2))(ct)), want));
  CHECK(near(std::get<0>(linear_transpose([&](Array v) { return used(vmap(pair_of)(v, n)); }, ones(2))(ct)), want));
  CHECK(near(
      std::get<0>(linear_transpose(
          [&](Array v) { return used(cond(array(true), pair_of, [](Array a, Array b) { return std::pair{a, b}; }, v, n)); }, ones(2))(ct)),
      want));
  auto custom = custom_jvp(pair_of, [&](auto x, auto dx) {
    return std::pair{pair_of(std::get<0>(x), std::get<1>(x)), std::pair{2 * std::get<0>(dx), 2 * std::get<1>(x) * std::get<1>(dx)}};
  });
  CHECK(near(std::get<0>(linear_transpose([&](Array v) { return used(custom(v, n)); }, ones(2))(ct)), want));
  // Nested: a loop in a call in a loop.
  auto nested = [&](Array v) {
    return fori_loop(
        0, 2,
        [&](Array i, Array c) {
          return jit([](Array k, Array d) { return fori_loop(0, 2, [&](Array, Array e) { return e * convert(k + 1, float32); }, d); })(i,
                                                                                                                                       c);
        },
        v);
  };
  CHECK(near(std::get<0>(linear_transpose(nested, ones(2))(ones(2))), {4, 4}));
}

TEST_CASE("transposes of loops agree with vjp, also under jit, vmap and a derivative") {
  const Array w = array({{1.f, 2.f}, {3.f, 4.f}});
  auto f = [&](Array v) { return fori_loop(0, 3, [&](Array i, Array c) { return matmul(w, c) * convert(i + 1, float32) + v; }, v); };
  const Array ct = array({1.f, -1.f});
  const std::vector<double> want = std::get<0>(vjp(f, ones(2)).second(ct)).to_vector<double>();
  auto transposed = [&](Array c) { return std::get<0>(linear_transpose(f, ones(2))(c)); };
  CHECK(near(transposed(ct), want));
  CHECK(near(jit(transposed)(ct), want));
  CHECK(near(vmap(transposed)(stack({ct, 2 * ct}))(0), want));
  CHECK(near(jvp(transposed, std::tuple{ct}, std::tuple{ct}).second, want));
  CHECK(near(std::get<0>(linear_transpose(transposed, ct)(ct)), f(ct).to_vector<double>()));
}

TEST_CASE("a solver's transposed system may count its steps") {
  const Array a = array({{4.f, 1.f}, {0.f, 3.f}});
  auto matvec = [&](Array v) { return fori_loop(0, 2, [&](Array i, Array c) { return where(i == 0, matmul(a, c), c); }, v); };
  auto solve = [&](auto, Array b) { return linalg::solve(a, b); };
  auto transpose_solve = [&](auto vecmat, Array b) { return linalg::solve(jacfwd(vecmat)(b), b); };
  auto f = [&](Array b) { return sum(custom_linear_solve(matvec, b, solve, transpose_solve)); };
  CHECK(near(grad(f)(ones(2)), linalg::solve(swapaxes(a, 0, 1), ones(2)).to_vector<double>()));
}
