// Linear algebra that throws.
#include "tests/transforms/checks.h"

namespace {
using namespace weft;
using namespace weft::test;

TEST_CASE("strict linear algebra gives the same numbers where it succeeds") {
  const Array a = array({{4.f, 1.f}, {1.f, 3.f}}), b = array({1.f, 2.f});
  CHECK(tree::all_close(linalg::strict::cholesky(a), linalg::cholesky(a)));
  CHECK(tree::all_close(linalg::strict::solve(a, b), linalg::solve(a, b)));
  CHECK(tree::all_close(jit([](Array x) { return linalg::strict::inv(x); })(a), linalg::inv(a)));
  CHECK(tree::all_close(linalg::strict::eigh(a).eigenvalues, linalg::eigh(a).eigenvalues));
  CHECK(tree::all_close(linalg::strict::svd(a).s, linalg::svd(a).s));
  auto loss = [=](auto inverse) { return [=](Array x) { return sum(square(inverse(x))); }; };
  auto strict = loss([](Array x) { return linalg::strict::inv(x); });
  auto plain = loss([](Array x) { return linalg::inv(x); });
  CHECK(tree::all_close(grad(strict)(a), grad(plain)(a)));
  CHECK(tree::all_close(jit(vmap(grad(strict)))(stack({a, 2 * a})), vmap(grad(plain))(stack({a, 2 * a}))));
}

TEST_CASE("strict linear algebra throws where it fails, also in compiled programs and for one of many matrices") {
  const Array good = eye(2), indefinite = array({{1.f, 2.f}, {2.f, 1.f}}), singular = zeros({2, 2}), bad = full({2, 2}, std::nanf(""));
  CHECK(refuses<Error>([&] { linalg::strict::cholesky(indefinite); },
                       {"cholesky", "not positive definite", "f32[2,2]", "linalg_strict.cpp"}));
  CHECK(refuses<Error>([&] { linalg::strict::solve(singular, ones(2)); }, {"solve", "singular"}));
  CHECK(refuses<Error>([&] { linalg::strict::inv(stack({good, singular, good})); }, {"inv", "matrix 1 of 3", "singular"}));
  CHECK(refuses<Error>([&] { linalg::strict::eigh(bad); }, {"eigh", "finite"}));
  CHECK(refuses<Error>([&] { linalg::strict::svd(bad); }, {"svd", "finite"}));
  auto f = jit([](Array x) { return linalg::strict::cholesky(x); });
  CHECK(tree::all_close(f(good), good));
  CHECK(refuses<Error>([&] { f(indefinite); }, {"cholesky", "not positive definite"}));
  CHECK(tree::all_close(f(good), good));
  auto mapped = jit(vmap([](Array x) { return linalg::strict::inv(x); }));
  CHECK(refuses<Error>([&] { mapped(stack({good, singular})); }, {"inv", "lane 1"}));
  CHECK(refuses<Error>([&] { grad([](Array x) { return sum(linalg::strict::inv(x)); })(singular); }, {"inv", "singular"}));
}

}  // namespace
