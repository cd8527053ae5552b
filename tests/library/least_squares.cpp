// linalg::lstsq of matrices that determine no single solution.
#include <doctest/doctest.h>
#include <weft/weft.h>

using namespace weft;

TEST_CASE("lstsq gives the solution of least norm, of any rank down to 0") {
  const Array b = array({1., 2., 3.}, float64);
  for (const bool compiled : {false, true}) {
    const auto solved = [&](const Array& a, const Array& rhs) {
      const auto f = [](Array p, Array q) {
        const auto [x, residuals, rank, s] = linalg::lstsq(p, q);
        return std::tuple{x, residuals, rank, s};
      };
      return compiled ? jit(f)(a, rhs) : f(a, rhs);
    };
    const auto [zero, all, none_left, no_values] = solved(zeros({3, 2}, float64), b);
    CHECK(zero.to_vector<double>() == std::vector<double>{0, 0});
    CHECK(allclose(all, 14.).item<bool>());
    CHECK(none_left.item<int>() == 0);
    CHECK(no_values.to_vector<double>() == std::vector<double>{0, 0});
    const auto [same, rest, one, values] = solved(ones({3, 2}, float64), b);
    CHECK(allclose(same, array({1., 1.}, float64)).item<bool>());
    CHECK(allclose(rest, 2.).item<bool>());
    CHECK(one.item<int>() == 1);
    const auto [wide, exact, two, both] = solved(array({{1., 0., 1.}, {0., 2., 0.}}, float64), array({2., 4.}, float64));
    CHECK(allclose(wide, array({1., 2., 1.}, float64)).item<bool>());
    CHECK(two.item<int>() == 2);
    const Array small = array({{1., 0.}, {0., 1e-3}}, float64), twos = full({2}, 2., float64);
    CHECK(allclose(linalg::lstsq(small, twos, 1e-2).x, array({2., 0.}, float64)).item<bool>());
    CHECK(allclose(linalg::lstsq(small, twos, none).x, array({2., 2000.}, float64)).item<bool>());
  }
}
