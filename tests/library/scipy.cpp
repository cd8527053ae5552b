// Functions of <weft/scipy.h> and the newer ones of <weft/jnp.h> where their values alone don't say enough: nested transforms, what is
// refused, convergence.
#include <doctest/doctest.h>
#include <weft/jnp.h>
#include <weft/scipy.h>
#include <weft/stats.h>
#include <weft/weft.h>

#include <cmath>
#include <string>

#include "tests/messages.h"

using namespace weft;
using test::has, test::message_of;

namespace {

Array symmetric(std::int64_t n, unsigned seed) {
  const Array a = random::normal(random::key(seed), {n, n}, float64);
  return matmul(a, a.T()) + static_cast<double>(n) * eye(n, float64);
}

bool near(const Array& x, const Array& y, double tolerance) { return max(abs(x - y)).item() <= tolerance; }

}  // namespace

TEST_CASE("iterative solvers: larger systems, functions, gradients by the matrix, maps") {
  const std::int64_t n = 60;
  const Array a = symmetric(n, 1), b = random::normal(random::key(2), {n}, float64);
  const Array general = a + 3 * random::normal(random::key(3), {n, n}, float64);
  const Array x = linalg::solve(a, b), y = linalg::solve(general, b);
  CHECK(allclose(linalg::cg(a, b, {.tol = 1e-12}), x, 1e-9).item<bool>());
  CHECK(allclose(linalg::bicgstab(general, b, {.tol = 1e-12}), y, 1e-8).item<bool>());
  CHECK(allclose(linalg::gmres(general, b, {.tol = 1e-12}), y, 1e-8).item<bool>());
  CHECK(allclose(linalg::gmres(general, b, {.tol = 1e-12, .restart = 5}), y, 1e-8).item<bool>());
  CHECK(allclose(linalg::gmres(2 * eye(3), ones(3), {.restart = 1}), full({3}, 0.5f)).item<bool>());

  const auto loss = [&](auto solve) { return [=](const Array& m) { return sum(square(solve(m))); }; };
  const Array wanted = grad(loss([&](const Array& m) { return linalg::solve(m, b); }))(general);
  CHECK(
      allclose(grad(loss([&](const Array& m) { return linalg::gmres(m, b, {.tol = 1e-13}); }))(general), wanted, 1e-6, 1e-9).item<bool>());
  CHECK(allclose(jit(grad(loss([&](const Array& m) {
                   return linalg::bicgstab([m](const Array& v) { return matmul(m, v); }, b, {.tol = 1e-13});
                 })))(general),
                 wanted, 1e-6, 1e-9)
            .item<bool>());

  const Array many = random::normal(random::key(4), {4, n}, float64);
  const auto each = [&](Array v) { return linalg::cg(a, v, {.tol = 1e-12}); };
  CHECK(allclose(jit(vmap(each))(many).T(), linalg::solve(a, many.T()), 1e-8).item<bool>());
  CHECK(allclose(vmap([&](Array m, Array v) { return linalg::gmres(m, v, {.tol = 1e-12}); })(stack({a, general}), stack({b, b})),
                 stack({x, y}), 1e-8)
            .item<bool>());
}

TEST_CASE("iterative solvers refuse what is no square matrix or has other shapes") {
  CHECK(has(message_of<ShapeError>([] { linalg::cg(ones({2, 3}), ones(2)); }), "is not square"));
  CHECK(has(message_of<ShapeError>([] { linalg::cg(ones({2, 2, 2}), ones(2)); }), "one square matrix"));
  CHECK(has(message_of<ShapeError>([] { linalg::cg(eye(2), ones(2), {.x0 = ones(3)}); }), "x0"));
  CHECK(has(message_of<Error>([] { linalg::gmres(eye(2), ones(2), {.restart = 0}); }), "restart is 0"));
  CHECK_THROWS_AS(linalg::cg([](const Array& v) { return v(0); }, ones(2)), Error);
  const std::string rows = message_of<ShapeError>([] { linalg::cg(ones({3, 3}), ones(4)); });
  CHECK(has(rows, "the matrix is f32[3,3], the right-hand side f32[4]; it must have 3 rows"));
}

TEST_CASE("distributions name themselves in errors") {
  const std::string normal = message_of<Error>([] { stats::norm::logpdf(random::key(0), 0, 1); });
  CHECK(has(normal, "stats::norm::logpdf: key<fry>[]"));
  const std::string gamma = message_of<Error>([] { stats::gamma::cdf(ones(3), random::key(1)); });
  CHECK(has(gamma, "stats::gamma::cdf: f32[3]"));
}

TEST_CASE("minimize: Rosenbrock's function, mapped and compiled, and what it says where it fails") {
  const auto rosenbrock = [](const Array& v) {
    const Array a = v(slice(none, -1)), b = v(slice(1, none));
    return sum(100 * square(b - square(a)) + square(1 - a));
  };
  const Array starts = random::normal(random::key(1), {5, 3}, float64);
  const auto least = [&](Array x) {
    const auto r = optimize::minimize(rosenbrock, x, {.gtol = 1e-8});
    return std::pair{r.x, r.success};
  };
  const auto [x, success] = jit(vmap(least))(starts);
  CHECK(all(success).item<bool>());
  CHECK(allclose(x, 1, 1e-6).item<bool>());
  const auto one = least(starts(0));
  CHECK(allclose(one.first, x(0), 1e-6).item<bool>());

  const auto short_run = optimize::minimize(rosenbrock, starts(1), {.gtol = 1e-8, .maxiter = 2});
  CHECK(!short_run.success.item<bool>());
  CHECK(short_run.status.item<int>() == 1);
  CHECK(short_run.nit.item<int>() == 2);
  const auto matrix = optimize::minimize([](const Array& m) { return sum(square(m - 3)); }, zeros({2, 2}));
  CHECK(matrix.x.shape() == Shape(2, 2));
  CHECK(allclose(matrix.x, 3, 1e-5).item<bool>());
  CHECK(matrix.hess_inv.shape() == Shape(4, 4));
  // Unbounded below: no step fulfils the conditions.
  const auto endless = optimize::minimize([](const Array& v) { return sum(v); }, zeros(2));
  CHECK(!endless.success.item<bool>());

  CHECK(has(message_of<Error>([&] { optimize::minimize(rosenbrock, zeros(3), {.method = "Newton"}); }), "unknown method `Newton`"));
  CHECK(has(message_of<DTypeError>([&] { optimize::minimize(rosenbrock, zeros(3, complex64)); }), "is complex"));
}

TEST_CASE("tridiagonal systems with small pivots, batches, gradients") {
  const Array dl = array({0., 1., 2., 1.}, float64), d = array({0., 3., 1e-20, 2.}, float64), du = array({2., 1., 1., 0.}, float64);
  const Array b = random::normal(random::key(1), {4, 2}, float64);
  const Array dense = diag(d) + diag(dl(slice(1, none)), -1) + diag(du(slice(none, -1)), 1);
  CHECK(allclose(linalg::tridiagonal_solve(dl, d, du, b), linalg::solve(dense, b), 1e-10).item<bool>());
  const auto both = [](const Array& x) { return stack({x, x + 0.5}); };
  const Array batch = linalg::tridiagonal_solve(both(dl), both(d), both(du), both(b));
  CHECK(allclose(batch(0), linalg::solve(dense, b), 1e-10).item<bool>());
  CHECK(allclose(jit(vmap([](Array p, Array q, Array r, Array s) { return linalg::tridiagonal_solve(p, q, r, s); }))(both(dl), both(d),
                                                                                                                     both(du), both(b)),
                 batch, 1e-10)
            .item<bool>());
  const Array g = grad([&](Array x) { return sum(square(linalg::tridiagonal_solve(dl, x + 4, du, b))); })(d);
  const Array wanted = grad(
      [&](Array x) { return sum(square(linalg::solve(diag(x + 4) + diag(dl(slice(1, none)), -1) + diag(du(slice(none, -1)), 1), b))); })(d);
  CHECK(allclose(g, wanted, 1e-9).item<bool>());
  CHECK_THROWS_AS(linalg::tridiagonal_solve(dl, d, du(slice(0, 3)), b), ShapeError);
}

TEST_CASE("square roots and Sylvester's equation: batches and derivatives") {
  const Array a = stack({symmetric(4, 1), symmetric(4, 2)}), c = random::normal(random::key(3), {2, 4, 4}, float64);
  const Array root = linalg::sqrtm(a);
  CHECK(allclose(matmul(root, root), a, 1e-10).item<bool>());
  CHECK(allclose(jit(vmap([](Array m) { return linalg::sqrtm(m); }))(a), root, 1e-10).item<bool>());
  const auto [y, dy] = jvp([](Array m) { return linalg::sqrtm(m); }, std::tuple{a}, std::tuple{c});
  const double h = 1e-6;
  CHECK(allclose(dy, (linalg::sqrtm(a + h * c) - linalg::sqrtm(a - h * c)) / (2 * h), 1e-5, 1e-7).item<bool>());
  const Array x = linalg::solve_sylvester(a, a + 1, c);
  CHECK(allclose(matmul(a, x) + matmul(x, a + 1), c, 1e-9).item<bool>());
  const auto loss = [&](Array m) { return sum(square(linalg::solve_sylvester(m, a + 1, c))); };
  const Array g = grad(loss)(a), e = random::normal(random::key(5), {2, 4, 4}, float64);
  CHECK(std::abs(sum(g * e).item() - ((loss(a + h * e) - loss(a - h * e)) / (2 * h)).item()) < 1e-5);
  CHECK_THROWS_AS(grad([](Array m) { return sum(linalg::schur(m).t); })(a), Error);
}

TEST_CASE("sets, insertions and bits refuse what they can't do") {
  CHECK(has(message_of<ConcretizationError>([] { jit([](Array x) { return unique_counts(x).counts; })(arange(3)); }), "give the size"));
  CHECK(has(message_of<ConcretizationError>([] { jit([](Array x, Array i) { return delete_(x, i); })(arange(3), array({0, 1})); }),
            "the positions i32[2], which are traced"));
  CHECK(has(message_of<AxisError>([] { delete_(arange(3), 3); }), "position 3 is out of bounds along axis 0"));
  CHECK(has(message_of<ShapeError>([] { unique_all(zeros(0), {.size = 2}); }), "is empty"));
  CHECK(has(message_of<DTypeError>([] { insert(arange(3), 0.5f, 1); }), "must be integers"));
  CHECK(has(message_of<AxisError>([] { partition(arange(3), 3); }), "kth is 3"));
  CHECK(has(message_of<DTypeError>([] { unpackbits(arange(3)); }), "must be uint8"));
  CHECK(has(message_of<Error>([] { packbits(arange(3), {.bitorder = "middle"}); }), "unknown bitorder `middle`"));
  CHECK(has(message_of<Error>([] { vectorize([](Array a) { return a; }, "(n->n")(arange(3)); }), "the signature `(n->n`"));
  CHECK(has(message_of<ShapeError>([] { vectorize([](Array a, Array b) { return a + b; }, "(n),(n)->(n)")(arange(3), arange(2)); }),
            "the size n of argument 1"));
  const auto vectorized = [](const char* signature, auto f) {
    return message_of<ShapeError>([=] { vectorize(f, signature)(ones({2, 3})); });
  };
  CHECK(has(vectorized("(n)->(n)", [](Array a) { return sum(a); }),
            "result 0 of the function has the shape (); by the signature it has 1 dimension"));
  CHECK(has(vectorized("(n)->(n)", [](Array a) { return concatenate({a, a}); }), "the shape (6,); by the signature its size n is 3"));
  CHECK(has(vectorized("(n)->(),(k)", [](Array a) { return std::pair{a[0], a[1]}; }), "result 1 of the function has the shape ()"));
  CHECK(has(vectorized("(n)->(k,k)", [](Array a) { return ones({2, 1}) * a[0]; }), "by the signature its size k is 2"));
  CHECK(has(vectorized("(n)->(n),(n)", [](Array a) { return a; }), "by the signature the function has 2 results, and it gave 1"));
  CHECK(has(message_of<Error>([] { vectorize([](Array a) { return a; }, "(n)->")(arange(3)); }), "`(n)->` has no results"));
  CHECK(has(message_of<ConcretizationError>([] { jit([](Array p) { return roots(p); })(ones(3)); }), ".strip_zeros = false"));
  CHECK(unique_all(zeros(0)).values.shape() == Shape(0));
  CHECK(setdiff1d(arange(3), zeros(0, int32)).size() == 3);
  CHECK(union1d(zeros(0), zeros(0)).size() == 0);
  const auto twice = vectorize([](Array a) { return std::pair{a, 2 * a}; })(ones({2, 3}));
  CHECK(twice.second.shape() == Shape(2, 3));
}

TEST_CASE("signals and images refuse what they can't do, and round trips") {
  const Array x = random::normal(random::key(1), {3, 50}, float64);
  const auto s = stft(x, {.nperseg = 16, .noverlap = 12});
  const Array back = istft(s.transform, {.nperseg = 16, .noverlap = 12}).signal;
  CHECK(allclose(back(slice(), slice(0, 50)), x, 1e-10).item<bool>());
  CHECK(allclose(fft::idct(fft::dct(x, {.norm = "forward"}), {.norm = "forward"}), x, 1e-10).item<bool>());
  CHECK(has(message_of<Error>([&] { welch(x, {.window = "flattop"}); }), "unknown window `flattop`"));
  CHECK(has(message_of<Error>([&] { stft(x, {.nperseg = 16, .noverlap = 16}); }), "noverlap is 16"));
  CHECK(has(message_of<Error>([&] { fft::dct(x, {.norm = "none"}); }), "unknown norm `none`"));
  CHECK(has(message_of<Error>([&] { image::resize(x, {2, 2}, "sharp"); }), "unknown method `sharp`"));
  CHECK(has(message_of<ShapeError>([&] { image::resize(x, {2}, "linear"); }), "as many dimensions"));
  CHECK(has(message_of<Error>([&] { map_coordinates(x, {x, x}, {.order = 3}); }), "order is 3"));
  CHECK(has(message_of<ShapeError>([&] { map_coordinates(x, {x}); }), "one for each dimension"));
  CHECK(has(message_of<ShapeError>([&] { fftconvolve(x, x(0)); }), "as many dimensions"));
}

TEST_CASE("estimated densities, ranks and windows: maps, gradients, what is refused") {
  const Array x = random::normal(random::key(1), {2, 30}, float64), at = random::normal(random::key(2), {2, 5}, float64);
  const auto density = stats::gaussian_kde(x);
  CHECK(allclose(density(at), exp(density.logpdf(at)), 1e-12).item<bool>());
  const Array each = jit(vmap([&](Array p) { return density(p)(0); }))(at.T());
  CHECK(allclose(each, density(at), 1e-12).item<bool>());
  // The integral over a grid is 1.
  const double h = 0.2;
  const Array line = h * (arange(0, 80, 1, float64) - 40);
  const auto grid = meshgrid({line, line});
  CHECK(std::abs((sum(density(stack({ravel(grid[0]), ravel(grid[1])}))) * h * h).item() - 1) < 1e-3);
  CHECK(has(message_of<Error>([&] { stats::gaussian_kde(x, {.bw_method = "wide"}); }), "unknown bw_method `wide`"));
  CHECK(has(message_of<ShapeError>([&] { stats::gaussian_kde(x, {.weights = ones(3)}); }), "must be a vector of 30"));
  CHECK(has(message_of<Error>([&] { stats::rankdata(x, "first"); }), "unknown method `first`"));
  CHECK(has(message_of<ShapeError>([&] { stats::mode(zeros(0)); }), "has no elements"));
  CHECK(has(message_of<AxisError>([&] { collapse(x, 2, 1); }), "collapse"));
  CHECK(has(message_of<ShapeError>([&] { batch_matmul(x, x(0)); }), "the same leading dimensions"));
  CHECK(has(message_of<DTypeError>([&] { shift_right_arithmetic(x, 1); }), "must be integers"));
  CHECK(shift_right_arithmetic(array({200}, uint8), 1).item<int>() == 228);
}

TEST_CASE("constructors take their dtype by name, and mean with {} what they mean without options") {
  CHECK(eye(3, {.dtype = float64}).dtype() == float64);
  CHECK(array_equal(eye(2, {.m = 3, .k = 1}), array({{0, 1, 0}, {0, 0, 1}})).item<bool>());
  CHECK(zeros({2, 3}, {.dtype = int8}).dtype() == int8);
  CHECK(ones(3, {.dtype = float16}).shape() == Shape(3));
  CHECK(full({2}, 7, {.dtype = float64}).dtype() == float64);
  CHECK(arange(3, {.dtype = float64}).dtype() == float64);
  CHECK(array_equal(arange(1, 3, {.dtype = int8}), array({1, 2})).item<bool>());
  CHECK(array({1, 2}, {.dtype = float64}).dtype() == float64);
  CHECK(zeros({2, 3}, {}).dtype() == float32);
  CHECK(eye(3, {}).shape() == Shape(3, 3));
  CHECK(array({1, 2}, {}).dtype() == int32);
}

TEST_CASE("jax.scipy.linalg: complex Schur forms and functions of matrices") {
  const Array a = array({{0., 3., 3., 1.}, {0., 1., 2., -2.}, {2., 0., 1., 0.}, {0., -1., 3., 2.}}, float64);
  const auto form = linalg::schur(a);
  const auto [t, z] = linalg::rsf2csf(form.t, form.z);
  CHECK(near(matmul(matmul(z, t), conj(transpose(z))), a.astype(complex128), 1e-12));
  CHECK(near(matmul(z, conj(transpose(z))), eye(4, complex128), 1e-12));
  CHECK((max(abs(tril(t, -1))).item() == 0 && max(abs(imag(diag(t)))).item() > 1));
  CHECK(near(real(linalg::funm(a, exp)), linalg::expm(a), 1e-10));
  CHECK(near(real(jit([](Array x) { return linalg::funm(x, [](Array v) { return v * v; }); })(a)), matmul(a, a), 1e-11));
  CHECK(near(real(linalg::funm(2 * eye(2, float64), sin)), std::sin(2.) * eye(2, float64), 1e-14));
  CHECK(any(isnan(linalg::funm(array({{2., 1.}, {0., 2.}}), sin))).item<bool>());  // f'(2) counts, too
  CHECK(has(message_of<ShapeError>([&] { linalg::funm(a, [](Array v) { return sum(v); }); }), "funm: the function gives"));
  CHECK(has(message_of<ShapeError>([&] { linalg::rsf2csf(a, eye(3)); }), "must have one shape"));
  const auto left = linalg::qr_multiply(a, ones(4, float64), "left"), right = linalg::qr_multiply(a, a);
  CHECK(near(left.product, matmul(linalg::qr(a).q, ones(4, float64)), 1e-12));
  CHECK(near(right.product, matmul(a, linalg::qr(a).q), 1e-12));
  CHECK(has(message_of<ShapeError>([&] { linalg::qr_multiply(a, ones(3)); }), {"qr_multiply", "4 rows"}));
  CHECK(has(message_of<Error>([&] { linalg::qr_multiply(a, a, "middle"); }), "available: left, right"));
}

TEST_CASE("hypergeometric functions where the series in x is slow, ends, or has no value") {
  const auto at = [](double a, double b, double c, double x) { return hyp2f1(array(a, float64), b, c, x).item(); };
  const auto near = [](double x, double y) { return std::abs(x - y) <= 1e-10 * std::abs(y); };
  CHECK(near(at(1, 1, 2, 0.999), -std::log(0.001) / 0.999));  // an integer difference
  CHECK(near(at(0.5, 1, 1.5, -4), std::atan(2.) / 2));        // negative x
  CHECK(near(at(0.5, 1, 1.5, 0.96), std::atanh(std::sqrt(0.96)) / std::sqrt(0.96)));
  CHECK(near(at(1, 2, 3.5, 1), std::tgamma(3.5) * std::tgamma(0.5) / (std::tgamma(2.5) * std::tgamma(1.5))));
  CHECK(near(at(-2, 3, 1.5, 2), 1 - 8. + 2 * 6 / (1.5 * 2.5) * 4));  // a polynomial
  CHECK((std::isinf(at(1, 2, 3, 1.5)) && std::isinf(at(1, 2, -1, 0.5)) && at(0, 2, 3, 0.5) == 1 && at(1, 2, 3, 0) == 1));
  CHECK(std::isnan(at(1, 2, 3.0001, 0.999)));
  const auto slope = grad<0>([](Array a) { return hyp2f1(a, 1., 2., 0.95); })(array(1, float64));
  CHECK(near(slope.item(), std::log(0.05) * std::log(0.05) / 1.9));
  CHECK(has(message_of<DTypeError>([&] { hyp2f1(ones(2, complex64), 1, 1, 0.5f); }), "hyp2f1"));
}
