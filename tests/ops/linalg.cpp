// Linear algebra at its corners: signs of vectors, elements that are infinite or NaN, empty matrices.
#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <complex>
#include <limits>
#include <random>

#include "tests/transforms/capture.h"
#include "tools/programs.h"
#include "weft/core/ops/linalg/linalg.h"

using namespace weft;

namespace {

using Xs = const std::vector<Array>&;

/// Whether each element is the same on the interpreter and compiled, or about so, or NaN on both.
template <class F>
bool same_everywhere(F f, const std::vector<Array>& in) {
  const Jaxpr j = make_jaxpr([&](Xs xs) { return f(xs); })(in);
  const std::vector<Array> a = tools::run_on("interp", "f", j, in), b = tools::run_on("cpu", "f", j, in);
  for (std::size_t k = 0; k < a.size(); ++k)
    if (!tools::difference(b[k], a[k], nullptr, {1e-3, 1e-3}).empty()) return false;
  return true;
}

}  // namespace

TEST_CASE("the vectors of a symmetric and of a square matrix that LAPACK decomposes have the signs that JAX gives them on its CPU") {
  const Array i = arange(24.).astype(float64)(slice(), newaxis), j = i.T();
  const Array symmetric = where(i == j, i, 0.) + 1 / (i + j + 1), square = cos(i * i + 2 * j) + where(i == j, i + 1, 0.);
  const auto signs = [](const Array& x) { return sign(x).to_vector<int>(); };
  const std::vector<int> vectors{1, -1, 1, 1, -1, -1, 1, 1, -1, -1, 1, 1, 1, 1, 1, 1, 1, 1, 1, -1, -1, -1, -1, 1};
  CHECK(signs(linalg::eigh(symmetric).eigenvectors(0)) == vectors);
  CHECK(signs(jit([](Array a) { return linalg::eigh(a).eigenvectors; })(symmetric)(0)) == vectors);
  const auto [u, s, vh] = linalg::svd(square);
  CHECK(signs(u(0)) == std::vector<int>{-1, -1, -1, -1, -1, 1, -1, 1, -1, -1, -1, -1, -1, 1, 1, 1, 1, 1, -1, 1, -1, 1, -1, -1});
  CHECK(signs(vh(slice(), 0)) == std::vector<int>{-1, -1, 1, -1, -1, -1, -1, -1, -1, -1, 1, -1, -1, -1, 1, -1, -1, 1, -1, -1, 1, 1, -1, 1});
}

TEST_CASE("singular and eigenvalues of matrices with infinite elements are NaN, and are found without delay") {
  const double inf = std::numeric_limits<double>::infinity();
  for (const DType t : {float32, float64, complex64, complex128})
    for (const double bad : {inf, -inf, std::nan("")}) {
      CAPTURE(t.name());
      CAPTURE(bad);
      const Array a = convert(array({{1., 2., 3.}, {2., bad, 1.}, {3., 1., 2.}}, float64), t);
      CHECK(std::isnan(sum(linalg::svdvals(a)).item<double>()));
      CHECK(std::isnan(sum(real(linalg::svd(a).u)).item<double>()));
      CHECK(std::isnan(sum(linalg::eigvalsh(a)).item<double>()));
    }
  // The parts are finite, the moduli are not.
  const Array huge = complex(full({3, 2}, 3e38f), full({3, 2}, 3e38f));
  CHECK(std::isnan(sum(linalg::svdvals(huge)).item<double>()));
  CHECK(std::isnan(sum(real(linalg::pinv(huge))).item<double>()));
}

TEST_CASE("systems without equations, without right-hand sides, and none at all") {
  CHECK(linalg::inv(zeros({2, 0, 0})).shape() == Shape{2, 0, 0});
  CHECK(linalg::inv(zeros({0, 3, 3})).shape() == Shape{0, 3, 3});
  CHECK(linalg::solve(zeros({0, 0}), zeros(0)).shape() == Shape{0});
  CHECK(linalg::solve(zeros({2, 0, 0}), zeros({0, 4})).shape() == Shape{2, 0, 4});
  CHECK(linalg::solve(eye(3), zeros({3, 0})).shape() == Shape{3, 0});
  CHECK(linalg::solve(zeros({0, 3, 3}, float64), zeros({0, 3, 1})).dtype() == float64);
  CHECK(jit([](Array a) { return linalg::inv(a); })(zeros({0, 0})).shape() == Shape{0, 0});
  CHECK(grad([](Array a) { return sum(linalg::solve(a, zeros({2, 0}))); })(eye(2)).shape() == Shape{2, 2});
}

TEST_CASE("infinities and NaN go the same way through factorisations in compiled code") {
  std::mt19937 random(5);
  const double inf = std::numeric_limits<double>::infinity();
  const auto draw = [&](const Shape& s, DType t) {
    std::vector<double> v(static_cast<std::size_t>(s.num_elements()));
    for (double& x : v) {
      x = (static_cast<int>(random() % 19) - 9) / 4.;
      if (random() % 10 == 0) x = random() % 3 == 0 ? inf : random() % 2 ? std::nan("") : 0;
    }
    return convert(array(v, s), t);
  };
  const auto lu = [](Xs x) {
    const detail::LuFactors f = detail::lu_factors(x[0], {});
    return std::vector<Array>{f.lu, f.pivots, f.permutation};
  };
  const auto cholesky = [](Xs x) {
    return std::vector<Array>{linalg::cholesky(x[0]),
                              linalg::cholesky(matmul(x[0], swapaxes(x[0], 0, 1)) + 3 * eye(x[0].shape()[0], {}, 0, x[0].dtype()))};
  };
  for (const DType t : {float32, float64})
    for (int n : {2, 3, 5, 8})
      for (int run = 0; run < 25; ++run) {
        const Array a = draw({n, n}, t), b = draw({n, 2}, t);
        INFO(a);
        CHECK(same_everywhere(lu, {a}));
        CHECK(same_everywhere(lu, {draw({n, 3}, t)}));
        CHECK(same_everywhere(cholesky, {a}));
        for (int form = 0; form < 8; ++form) {
          const bool left = form & 4;
          const linalg::TriangularOptions options{.left_side = left, .lower = bool(form & 2), .transpose_a = bool(form & 1)};
          const auto solve = [&](Xs x) { return std::vector<Array>{linalg::triangular_solve(x[0], x[1], options)}; };
          CHECK(same_everywhere(solve, {a, left ? b : swapaxes(b, 0, 1)}));
        }
      }
}

TEST_CASE("a NaN on the diagonal never becomes a number again") {
  const float nan = std::nanf("");
  for (const DType t : {float32, float64, complex64, complex128}) {
    const detail::LuFactors f = detail::lu_factors(convert(array({{nan, 1.f}, {2.f, 3.f}}), t), {});
    CHECK(all(isnan(f.lu) == array({{true, false}, {true, true}})).item<bool>());
    CHECK(isnan(linalg::det(convert(array({{nan, 1.f}, {2.f, 3.f}}), t))).item<bool>());
    CHECK(all(isnan(linalg::cholesky(convert(array({{nan, 0.f}, {0.f, 3.f}}), t))) == array({{true, false}, {true, true}})).item<bool>());
  }
}

TEST_CASE("below and beside a pivot that is NaN, LU has no numbers, whatever the size") {
  for (const DType t : {float32, float64, complex64, complex128})
    for (const auto& [m, n] : {std::pair{3, 3}, {3, 40}, {40, 33}, {100, 100}, {200, 200}, {260, 230}})
      for (const int at : {0, 1, 2}) {
        CAPTURE(t.name());
        CAPTURE(m);
        CAPTURE(at);
        const Array a = convert(9 * eye(m, n) + 1, t).at(at, at).set(std::nan("")), lu = detail::lu_factors(a, {}).lu;
        if (m == n) CHECK(all(isnan(linalg::solve(a, ones(m, t)))).item<bool>());
        // Where its row is one of those that are left over, NaN is no pivot.
        if (!any(isnan(diagonal(lu))).item<bool>()) continue;
        const int k = argmax(isnan(diagonal(lu))).item<int>();
        CHECK(all(isnan(lu(slice(k + 1, none), slice(k, none)))).item<bool>());
        CHECK(!any(isnan(lu(slice(0, k), slice(0, k)))).item<bool>());
      }
}

TEST_CASE("QR of a matrix with a NaN: the columns before it are factored, it and what follows from it are NaN") {
  for (const DType t : {float32, float64, complex64, complex128})
    for (const auto& [m, n] : {std::pair{3, 3}, {5, 2}, {2, 5}, {40, 17}})
      for (const int column : {0, 1, n - 1})
        for (const int row : {0, m - 1}) {
          CAPTURE(t.name());
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(row);
          CAPTURE(column);
          const Array clean = convert(sin(reshape(arange(m * n, float64) * 1.7, {m, n})), t);
          const Array a = clean.at(row, column).set(std::nan(""));
          const Array wanted = abs(linalg::qr(clean).r);
          const auto factors = [](Array x) {
            auto [q, r] = linalg::qr(x);
            return std::pair{q, r};
          };
          for (const auto& [q, r] : {factors(a), jit(factors)(a)}) {
            const Array before = abs(take(r, arange(column), 1)), same = take(wanted, arange(column), 1);
            CHECK(allclose(before, same, {.rtol = 1e-4, .atol = 1e-4}).item<bool>());
            CHECK(any(isnan(take(r, column, 1))).item<bool>());
            CHECK(any(isnan(take(matmul(q, r), column, 1))).item<bool>());
            // The last row's reflection is none.
            if (column >= m - 1) continue;
            const Array after = r(slice(column, none), slice(column, none));
            CHECK(all(isnan(q(slice(), slice(column, none)))).item<bool>());
            CHECK(all(isnan(after) | (tril(ones_like(after), -1) != 0)).item<bool>());
            CHECK(!any(isnan(q(slice(), slice(0, column)))).item<bool>());
          }
        }
}

TEST_CASE("factorisations of matrices without elements print nothing") {
  const auto all = [] {
    for (const DType t : {float32, float64, complex64, complex128})
      for (const Shape& s : {Shape{0, 3}, Shape{3, 0}, Shape{0, 0}, Shape{2, 0, 3}, Shape{2, 3, 0}, Shape{0, 3, 3}}) {
        const Array a = zeros(s, t);
        linalg::qr(a), linalg::qr(a, {.full_matrices = true}), linalg::svd(a), linalg::svdvals(a), linalg::lu(a), linalg::pinv(a);
        jit([](Array x) { return linalg::qr(x).r; })(a);
        if (s[s.size() - 1] != s[s.size() - 2]) continue;
        linalg::eigh(a), linalg::cholesky(a), linalg::inv(a), linalg::det(a), linalg::solve(a, a);
      }
  };
  CHECK(test::printed(all) == "");
  CHECK(test::written_to(stderr, all) == "");
}

TEST_CASE("factors and solutions that aren't finite are right where they are") {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  for (const DType t : {float32, float64, complex64, complex128}) {
    const auto is = [](const Array& got, const Array& wanted) {
      const Array equal = got == convert(wanted, got.dtype()), both_nan = isnan(got) & isnan(wanted);
      return all(equal | both_nan).item<bool>();
    };
    // A column of zeros is not divided by its pivot.
    const Array singular = array({{0.f, 1.f}, {0.f, nan}});
    CHECK(is(detail::lu_factors(convert(singular, t), {}).lu, singular));
    // A diagonal of ones is not looked at.
    const Array lower = convert(array({{2.f, 0.f}, {1.f, 2.f}}), t), b = convert(array({{1.f}, {nan}}), t);
    CHECK(is(linalg::triangular_solve(lower, b, {.left_side = true, .lower = true, .unit_diagonal = true}), array({{1.f}, {nan}})));
    CHECK(is(linalg::triangular_solve(lower, b, {.left_side = true, .lower = true}), array({{.5f}, {nan}})));
    const Array l = tril(detail::cholesky_factor(convert(array({{4.f, 2.f}, {2.f, inf}}), t), {}));
    CHECK(is(real(l), array({{2.f, 0.f}, {1.f, inf}})));
  }
  const std::complex<float> c(1, 1), none = 0;
  const Array hermitian =
      array({{std::complex<float>(2), std::conj(c), none}, {c, std::complex<float>(3), none}, {none, none, std::complex<float>(inf)}});
  CHECK(std::abs(real(detail::cholesky_factor(hermitian, {})(1, 1)).item<float>() - std::sqrt(2.f)) < 1e-6f);
}
