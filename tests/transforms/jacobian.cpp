// jacfwd, jacrev and hessian.
#include <complex>

#include "tests/transforms/checks.h"

namespace {
using namespace weft;
using namespace weft::test;

struct Two {
  Array a, b;
};

TEST_CASE("forward and reverse Jacobians agree, for results and arguments of any shape") {
  auto f = [](Array x, Array y) { return std::pair{x * sum(y), reshape(sin(y), {1, 3})}; };
  const Array x = array({{1.f, 2.f}}), y = array({.1f, .2f, .3f});
  const auto forward = jacfwd<0, 1>(f)(x, y);
  const auto reverse = jacrev<0, 1>(f)(x, y);
  CHECK(std::get<0>(forward.first).shape() == Shape{1, 2, 1, 2});
  CHECK(std::get<1>(forward.second).shape() == Shape{1, 3, 3});
  CHECK(tree::all_close(forward, reverse));
  CHECK(near(std::get<0>(forward.first), {.6, 0, 0, .6}));
  CHECK(near(std::get<0>(forward.second), std::vector<double>(6, 0)));
}

TEST_CASE("structs on one side") {
  const Two by = jacrev([](const Two& t, Array s) { return t.a * t.a * s + t.b; })(Two{array({1.f, 2.f}), 5.f}, 3.f);
  CHECK(near(by.a, {6, 0, 0, 12}));
  CHECK(near(by.b, {1, 1}));
  const Two of = jacfwd([](Array a) { return Two{a * a, sum(a)}; })(array({1.f, 2.f}));
  CHECK(near(of.a, {2, 0, 0, 4}));
  CHECK(near(of.b, {1, 1}));
}

TEST_CASE("hessians, under other transforms too") {
  auto f = [](Array x) { return x(0) * x(0) * x(1) + sin(x(1)); };
  const Array x = array({2.f, 3.f});
  const std::vector<double> want{6, 4, 4, -std::sin(3)};
  CHECK(near(hessian(f)(x), want));
  CHECK(near(jit(hessian(f))(x), want));
  CHECK(near(jacrev(jacrev(f))(x), want));
  CHECK(near(jacrev(jacfwd(f))(x), want));
  CHECK(vmap(hessian(f))(stack({x, x, x})).shape() == Shape{3, 2, 2});
}

TEST_CASE("derivatives of hypot where its operands are equally large, and where they are zero") {
  auto f = [](Array x) { return hypot(x(0), x(1)); };
  const double c = std::sqrt(.125), root = std::sqrt(.5);
  CHECK(near(grad(f)(array({1.f, -1.f})), {root, -root}));
  CHECK(near(hessian(f)(array({1.f, 1.f})), {c, -c, -c, c}));
  CHECK(near(jacrev(jacrev(f))(array({1.f, -1.f})), {c, c, c, c}));
  CHECK(near(hessian(f)(array({3.f, -4.f})), {.128, .096, .096, .072}));
  // At zero as JAX's.
  CHECK(near(grad(f)(zeros(2)), {.5, .5}));
  CHECK(near(grad(f)(array({1.f, 0.f})), {1, 0}));
  CHECK(near(f(array({3e30f, -4e30f})), {5e30}));
  CHECK(near(f(array({0.f, 0.f})), {0}));
}

TEST_CASE("the Jacobian of a struct with respect to a struct has a row for each array") {
  struct In {
    Array a, b;
  };
  struct Out {
    Array u, v;
  };
  const auto f = [](const In& p) { return Out{p.a * 2, p.b * p.a[0]}; };
  const In p{array({1., 2.}), array({3., 4., 5.})};
  const auto of = [&](auto field) { return [=](const Array& a, const Array& b) { return f({a, b}).*field; }; };
  for (const auto& j : {jacfwd(f)(p), jacrev(f)(p), jit(jacfwd(f))(p)}) {
    CHECK(j.rows.size() == 2);
    CHECK(tree::all_close(j[&Out::u].a, jacfwd<0>(of(&Out::u))(p.a, p.b)));
    CHECK(tree::all_close(j[&Out::u].b, jacfwd<1>(of(&Out::u))(p.a, p.b)));
    CHECK(tree::all_close(j[&Out::v].a, jacfwd<0>(of(&Out::v))(p.a, p.b)));
    CHECK(tree::all_close(j[1].b, jacfwd<1>(of(&Out::v))(p.a, p.b)));
  }
  const auto h = hessian([](const In& q) { return sum(q.a) * sum(q.b); })(p);
  CHECK((tree::all_close(h[&In::a].b, ones({2, 3}, float64)) && tree::all_close(h[&In::b].b, zeros({3, 3}, float64))));
  const auto of_two = jacfwd<0, 1>([](Array x, Array y) { return Out{x * y, x + y}; })(2., 3.);
  CHECK((std::get<1>(of_two[&Out::u]).item() == 2 && std::get<0>(of_two[&Out::v]).item() == 1));
  CHECK(has(message_of<ShapeError>([&] { (void)of_two[2]; }), "there is no row 2 of 2"));
}

TEST_CASE("what Jacobians refuse") {
  auto same = [](Array x) { return x; };
  CHECK(refuses<DTypeError>([&] { jacfwd(same)(1); }, {"jacfwd", "args[0]", "i32[]"}));
  CHECK(refuses<DTypeError>([&] { jacrev([](Array x) { return convert(x, int32); })(1.f); }, {"jacrev", "result", "i32[]"}));
}

TEST_CASE("jacrev takes complex arguments of a real function, as grad does") {
  const Array z = array({0.f, 1.f, 2.f}).astype(complex64) * std::complex<float>(1, 0.5f);
  auto f = [](Array a) { return cos(linalg::norm(2 * a)); };
  CHECK(tree::all_close(jacrev(f)(z), grad(f)(z)));
  CHECK(tree::all_close(jacrev([](Array a) { return square(abs(a)); })(z), diag(2 * conj(z))));
  CHECK(refuses<DTypeError>([&] { jacrev([](Array a) { return sin(a); })(z); }, {"c64[3]", "real"}));
  CHECK(refuses<DTypeError>([&] { jacfwd(f)(z); }, {"c64[3]", "real"}));
}

TEST_CASE("holomorphic Jacobians and Hessians: the complex derivatives, as jax.jacfwd's holomorphic gives them") {
  using C = std::complex<float>;
  auto f = [](Array z) { return stack({z[0] * z[1] * C(0, 1), exp(z[0]) + power(z[1], 3)}); };
  const Array z = array({C(1, 2), C(.5f, -1)});
  const Array want = array({C(1, .5f), C(-2, 1), C(-1.1312044f, 2.4717267f), C(-2.25f, -3)}).reshape({2, 2});
  const Array second = stack({array({C(0), C(0, 1), C(0, 1), C(0)}), array({C(-1.1312044f, 2.4717267f), C(0), C(0), C(3, -6)})});
  const JacobianOptions holomorphic = {.holomorphic = true};
  CHECK(tree::all_close(jacfwd(f, holomorphic)(z), want));
  CHECK(tree::all_close(jit(jacrev(f, holomorphic))(z), want));
  CHECK(tree::all_close(jacobian(f, {.holomorphic = true})(z), want));
  CHECK(tree::all_close(hessian(f, {.holomorphic = true})(z), second.reshape({2, 2, 2})));
  CHECK(tree::all_close(vmap(jacfwd(f, holomorphic))(stack({z, z}))[1], want));
  const auto [rows, aux] = jacrev([&](Array v) { return std::pair{f(v), real(v)}; }, has_aux, holomorphic)(z);
  CHECK((tree::all_close(rows, want) && near(aux, {1, .5f})));
  CHECK(refuses<DTypeError>([&] { jacfwd(f)(z); }, {"c64[2]", ".holomorphic = true"}));
  CHECK(refuses<DTypeError>([&] { jacfwd(f, holomorphic)(ones(2)); }, {"f32[2]", "must be complex"}));
  auto size = [](Array v) { return abs(v); };
  CHECK(refuses<DTypeError>([&] { jacfwd(size, holomorphic)(z); }, {"jacfwd: result", "f32[2]", "must be complex"}));
  CHECK(refuses<DTypeError>([&] { jacrev(size, holomorphic)(z); }, {"jacrev: result", "f32[2]", "must be complex"}));
}

}  // namespace
