#include <doctest/doctest.h>
#include <weft/weft.h>

#include <cmath>
#include <limits>

using namespace weft;

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
