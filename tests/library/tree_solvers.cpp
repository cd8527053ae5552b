// Solvers and minima of trees beside those of the flat vectors.
#include <doctest/doctest.h>
#include <weft/scipy.h>
#include <weft/weft.h>

#include <string>

#include "tests/messages.h"

using namespace weft;
using test::has, test::message_of;

namespace {

struct Pair {
  Array u, v;
};
bool close(const Array& a, const Array& b) { return allclose(a, b, 1e-6, 1e-8).item<bool>(); }

}  // namespace

TEST_CASE("solvers: linear functions of trees") {
  const Array m = eye(6, float64) * 8 + cos(arange(36, {.dtype = float64}).reshape({6, 6}));
  const Array a = matmul(m.T(), m), rhs = arange(1, 7, {.dtype = float64}), want = linalg::solve(a, rhs), general = linalg::solve(m, rhs);
  const auto as_tree = [](const Array& x) { return Pair{x(slice(0, 4)).reshape({2, 2}), x(slice(4, none))}; };
  const auto flat = [](const Pair& t) { return concatenate({ravel(t.u), t.v}); };
  const auto by = [=](const Array& matrix) { return [=](const Pair& t) { return as_tree(matmul(matrix, flat(t))); }; };
  const Pair b = as_tree(rhs);
  CHECK(close(flat(linalg::cg(by(a), b, {.tol = 1e-12})), want));
  CHECK(close(flat(linalg::bicgstab(by(m), b, {.tol = 1e-12})), general));
  CHECK(close(flat(linalg::gmres(by(m), b, {.tol = 1e-12})), general));
  CHECK(close(flat(linalg::cg(by(a), b, {.x0 = as_tree(want), .tol = 1e-12, .maxiter = 1})), want));
  CHECK(close(flat(linalg::cg(by(a), b, {.tol = 1e-12, .M = [](const Pair& t) { return tree::scale(0.1, t); }})), want));
  const auto loss = [=](const Array& x) { return sum(square(flat(linalg::cg(by(a), as_tree(x), {.tol = 1e-13})))); };
  const auto direct = [=](const Array& x) { return sum(square(linalg::solve(a, x))); };
  CHECK(close(jit(grad(loss))(rhs), grad(direct)(rhs)));
  CHECK(close(jit(vmap(loss))(stack({rhs, 2 * rhs})), vmap(direct)(stack({rhs, 2 * rhs}))));
  const Scope stepwise = disable_jit();
  CHECK(close(flat(jit([=](const Pair& t) { return linalg::cg(by(a), t, {.tol = 1e-12}); })(b)), want));
}

TEST_CASE("solvers of trees refuse functions and starts of other shapes, by the user's line") {
  const Pair b{ones({2, 2}), ones({4})};
  CHECK(has(message_of<ShapeError>([&] { linalg::cg([](const Pair& t) { return Pair{t.v, t.u}; }, b); }),
            "cg: leaf 0 of 2 is f32[4], that of b f32[2,2]; the shapes must be equal"));
  CHECK(has(message_of<ShapeError>([&] { linalg::gmres([](const Pair& t) { return t; }, b, {.x0 = Pair{b.v, b.u}}); }),
            "gmres: leaf 0 of 2"));
}

TEST_CASE("minimize: a function of a tree, and results that are no scalar") {
  const auto f = [](const Pair& p) { return sum(square(p.u - 3)) + 2 * sum(square(p.v + arange(2.f))); };
  const auto r = optimize::minimize(f, Pair{zeros({2, 2}), zeros({2})});
  CHECK(r.success.item<bool>());
  CHECK(allclose(r.x.u, full({2, 2}, 3.f), 1e-4, 1e-4).item<bool>());
  CHECK(allclose(r.x.v, array({0.f, -1.f}), 1e-4, 1e-4).item<bool>());
  CHECK(
      allclose(jit([&](Array s) { return optimize::minimize(f, Pair{s * ones({2, 2}), zeros({2})}).x.u; })(5.f), r.x.u, 1e-3).item<bool>());
  try {
    optimize::minimize([](const Array& x) { return x; }, zeros(2));
    FAIL("nothing was thrown");
  } catch (const ShapeError& e) {
    CHECK(has(e.message(), "minimize: the function's result is f32[2]; it must be a scalar"));
    CHECK(has(e.what(), "tree_solvers.cpp"));
    CHECK(!has(e.what(), "optimize.cpp"));
  }
  CHECK(has(message_of<DTypeError>([] { optimize::minimize([](const Array& x) { return sum(x > 0); }, zeros(2)); }),
            "minimize: the function's result is i32[]"));
}

TEST_CASE("polyfit refuses what are no points, and negative degrees, by its own name") {
  CHECK(has(message_of<ShapeError>([] { polyfit(arange(4.f), arange(3.f), 2); }), "polyfit: f32[4] and f32[3] are not points"));
  CHECK(has(message_of<Error>([] { polyfit(arange(4.f), arange(4.f), -1); }), "polyfit: the degree is -1"));
}
