// Corners in which a function of jax.numpy, jax.nn or jax.scipy.linalg has JAX's values: results of JAX 0.10.2.
#include <doctest/doctest.h>
#include <weft/jnp.h>
#include <weft/weft.h>

#include <cmath>
#include <complex>

#include "tests/messages.h"

using namespace weft;
using weft::test::has, weft::test::message_of;

namespace {

using C = std::complex<float>;
constexpr float inf = std::numeric_limits<float>::infinity(), nan_ = std::numeric_limits<float>::quiet_NaN();

bool alike(const Array& a, const Array& b) {
  const bool good = a.dtype() == b.dtype() && a.shape() == b.shape() && allclose(a, b, 1e-5, 1e-6, true).item<bool>();
  if (!good) MESSAGE("got ", a, " wanted ", b);
  return good;
}
Array parts(const Array& z) { return stack({real(z), imag(z)}); }
/// Whether f(x) is `want` when it is called as it is, compiled, mapped, and mapped and compiled.
template <class F>
bool gives(F f, const Array& x, const Array& want) {
  const Array xs = stack({x, x}), wants = stack({want, want});
  bool good = alike(f(x), want) && alike(jit(f)(x), want) && alike(vmap(f)(xs), wants) && alike(jit(vmap(f))(xs), wants);
  const Scope stepwise = disable_jit();
  return good && alike(jit(f)(x), want);
}

}  // namespace

TEST_CASE("logarithms to a base of complex numbers have no NaN beside an infinite part") {
  const Array z = array({C(0, 0), C(inf, 0), C(0, inf), C(-inf, 1), C(-1, 0), C(1, 0), C(0, 1), C(inf, inf)});
  CHECK(gives([](Array v) { return parts(log2(v)); }, z,
              array({{-inf, inf, inf, inf, 0.f, 0.f, 0.f, inf}, {0.f, 0.f, 2.26618f, 4.53236f, 4.53236f, 0.f, 2.26618f, 1.13309f}})));
  CHECK(gives(
      [](Array v) { return parts(log10(v)); }, z,
      array({{-inf, inf, inf, inf, 0.f, 0.f, 0.f, inf}, {0.f, 0.f, 0.6821882f, 1.3643764f, 1.3643764f, 0.f, 0.6821882f, 0.3410941f}})));
  CHECK(alike(grad([](Array v) { return log2(v); })(2.f), Array(0.72134752f) * ones({})));
}

TEST_CASE("bools and integers stay what they are when they are rounded") {
  const Array b = array({true, false});
  CHECK(gives([](Array v) { return floor(v); }, b, b));
  CHECK(gives([](Array v) { return ceil(v); }, b, b));
  CHECK(gives([](Array v) { return trunc(v); }, b, b));
  CHECK(floor(array({1}, uint8)).dtype() == uint8);
}

TEST_CASE("fmod of integers by 0 is 0, of floats NaN") {
  const Array x = array({5, -5, 0, 7});
  CHECK(gives([](Array v) { return fmod(v, 0); }, x, zeros(4, int32)));
  CHECK(gives([](Array v) { return fmod(v, array({3, 3, 0, -4})); }, x, array({2, -2, 0, 3})));
  CHECK(gives([](Array v) { return fmod(v, array({0, 2}, uint8)); }, array({5, 5}, uint8), array({0, 1}, uint8)));
  CHECK(gives([](Array v) { return fmod(v, 0.f); }, array({1.f}), array({nan_})));
}

TEST_CASE("least common multiples that are too large wrap around") {
  const Array x = array({100, -100, 127, 64, 0}, int8), y = array({99, 99, 126, 96, 0}, int8);
  CHECK(alike(lcm(x, y), array({-84, -84, -126, -64, 0}, int8)));
  CHECK(alike(jit(lcm)(x, y), array({-84, -84, -126, -64, 0}, int8)));
  CHECK(alike(lcm(array({2147483647, 65537 * 3, 100000}), array({2147483646, 65539, 99999})), array({-2147483646, 786441, 1409965408})));
}

TEST_CASE("bins of digitize may descend") {
  const Array x = array({0.f, 1.f, 1.5f, 2.f, 3.f, 4.f, nan_}), up = array({1.f, 2.f, 3.f}), down = array({3.f, 2.f, 1.f});
  CHECK(gives([=](Array v) { return digitize(v, up); }, x, array({0, 1, 1, 2, 3, 3, 3})));
  CHECK(gives([=](Array v) { return digitize(v, down); }, x, array({3, 2, 2, 1, 0, 0, 0})));
  CHECK(gives([=](Array v) { return digitize(v, down, {.right = true}); }, x, array({3, 3, 2, 2, 1, 0, 0})));
  CHECK(gives([=](Array bins) { return digitize(x, bins); }, down, array({3, 2, 2, 1, 0, 0, 0})));
  CHECK(alike(digitize(x, array({1.f})), array({0, 1, 1, 1, 1, 1, 1})));
  CHECK(alike(digitize(x, array({1.f, 1.f})), array({0, 2, 2, 2, 2, 2, 2})));
  CHECK(alike(digitize(x, zeros(0)), zeros(7, int32)));
  CHECK(has(message_of<Error>([&] { digitize(x, ones({2, 2})); }), {"digitize", "f32[2,2]"}));
}

TEST_CASE("relu6 of integers is floating") {
  CHECK(gives([](Array v) { return nn::relu6(v); }, array({-1, 3, 9}), array({0.f, 3.f, 6.f})));
  CHECK(nn::relu6(array({1.f}, float16)).dtype() == float16);
}

TEST_CASE("eigenvalues of matrices that are not Hermitian, with their derivative") {
  const Array a = array({{1., 2., .5}, {0., 3., 1.}, {-1., .5, 2.}}, float64);
  const Array size = array({.67528204, 2.72108679, 2.72108679}, float64);
  CHECK(gives([](Array m) { return sort(abs(linalg::eigvals(m))); }, a, size));
  const auto rest = [](Array m) {
    const auto [w, v] = linalg::eig(m);
    return max(abs(matmul(m, v) - v * w));
  };
  CHECK(gives(rest, a, zeros({}, float64)));
  CHECK(gives(
      grad([](Array m) { return sum(square(abs(linalg::eigvals(m)))); }), a,
      array({{3.8416553, 1.86377298, -2.33274651}, {.47200382, 2.91582938, 3.03014623}, {-2.5611727, -1.39479945, 5.24251532}}, float64)));
  CHECK(gives(
      grad([](Array m) { return sum(real(sin(linalg::eigvals(m)))); }), a,
      array({{.28828164, -.19851581, .94727629}, {-1.44789201, -1.01072351, -.67215396}, {-.07660653, -.55024467, -.55973674}}, float64)));
  const Array tangent = jvp([](Array m) { return linalg::eigvals(m); }, std::tuple{a}, std::tuple{ones({3, 3}, float64)}).second;
  CHECK(alike(sort(real(tangent)), array({.36122197, 1.31938902, 1.31938902}, float64)));
  CHECK(linalg::eigvals(array({{2, 1}, {0, 1}})).dtype() == complex64);
  CHECK(linalg::eigvals(zeros({2, 0, 0})).shape() == Shape{2, 0});
  const Array some = linalg::eigvals(stack({array({{nan_, 1.f}, {0.f, 1.f}}), eye(2)}));
  CHECK(alike(real(some), array({{nan_, nan_}, {1.f, 1.f}})));
  CHECK(has(message_of<ShapeError>([] { linalg::eig(ones({2, 3})); }), {"eig", "f32[2,3]"}));
  CHECK(has(message_of<Error>([&] { grad([](Array m) { return sum(real(linalg::eig(m).eigenvectors)); })(a); }), {"eig", "eigvals"}));
}

TEST_CASE("Cholesky factors and the systems they solve") {
  const Array half = array({{1., 2., .5}, {0., 3., 1.}, {-1., .5, 2.}}, float64), a = matmul(half, transpose(half)) + eye(3, float64);
  const Array b = array({1., 2., 3.}, float64), x = array({.14162873, -.05766313, .48963075}, float64);
  const linalg::ChoFactor upper = linalg::cho_factor(a), lower = linalg::cho_factor(a, true);
  CHECK(alike(matmul(transpose(upper.c), upper.c), a));
  CHECK(alike(matmul(lower.c, transpose(lower.c)), a));
  CHECK(alike(linalg::cho_factor(triu(a)).c, upper.c));
  CHECK(alike(linalg::cho_factor(tril(a), true).c, lower.c));
  CHECK(gives([](Array m) { return linalg::cho_solve(linalg::cho_factor(m), array({1., 2., 3.}, float64)); }, a, x));
  CHECK(gives([](Array m) { return linalg::cho_solve(linalg::cho_factor(m, true), array({1., 2., 3.}, float64)); }, a, x));
  CHECK(alike(linalg::cho_solve({lower.c, true}, stack({b, 2 * b}, 1)), stack({x, 2 * x}, 1)));
  const auto by_solve = grad([=](Array m) { return sum(sin(linalg::solve((m + transpose(m)) / 2, b))); });
  const auto by_factor = grad([=](Array m) { return sum(sin(linalg::cho_solve(linalg::cho_factor((m + transpose(m)) / 2), b))); });
  CHECK(alike(by_factor(a), by_solve(a)));
  const Array z = complex(a, half - transpose(half));
  CHECK(alike(real(matmul(z, linalg::cho_solve(linalg::cho_factor(z), b))), b));
  CHECK(has(message_of<ShapeError>([&] { linalg::cho_solve(upper, ones(4)); }), {"cho_solve", "f32[4]"}));
}

TEST_CASE("none is the tangent of an integer argument") {
  const auto f = [](Array x, Array n) { return x * n; };
  const auto [y, dy] = jvp(f, std::tuple{2.f, array({1, 2})}, std::tuple{3.f, none});
  CHECK(alike(y, array({2.f, 4.f})));
  CHECK(alike(dy, array({3.f, 6.f})));
  CHECK(has(message_of<DTypeError>([&] { jvp(f, std::tuple{2.f, 1.f}, std::tuple{3.f, none}); }), {"jvp", "f32[]"}));
}

TEST_CASE("a rule of custom_jvp may call the function that it belongs to") {
  // A rule that is wrong by a factor of two, so that one sees where it is used.
  const auto f = custom_jvp([](Array x) { return exp(x); },
                            [](const auto& self, const auto& primals, const auto& tangents) {
                              const Array y = self(std::get<0>(primals));
                              return std::pair{y, 2 * y * std::get<0>(tangents)};
                            });
  CHECK(gives([=](Array x) { return f(x); }, Array(0.f) * ones({}), ones({})));
  CHECK(gives(grad(f), Array(0.f) * ones({}), full({}, 2.f)));
  CHECK(gives(grad(grad(f)), Array(0.f) * ones({}), full({}, 4.f)));
  CHECK(gives(grad(grad(grad(f))), Array(0.f) * ones({}), full({}, 8.f)));
}

TEST_CASE("derivatives of activations and bounds at NaN, zeros, bounds and infinities") {
  const Array at = array({nan_, 0.f, -0.f, 6.f, 3.f, -3.f, inf, -inf, 1.f});
  const auto derivatives_are = [&](auto f, const Array& want) {
    return gives([=](Array v) { return vmap(grad(f))(v); }, at, want) &&
           gives([=](Array v) { return std::get<1>(jvp(f, std::tuple{v}, std::tuple{ones_like(v)})); }, at, want);
  };
  const Array sixth = Array(1.f / 6) * ones({}), zero = zeros({});
  CHECK(derivatives_are([](Array x) { return nn::relu(x); }, array({0.f, 0.f, 0.f, 1.f, 1.f, 0.f, 1.f, 0.f, 1.f})));
  CHECK(derivatives_are([](Array x) { return nn::relu6(x); }, array({0.f, 0.f, 0.f, 0.f, 1.f, 0.f, 0.f, 0.f, 1.f})));
  CHECK(derivatives_are([](Array x) { return nn::hard_sigmoid(x); }, stack({zero, sixth, sixth, zero, zero, zero, zero, zero, sixth})));
  CHECK(derivatives_are([](Array x) { return nn::hard_tanh(x); }, array({1.f, 1.f, 1.f, 0.f, 0.f, 0.f, 0.f, 0.f, 1.f})));
  CHECK(derivatives_are([](Array x) { return nn::leaky_relu(x); }, array({.01f, 1.f, 1.f, 1.f, 1.f, .01f, 1.f, .01f, 1.f})));
  CHECK(derivatives_are([](Array x) { return maximum(x, 0.f); }, array({0.f, .5f, .5f, 1.f, 1.f, 0.f, 1.f, 0.f, 1.f})));
  CHECK(derivatives_are([](Array x) { return clip(x, -1.f, 1.f); }, array({0.f, 1.f, 1.f, 0.f, 0.f, 0.f, 0.f, 0.f, .5f})));
  CHECK(derivatives_are([](Array x) { return weft::abs(x); }, array({-1.f, 1.f, 1.f, 1.f, 1.f, -1.f, 1.f, -1.f, 1.f})));
  CHECK(std::isnan(nn::relu(nan_).item<float>()));
}

TEST_CASE("too few samples have no covariance") {
  for (const int ddof : {0, 1, 2}) {
    CHECK(std::isnan(cov(zeros(0), {.ddof = ddof}).item<float>()));
    CHECK(gives([=](Array v) { return cov(v, {.ddof = ddof}); }, zeros({2, 0}), full({2, 2}, nan_)));
    CHECK(gives([=](Array v) { return cov(v, {.ddof = ddof}); }, ones({2, 1}), ddof == 0 ? zeros({2, 2}) : full({2, 2}, nan_)));
  }
}

TEST_CASE("numbers that are in one of two sets: repeated ones count once, the largest too") {
  CHECK(alike(setxor1d(array({3, 3}), array({1})), array({1, 3})));
  CHECK(alike(setxor1d(array({1, 5, 5}), array({2, 2})), array({1, 2, 5})));
  CHECK(alike(setxor1d(array({2, 2}), array({2, 9, 9})), array({9})));
}

TEST_CASE("quantile: the parts are a number or a vector") {
  CHECK(has(message_of<Error>([] { quantile(arange(5.f), full({2, 2}, 0.5f)); }), "must be a scalar or a vector of parts"));
}
