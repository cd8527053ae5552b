// custom_linear_solve and its derivatives.
#include "tests/transforms/checks.h"

namespace {
using namespace weft;
using namespace weft::test;

bool all_near(const Array& x, const Array& want, double tolerance) {
  return x.shape() == want.shape() && near(x, want.to_vector<double>(), tolerance);
}

const bool kDevicesSet = (config.num_cpu_devices = 8, true);
const Array kMatrix = array({{4.f, 1.f, 0.f}, {2.f, 5.f, 1.f}, {0.f, -1.f, 3.f}});

/// The x with a x = b by Jacobi's iteration, which alone would be differentiated step by step, and not at all in reverse mode.
Array jacobi(const Array& a, const Array& b) {
  const Array diagonal = sum(a * eye(a.shape()[0]), 1);
  return while_loop([=](Array x) { return max(abs(matmul(a, x) - b)) > 1e-6f; }, [=](Array x) { return x + (b - matmul(a, x)) / diagonal; },
                    zeros_like(b));
}
Array solve(const Array& a, const Array& b) {
  return custom_linear_solve([=](Array x) { return matmul(a, x); }, b, [=](auto, Array c) { return jacobi(a, c); },
                             [=](auto, Array c) { return jacobi(transpose(a), c); });
}

TEST_CASE("custom_linear_solve: value and derivatives are those of the inverse") {
  const Array b = array({1.f, -2.f, .5f}), inverse = linalg::inv(kMatrix);
  CHECK(all_near(solve(kMatrix, b), matmul(inverse, b), 1e-5));
  CHECK(all_near(jacfwd([](Array c) { return solve(kMatrix, c); })(b), inverse, 1e-5));
  CHECK(all_near(jacrev([](Array c) { return solve(kMatrix, c); })(b), inverse, 1e-5));
  // By the matrix, which the functions capture: forward, reverse, and one of the other.
  auto loss = [=](Array a) { return sum(square(solve(a, b))); };
  auto exact = [=](Array a) { return sum(square(linalg::solve(a, b))); };
  CHECK(all_near(grad(loss)(kMatrix), grad(exact)(kMatrix), 1e-4));
  const Array direction = random::normal(random::key(5), {3, 3});
  CHECK(all_near(jvp(loss, std::tuple{kMatrix}, std::tuple{direction}).second,
                 jvp(exact, std::tuple{kMatrix}, std::tuple{direction}).second, 1e-4));
  CHECK(all_near(hessian([=](Array t) { return loss(kMatrix + t * direction); })(0.f),
                 hessian([=](Array t) { return exact(kMatrix + t * direction); })(0.f), 1e-3));
}

TEST_CASE("custom_linear_solve under vmap and jit") {
  const Array bs = random::normal(random::key(1), {4, 3}), matrices = kMatrix + .1f * random::normal(random::key(2), {4, 3, 3});
  CHECK(all_near(jit(vmap([](Array b) { return solve(kMatrix, b); }))(bs),
                 linalg::solve(broadcast_to(kMatrix, {4, 3, 3}), bs(ellipsis, newaxis))(ellipsis, 0), 1e-5));
  auto gradient = grad([](Array a, Array b) { return sum(sin(solve(a, b))); });
  auto exact = grad([](Array a, Array b) { return sum(sin(linalg::solve(a, b))); });
  CHECK(all_near(jit(vmap(gradient))(matrices, bs), vmap(exact)(matrices, bs), 1e-4));
  CHECK(all_near(vmap(gradient, {.in_axes = {none, 0}})(kMatrix, bs), vmap(exact, {.in_axes = {none, 0}})(kMatrix, bs), 1e-4));
}

struct Pair {
  Array x, y;
};
TEST_CASE("custom_linear_solve: trees, symmetric maps, maps of no matrix") {
  // x and y, each scaled: its own transpose.
  auto scale = [](Pair p) { return Pair{2 * p.x, 4 * p.y}; };
  auto unscale = [](auto, Pair p) { return Pair{p.x / 2, p.y / 4}; };
  auto loss = [=](Pair b) {
    const Pair p = custom_linear_solve(scale, b, unscale, {.symmetric = true});
    return sum(p.x) + sum(square(p.y));
  };
  const Pair g = grad(loss)(Pair{ones(2), full({3}, 8.f)});
  CHECK(near(g.x, {.5, .5}));
  CHECK(near(g.y, {1, 1, 1}));
  // The transposed system's map is handed to transpose_solve.
  auto twice = [](Array x) { return cumsum(x); };
  auto by_map = [](auto map, Array b) {
    const Array matrix = transpose(vmap(map)(eye(b.shape()[0])));
    return linalg::solve(matrix, b);
  };
  auto f = [=](Array b) { return custom_linear_solve(twice, b, by_map, by_map); };
  CHECK(near(f(array({1.f, 3.f, 6.f})), {1, 2, 3}));
  CHECK(near(jacrev(f)(ones(3)), {1, 0, 0, -1, 1, 0, 0, -1, 1}));
  // By name, also of trees.
  auto named = [=](Array b) { return custom_linear_solve(twice, b, by_map, {.transpose_solve = by_map}); };
  CHECK(near(jit(jacrev(named))(ones(3)), {1, 0, 0, -1, 1, 0, 0, -1, 1}));
  auto of_pairs = [=](Pair b) { return sum(square(custom_linear_solve(scale, b, unscale, {.transpose_solve = unscale}).y)); };
  CHECK(near(grad(of_pairs)(Pair{ones(2), full({3}, 8.f)}).y, {1, 1, 1}));
}

TEST_CASE("what custom_linear_solve refuses") {
  auto twice = [](Array x) { return 2 * x; };
  auto half = [](auto, Array b) { return b / 2; };
  auto forward_only = [=](Array b) { return sum(custom_linear_solve(twice, b, half)); };
  CHECK(near(jvp(forward_only, std::tuple{ones(2)}, std::tuple{ones(2)}).second, {1}));
  CHECK(refuses<TracerError>([&] { grad(forward_only)(ones(2)); }, {"custom_linear_solve", "transpose_solve", "symmetric"}));
  CHECK(refuses<ShapeError>([&] { custom_linear_solve([](Array x) { return sum(x); }, ones(2), half); }, {"matvec", "f32[]", "f32[2]"}));
  CHECK(refuses<DTypeError>([&] { custom_linear_solve(twice, ones(2), [](auto, Array b) { return convert(b, float64); }); },
                            {"solve", "f64[2]", "f32[2]"}));
  CHECK(refuses<DTypeError>([&] { custom_linear_solve(twice, array({1, 2}), half); }, {"i32[2]", "floating"}));
  auto ruled =
      custom_vjp(twice, [](Array x) { return std::pair{2 * x, std::tuple{}}; }, [](std::tuple<>, Array ct) { return std::tuple{2 * ct}; });
  CHECK(refuses<TracerError>(
      [&] { custom_linear_solve(ruled, ones(2), half, half); },
      {"custom_vjp_call", "transposed system of custom_linear_solve", "needs a point", "without the rule", "linear_solve.cpp:"}));
}

TEST_CASE("a linear function with a custom_jvp rule is transposed by its body") {
  auto steep = custom_jvp([](Array x) { return cumsum(x); },
                          [](auto p, auto t) { return std::pair{cumsum(std::get<0>(p)), cumsum(std::get<0>(t))}; });
  CHECK(near(std::get<0>(linear_transpose(steep, ones(3))(array({1.f, 2.f, 3.f}))), {6, 5, 3}));
  auto by_map = [](auto map, Array b) { return linalg::solve(transpose(vmap(map)(eye(b.shape()[0]))), b); };
  auto f = [=](Array b) { return custom_linear_solve(steep, b, by_map, by_map); };
  CHECK(near(jacrev(f)(ones(3)), {1, 0, 0, -1, 1, 0, 0, -1, 1}));
  CHECK(near(jit(jacrev(f))(ones(3)), {1, 0, 0, -1, 1, 0, 0, -1, 1}));
}

}  // namespace

TEST_CASE("a solver within a map over devices may communicate") {
  const Array b = array({{1.f, 2.f}, {3.f, 5.f}});
  // (I + the sum over the devices) x = b, of two devices.
  auto solved = [](Array c) {
    return custom_linear_solve([](Array v) { return v + psum(v, "i"); }, c, [](auto, Array d) { return d - psum(d, "i") / 3; });
  };
  const Array want = array({{1.f - 4.f / 3, 2.f - 7.f / 3}, {3.f - 4.f / 3, 5.f - 7.f / 3}});
  CHECK(all_near(vmap(solved, {.axis_name = "i"})(b), want, 1e-5));
  CHECK(all_near(pmap(solved, {.axis_name = "i"})(b), want, 1e-5));
}
